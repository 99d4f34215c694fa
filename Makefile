# Two commands: `make demo` shows what towhom does, `make test` checks everything.

PYTHON ?= python3
DEMO := .venv-demo
DEV := .venv

.PHONY: demo test site release compat attack clean

demo: $(DEMO)/installed
	$(DEMO)/bin/towhom demo

# The core alone, nothing for development: what a user gets.
$(DEMO)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(DEMO)
	$(DEMO)/bin/pip install --quiet --constraint constraints.txt .
	touch $@

test: $(DEV)/installed
	$(DEV)/bin/ruff check .
	$(DEV)/bin/ruff format --check .
	$(DEV)/bin/mypy
	$(DEV)/bin/lint-imports
	# A process a core, and one thread each: more would wait for each other.
	OMP_NUM_THREADS=1 $(DEV)/bin/pytest --numprocesses auto --dist loadfile

$(DEV)/installed: pyproject.toml packages/large/pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(DEV)
	$(DEV)/bin/pip install --quiet --constraint constraints.txt pip
	$(DEV)/bin/pip install --quiet --constraint constraints.txt --editable '.[all]' --editable packages/large --group dev
	touch $@

# The documentation, to read in a browser: site/index.html.
site: $(DEV)/installed
	$(DEV)/bin/python -m tools.site site

# Wheel and source distribution, checked, and installed in environments that have nothing else.
release:
	$(PYTHON) tools/release.py

# The oldest and the newest versions that pyproject.toml allows, each in an environment of its own.
compat:
	$(PYTHON) tools/compat.py

# Hostile input, kills and full disks by the thousand, on this machine alone; SECONDS is for all together.
SECONDS ?= 300
attack: $(DEV)/installed
	$(DEV)/bin/python -m tools.attack --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

clean:
	rm -rf $(DEMO) $(DEV) .venv-compat site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist
