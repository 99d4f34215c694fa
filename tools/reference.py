"""Generates the reference pages of the documentation from the code: Python, command line, HTTP, settings.

`python -m tools.reference PAGE` prints one of them. The site makes them when it is built (`tools/site.py`).
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import UnionType
from typing import Any, get_args

import click

MODULES = {
    "towhom": "What most programs need.",
    "towhom.live": "What `towhom.load` and its sessions give.",
    "towhom.bots": "For bots: when to speak, to whom, and what to read before.",
    "towhom.rooms": "Connectors to chat servers.",
    "towhom.errors": "What can go wrong. Every error is a `TowhomError`; its message is for the user.",
}
"""The content of the page for Python, in this order; a name is described where it occurs first."""

_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example|Examples):$")


# Python


def python() -> str:
    """The page for Python: every public name with its signature and its docstring."""
    lines = ["# Python", "", "Made from the docstrings of the code.", ""]
    met: set[int] = set()
    for module_name, about in MODULES.items():
        module = import_module(module_name)
        names = getattr(module, "__all__", None) or _defined(module)
        lines += [f"## `{module_name}`", "", about, ""]
        for name in names:
            value = getattr(module, name)
            if id(value) not in met and not isinstance(value, str):
                met.add(id(value))
                lines += _described(name, value)
    return "\n".join(lines)


def _defined(module: Any) -> list[str]:
    own = inspect.getmembers(
        module, lambda value: inspect.isclass(value) and value.__module__ == module.__name__
    )
    return sorted(
        (name for name, _ in own), key=lambda name: inspect.getsourcelines(getattr(module, name))[1]
    )


def _described(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, UnionType):
        union = " | ".join(each.__name__ for each in get_args(value))
        yield from (f"### `{name}`", "", f"One of these: `{union}`.", "")
        return
    kind = "exception" if _is_error(value) else "class" if inspect.isclass(value) else "function"
    yield from (f"### `{name}` {{ #{value.__module__}.{name} }}", "", f"*{kind}*", "")
    if isinstance(value, type) and issubclass(value, Enum):
        yield from _docstring(value)
        yield from (f"- `{name}.{each.name}` is `{each.value!r}`" for each in value)
        yield ""
        return
    if not _is_error(value):
        yield from ("```python", _signature(name, value), "```", "")
    yield from _docstring(value)
    if inspect.isclass(value) and not _is_error(value):
        yield from _members(name, value)


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _members(name: str, cls: type[Any]) -> Iterator[str]:
    for member, raw in vars(cls).items():
        if member.startswith("_"):
            continue
        if isinstance(raw, property):
            yield from (f"#### `{name}.{member}`", "", "*property*", "", *_docstring(raw))
        elif inspect.isfunction(raw) or isinstance(raw, classmethod | staticmethod):
            function = getattr(cls, member)
            signature = _signature(f"{name}.{member}", function)
            yield from (
                f"#### `{name}.{member}`",
                "",
                "```python",
                signature,
                "```",
                "",
                *_docstring(function),
            )


def _signature(name: str, value: Any) -> str:
    """The signature of a call, over several lines if it is long."""
    signature = inspect.signature(value)
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    shown: list[str] = []
    for place, parameter in enumerate(parameters):
        if parameter.kind is parameter.KEYWORD_ONLY and not any(
            each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL) for each in parameters[:place]
        ):
            shown.append("*")
        shown.append(_parameter(parameter, value))
    result = (
        ""
        if signature.return_annotation in (signature.empty, None)
        else f" -> {_annotation(signature.return_annotation)}"
    )
    result = "" if inspect.isclass(value) else result
    name = f"await {name}" if inspect.iscoroutinefunction(value) else name
    line = f"{name}({', '.join(shown)}){result}"
    return (
        line
        if len(line) <= 100
        else "\n".join([f"{name}(", *(f"    {each}," for each in shown), f"){result}"])
    )


def _parameter(parameter: inspect.Parameter, owner: Any) -> str:
    text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
    if parameter.annotation is not parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return text
    shown = repr(parameter.default)
    if shown == "<factory>":
        shown = f"{_factory(owner, parameter.name) or '...'}()"
    return f"{text} = {getattr(parameter.default, '__name__', '...') if shown.startswith('<') else shown}"


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(inspect.formatannotation(annotation))


def _factory(owner: Any, name: str) -> str | None:
    if not is_dataclass(owner):
        return None
    found = next((each.default_factory for each in fields(owner) if each.name == name), MISSING)
    return None if found is MISSING else getattr(found, "__name__", None)


def _docstring(value: Any) -> Iterator[str]:
    """A docstring of Google style, as Markdown."""
    section, block = None, False
    for line in inspect.cleandoc(inspect.getdoc(value) or "").split("\n"):
        if found := _SECTION.match(line):
            section = found[1]
            yield from ("", f"**{section}**", "")
        elif section in ("Args", "Attributes", "Raises") and (
            item := re.match(r"    (\*{0,2}[\w.]+): (.*)", line)
        ):
            yield f"- `{item[1]}`: {item[2]}"
        elif section and line.startswith("    "):
            yield f"    {line.strip()}" if section in ("Args", "Attributes", "Raises") else line.strip()
        elif not block and line.startswith(">>>"):
            block = True
            yield from ("```pycon", line)
        elif block and not line.strip():
            block = False
            yield from ("```", "")
        else:
            yield line
    if block:
        yield "```"
    yield ""


# The command line


def command_line() -> str:
    """The page for the command line: every command with its arguments and options."""
    from towhom.cli import main

    lines = [
        "# Command line",
        "",
        "Made from the commands themselves; `towhom COMMAND --help` shows the same.",
        "",
    ]
    for path, command in commands(main):
        lines += _command(path, command)
    return "\n".join(lines)


def commands(group: click.Group, path: str = "towhom") -> Iterator[tuple[str, click.Command]]:
    """Every command below a group, with the words that call it."""
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            yield f"{path} {name}", command
            if isinstance(command, click.Group):
                yield from commands(command, f"{path} {name}")


def _command(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield from (f"{'#' * len(path.split())} {path}", "")
    yield from ("```text", usage, "```", "")
    for paragraph in dedent(command.help or "").strip().split("\n\n"):
        yield from (" ".join(paragraph.split()), "")
    rows = [each.get_help_record(context) for each in command.get_params(context)]
    if rows := [row for row in rows if row is not None and row[1]]:
        yield from ("| option | |", "|---|---|")
        yield from (f"| `{_cell(left)}` | {_cell(' '.join(right.split()))} |" for left, right in rows)
        yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# HTTP


def http() -> str:
    """The page for HTTP: every path with its requests and responses."""
    described = openapi()
    lines = [
        "# HTTP", "", f"Made from the server's own description, which it has at `/openapi.json` (version "
        f"{described['info']['version']}). [Serving a team](../serve.md) explains the parts together.", "",
    ]  # fmt: skip
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            lines += _operation(f"{method.upper()} {path}", operation)
    lines += ["## Objects", ""]
    for name, schema in sorted(described["components"]["schemas"].items()):
        lines += [f"### {name}", "", schema.get("description", ""), "", *_fields(schema)]
    return "\n".join(lines)


def openapi() -> dict[str, Any]:
    """The OpenAPI description of a server with default settings, as at `/openapi.json`."""
    from towhom.serve.app import create_app
    from towhom.serve.service import Service
    from towhom.serve.settings import Settings
    from towhom.serve.sqlite import SqliteStorage

    with tempfile.TemporaryDirectory() as folder:
        storage = SqliteStorage(Path(folder))
        try:
            return create_app(Service(Settings(data=Path(folder)), storage), ()).openapi()
        finally:
            storage.close()


def _operation(title: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"## {title}", "", operation.get("description") or operation.get("summary", ""), "")
    if parameters := operation.get("parameters"):
        yield from ("| parameter | in | type | |", "|---|---|---|---|")
        for each in parameters:
            needed = "needed. " if each.get("required") else ""
            about = needed + each.get("description", each["schema"].get("description", ""))
            kind = _type(each["schema"])
            yield f"| `{each['name']}` | {each['in']} | {kind} | {_cell(' '.join(about.split()))} |"
        yield ""
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield from (f"Takes `{kind}`: {_type(body.get('schema', {}))}", "")
    yield from ("| answer | | |", "|---|---|---|")
    for status, answer in operation["responses"].items():
        kinds = ", ".join(
            f"`{k}`: {_type(b.get('schema', {}))}" for k, b in answer.get("content", {}).items()
        )
        yield f"| {status} | {_cell(' '.join(answer.get('description', '').split()))} | {kinds} |"
    yield ""


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    if "properties" not in schema:
        yield from (_type(schema), "")
        return
    needed = schema.get("required", ())
    yield from ("| field | type | |", "|---|---|---|")
    for name, each in schema["properties"].items():
        notes = ["needed" if name in needed else ""]
        notes += [f"at most {each[key]:,}" for key in ("maxLength", "maxItems", "maximum") if key in each]
        notes += [f"default `{each['default']!r}`" if "default" in each else "", each.get("description", "")]
        yield f"| `{name}` | {_type(each)} | {_cell('; '.join(' '.join(n.split()) for n in notes if n))} |"
    yield ""


def _type(schema: Mapping[str, Any]) -> str:
    """The type of a schema, with a link if it is a named object."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[key])))
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value!r}`" for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "anything")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    return f"list of {_type(schema['items'])}" if kind == "array" and schema.get("items") else str(kind)


# Settings


def settings() -> str:
    """The page for the server's settings."""
    from towhom.serve.settings import PREFIX, Settings, known_settings

    lines = [
        "# Settings of the server", "",
        "Made from the settings themselves. Each is a flag of `towhom serve`, an environment variable, and a "
        "key of the TOML file that `--config` names; a flag counts before the environment, and that before "
        "the file.", "",
        "| key | flag | environment variable | default | |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, (_, about) in known_settings().items():
        default = about.default or f"`{getattr(Settings, name)}`"
        bounds = [f"{about.least:g} or more" if about.least is not None else ""]
        bounds += [f"{about.most:g} or less" if about.most is not None else "", " or ".join(about.choices)]
        notes = " ".join([about.help, *(f"({bound})" for bound in bounds if bound)])
        flag = f"--{name.replace('_', '-')}"
        lines.append(f"| `{name}` | `{flag}` | `{PREFIX}{name.upper()}` | {default} | {_cell(notes)} |")
    return "\n".join([*lines, ""])


PAGES: Mapping[str, Callable[[], str]] = {
    "python": python, "command-line": command_line, "http": http, "settings": settings
}  # fmt: skip

if __name__ == "__main__":
    print(PAGES[sys.argv[1]]())
