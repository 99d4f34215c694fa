"""Every system by name; imported on first use, so that a baseline needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any

from towhom.corpus import Corpus
from towhom.errors import ConfigError
from towhom.models import configs
from towhom.models.base import Selector
from towhom.selection import Rule


@dataclass(frozen=True)
class Entry:
    """A system: where its class is, and the settings that make it the system of that name."""

    target: str
    """`module:class`, below `towhom.models`; its configuration is that name plus `Config`, in `configs`."""
    title: str
    """As in the paper's tables."""
    settings: dict[str, Any] = field(default_factory=dict)
    rule: Rule | None = None
    """How it chooses, if not in its own way."""
    neural: bool = True


SYSTEMS = {
    "chance": Entry("chance:Chance", "Chance", neural=False),
    "recent-tfidf": Entry("recency:RecentTfIdf", "Recent+TF-IDF", neural=False),
    "direct-recent-tfidf": Entry("recency:DirectRecentTfIdf", "Direct-Recent+TF-IDF", neural=False),
    "static-rnn": Entry("static_rnn:StaticRNN", "Static-RNN"),
    "static-hier-rnn": Entry("static_hier_rnn:StaticHierRNN", "Static-Hier-RNN"),
    "dynamic-rnn": Entry("dynamic_rnn:DynamicRNN", "Dynamic-RNN"),
    "sirnn": Entry("sirnn:SIRNN", "SI-RNN"),
    "sirnn-log": Entry("sirnn:SIRNN", "SI-RNN, joint in logarithms", rule=Rule.JOINT_LOG),
    "sirnn-shared": Entry("sirnn:SIRNN", "SI-RNN w/ shared IGRUs", {"shared": True}),
    "sirnn-separate": Entry("sirnn:SIRNN", "SI-RNN w/o joint selection", {"joint": False}),
}
"""The rows of the paper's Table 3, and its footnote."""


def entry(name: str) -> Entry:
    """The system of a name.

    Raises:
        ConfigError: There is none.
    """
    if name not in SYSTEMS:
        raise ConfigError(f"there is no system {name!r}; known are {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def system_class(name: str) -> type[Any]:
    """The class of a system."""
    module, _, attribute = entry(name).target.partition(":")
    found: type[Any] = getattr(import_module(f"towhom.models.{module}"), attribute)
    return found


def baseline(name: str, corpus: Corpus) -> Selector:
    """A system that learns nothing, or word weights alone, for a corpus."""
    cls = system_class(name)
    found: Selector = cls() if name == "chance" else cls(corpus)
    return found


def system_config(name: str, settings: dict[str, Any]) -> Any:
    """The configuration of a neural system: the system's own settings, and some more.

    Raises:
        ConfigError: A setting is unknown, of the wrong type, not positive, or that of another system; all of
            them are named.
    """
    if not entry(name).neural:
        raise ConfigError(f"{name} is no trained system; it has no settings")
    config = getattr(configs, f"{entry(name).target.partition(':')[2]}Config")
    known = {each.name: each.type for each in fields(config)}
    own = entry(name).settings
    problems = []
    for key, value in settings.items():
        if key not in known:
            problems.append(f"{key} is no setting of {name}; known are {', '.join(known)}")
        elif type(value).__name__ != known[key] and not (known[key] == "float" and type(value) is int):
            problems.append(f"{key} must be {known[key]}, is {value!r}")
        elif key in own and own[key] != value:
            problems.append(f"{key} is {own[key]} in {name}, not {value}")
        elif type(value) is not bool and not value > 0:
            problems.append(f"{key} must be positive, is {value}")
    if problems:
        raise ConfigError("; ".join(problems))
    return config(**{**own, **settings})
