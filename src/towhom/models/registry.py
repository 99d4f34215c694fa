"""The registry of all systems by name. They are imported on first use, so that baselines need no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from towhom.corpus import Corpus
from towhom.errors import ConfigError, PluginError
from towhom.models.base import Selector
from towhom.plugins import is_target, load_class, load_object, registered
from towhom.selection import Rule

GROUP = "towhom.systems"
"""Entry points of other packages: `name = "module:Thing"`, a subclass of `Selector` or an `Entry`."""


@dataclass(frozen=True)
class Entry:
    """A registered system: its classes, and the settings that define it.

    Args:
        target: Its class as `module:Class`. A system without weights is constructed from a corpus; one with
            weights is a `NeuralSelector`.
        title: Its title in the paper's tables.
        settings: The settings that define this system.
        rule: How it chooses, if not by the rule of its class.
        neural: Whether it has weights to train.
        config: Its configuration, a frozen dataclass, as `module:Class`.
        runtime: The `NumpySelector` that runs it without torch, as `module:Class`.
    """

    target: str
    title: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    rule: Rule | None = None
    neural: bool = True
    config: str = ""
    runtime: str = ""


def _paper(where: str, title: str, settings: Mapping[str, Any] | None = None, **more: Any) -> Entry:
    """The entry of a neural system of this package."""
    name = where.partition(":")[2]
    config, runtime = f"towhom.models.configs:{name}Config", f"towhom.runtime.{where}"
    return Entry(f"towhom.models.{where}", title, settings or {}, config=config, runtime=runtime, **more)


SYSTEMS = {
    "chance": Entry("towhom.models.chance:Chance", "Chance", neural=False),
    "recent-tfidf": Entry("towhom.models.recency:RecentTfIdf", "Recent+TF-IDF", neural=False),
    "direct-recent-tfidf": Entry(
        "towhom.models.recency:DirectRecentTfIdf", "Direct-Recent+TF-IDF", neural=False
    ),
    "static-rnn": _paper("static_rnn:StaticRNN", "Static-RNN"),
    "static-hier-rnn": _paper("static_hier_rnn:StaticHierRNN", "Static-Hier-RNN"),
    "dynamic-rnn": _paper("dynamic_rnn:DynamicRNN", "Dynamic-RNN"),
    "sirnn": _paper("sirnn:SIRNN", "SI-RNN"),
    "sirnn-log": _paper("sirnn:SIRNN", "SI-RNN, joint in logarithms", rule=Rule.JOINT_LOG),
    "sirnn-shared": _paper("sirnn:SIRNN", "SI-RNN w/ shared IGRUs", {"shared": True}),
    "sirnn-separate": _paper("sirnn:SIRNN", "SI-RNN w/o joint selection", {"joint": False}),
}
"""The systems of the paper's Table 3 and of its footnote."""


@cache
def _outside(name: str, target: str) -> Entry:
    """The entry of a system from another package.

    Raises:
        PluginError: It cannot be loaded, or is not a system.
    """
    found = load_object(target, f"the system {name}")
    if isinstance(found, Entry):
        if found.neural and not (found.config and found.runtime):
            raise PluginError(f"the system {name}: {target} has weights, and names no config or no runtime")
        return found
    cls = load_class(target, Selector, f"the system {name}")  # type: ignore[type-abstract]
    return Entry(target, getattr(cls, "title", name), neural=False)


def systems() -> dict[str, str]:
    """The target of every system by name; other packages cannot replace a system of this one."""
    return {**{name: found.target for name, found in SYSTEMS.items()}, **_others()}


def _others() -> dict[str, str]:
    return {name: target for name, target in registered(GROUP).items() if name not in SYSTEMS}


def entry(name: str) -> Entry:
    """The entry of a system by name.

    Raises:
        ConfigError: There is no system of that name.
        PluginError: The system is from another package and cannot be loaded.
    """
    if name in SYSTEMS:
        return SYSTEMS[name]
    if name not in _others():
        raise ConfigError(f"there is no system {name!r}; known are {', '.join(systems())}")
    return _outside(name, _others()[name])


def is_baseline(name: str) -> bool:
    """Whether a name or `module:Class` refers to a system without weights.

    Raises:
        PluginError: It cannot be loaded.
    """
    if is_target(name):
        return not _outside(name, name).neural
    return name in systems() and not entry(name).neural


def system_class(name: str) -> type[Any]:
    """The class of a system."""
    return load_class(entry(name).target, Selector, f"the system {name}")


def baseline(name: str, corpus: Corpus) -> Selector:
    """Make a system without weights for a corpus, given its name or `module:Class`."""
    if name == "chance":
        chance: Selector = system_class(name)()
        return chance
    target = _outside(name, name).target if is_target(name) else entry(name).target
    cls: type[Any] = load_class(target, Selector, f"the system {name}")
    found: Selector = cls(corpus)
    return found


def system_config(name: str, settings: dict[str, Any]) -> Any:
    """The configuration of a neural system: the system's own settings and the given ones.

    Raises:
        ConfigError: Settings are unknown, of the wrong type, not positive, or differ from the system's own;
            all of them are named.
    """
    if not entry(name).neural:
        raise ConfigError(f"{name} is not a trained system; it has no settings")
    config: Any = load_class(entry(name).config, object, f"the configuration of {name}")
    known = {each.name: each.type for each in fields(config)}
    own = entry(name).settings
    problems = []
    for key, value in settings.items():
        if key not in known:
            problems.append(f"{key} is not a setting of {name}; known are {', '.join(known)}")
        elif type(value).__name__ != known[key] and not (known[key] == "float" and type(value) is int):
            problems.append(f"{key} must be {known[key]}, is {value!r}")
        elif key in own and own[key] != value:
            problems.append(f"{key} is {own[key]} in {name}, not {value}")
        elif type(value) is not bool and not value > 0:
            problems.append(f"{key} must be positive, is {value}")
    if problems:
        raise ConfigError("; ".join(problems))
    return config(**{**own, **settings})
