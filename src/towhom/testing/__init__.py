"""The tests that every plugin must pass, for pytest: a subclass makes the part and inherits the tests.

`readers`, `systems`, `storages` and `connectors` have a suite each, which towhom's own parts pass, too. With
`pytest.register_assert_rewrite("towhom.testing")` in a `conftest.py`, failures say what was compared.
"""
