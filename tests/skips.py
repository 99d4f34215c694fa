"""Tests that may be skipped where everything is installed; when `CI` is set, any other skip is a failure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import pytest

ALLOWED = {
    r"autogen-agentchat is not installed": "its dependencies contradict ours",
    r"hermes-agent is not installed": "it is an application, with dependencies of its own",
    r"could not import 'polars'": "the same interface is tested with pandas, pyarrow and DuckDB",
    r"downloads 118 MB with npm": "it is run by hand, with TOWHOM_TEST_DOWNLOADS=1",
    r"openclaw is not installed in clients/typescript": "it is installed with npm, by hand",
    r"(is|are) not beside the project": "public data sets are too large for the repository",
    r"of gcc's flags for x86-64": "on other processors, there is nothing to test",
}
"""Reason for a skip, as a regular expression -> why it is allowed."""


def unexpected(reasons: Iterable[str]) -> list[str]:
    """Those reasons that are not allowed."""
    return [reason for reason in reasons if not any(re.search(each, reason) for each in ALLOWED)]


def skipped(config: pytest.Config) -> list[str]:
    """Where tests were skipped in a run, and why."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter is not None else []
    return [f"{report.nodeid}: {_reason(report)}" for report in reports]


def _reason(report: pytest.TestReport) -> str:
    found = report.longrepr
    return str(found[2]) if isinstance(found, tuple) else str(found)


def check(session: pytest.Session) -> list[str]:
    """Fail a run with skips that are not allowed, where `CI` is set; says which they are."""
    if not os.environ.get("CI") or hasattr(session.config, "workerinput"):
        return []
    found = unexpected(skipped(session.config))
    if found and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return found
