"""A rule file of JMX exporter (YAML or JSON): what it says, checked and compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connector.java.regex.replacement import Part, ReplacementError, parse_replacement
from connector.ports import Backtracking
from workers.telemetry.name_pattern import NamePattern, parse_name
from workers.telemetry.rules.pattern import LinePattern, compile_pattern

IDLE: Final = frozenset({"startDelaySeconds", "hostPort", "jmxUrl", "username", "password", "ssl", "autoExcludeObjectNameAttributes"})
"""Keys that have no effect here: there is no JVM to connect to, and no attribute whose reading fails."""
REFUSED: Final = frozenset({"httpServer"})
"""Keys that protect the exporter's own port, which this worker does not read. To ignore them would open the port to everybody."""
_KEYS: Final = frozenset(
    {
        "rules",
        "lowercaseOutputName",
        "lowercaseOutputLabelNames",
        "includeObjectNames",
        "whitelistObjectNames",
        "excludeObjectNames",
        "blacklistObjectNames",
        "includeObjectNameAttributes",
        "excludeObjectNameAttributes",
    }
)
_TYPES: Final = {"GAUGE": "gauge", "COUNTER": "counter"}

Parts = tuple[Part, ...]


class RuleFileError(ValueError):
    """The file cannot be used. The text says where and why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Without a pattern it takes every attribute; without a name it gives the default name."""

    pattern: LinePattern | None = None
    name: Parts | None = None
    value: Parts | None = None
    factor: float = 1.0
    help: Parts | None = None
    kind: str = "unknown"
    """``gauge``, ``counter`` or ``unknown``, Prometheus' types."""
    labels: tuple[tuple[Parts, Parts], ...] = ()
    snake_case: bool = False
    cached: bool = False
    """``cache: true``: the pattern is matched with ``<cache>`` in the place of the value."""


@dataclass(frozen=True, slots=True)
class AttributeFilter:
    """Attributes of the MBeans whose canonical names are the keys."""

    included: Mapping[str, frozenset[str]] = field(default_factory=dict)
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A whole file."""

    rules: tuple[Rule, ...]
    lower_names: bool = False
    lower_labels: bool = False
    included: tuple[NamePattern, ...] | None = None
    """None: all MBeans."""
    excluded: tuple[NamePattern, ...] = ()
    attributes: AttributeFilter = field(default_factory=AttributeFilter)
    idle: tuple[str, ...] = ()
    """Keys without an effect here, and keys that the exporter does not have either."""
    keeps_totals: bool = False
    """Whether a name that ends with ``_total`` becomes a second series, which keeps the ending."""


def parse_rules(text: str, backtrack: Backtracking) -> RuleFile:
    """Read a rule file. Raises RuleFileError."""
    # The import takes 15 ms; a worker that nobody scrapes does not need it.
    import yaml  # noqa: PLC0415

    try:
        # A subclass of SafeLoader: it makes no objects but YAML's own.
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except yaml.YAMLError as error:
        raise RuleFileError(f"it is not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise RuleFileError("it is nested too deeply") from None
    content = {} if found is None else found
    if not isinstance(content, dict):
        raise RuleFileError("it must be a map of keys such as rules")
    for key in content.keys() & REFUSED:
        raise RuleFileError(f"{key} is not supported: protect the metrics by the login of the REST interface, and remove the key")
    rules = content.get("rules")
    return RuleFile(
        rules=(Rule(),)
        if "rules" not in content
        else tuple(_rule(at, each, backtrack) for at, each in enumerate(_list(rules, "rules"), 1)),
        lower_names=_flag(content, "lowercaseOutputName"),
        lower_labels=_flag(content, "lowercaseOutputLabelNames"),
        included=_names(content, "includeObjectNames", "whitelistObjectNames"),
        excluded=_names(content, "excludeObjectNames", "blacklistObjectNames") or (),
        attributes=AttributeFilter(
            _attributes(content, "includeObjectNameAttributes"), _attributes(content, "excludeObjectNameAttributes")
        ),
        idle=tuple(str(key) for key in content if key not in _KEYS),
    )


def _rule(at: int, given: Any, backtrack: Backtracking) -> Rule:
    where = f"rule {at}"
    if not isinstance(given, dict):
        raise RuleFileError(f"{where} must be a map of keys such as pattern and name")
    if ("labels" in given or "help" in given) and "name" not in given:
        raise RuleFileError(f"{where} has labels or help, and no name")
    if "name" in given and "pattern" not in given:
        raise RuleFileError(f"{where} has a name, and no pattern")
    source = given.get("pattern")
    pattern = None
    if source is not None:
        try:
            pattern = compile_pattern(_text(source, f"{where}, pattern"), backtrack)
        except ValueError as error:
            raise RuleFileError(f"{where} has the pattern {source!r}, which cannot be used: {error}") from None

    def parts(key: str, value: Any) -> Parts:
        try:
            return parse_replacement(value, pattern.groups if pattern else 0, pattern.names if pattern else {})
        except ReplacementError as error:
            raise RuleFileError(f"{where} has {value!r} as its {key}: {error}") from None

    labels = given.get("labels") or {}
    if not isinstance(labels, dict):
        raise RuleFileError(f"{where}, labels must be a map")
    texts = sorted((str(name), _text(value, f"{where}, label {name}")) for name, value in labels.items())
    value = _printed(given.get("value"))
    return Rule(
        pattern,
        name=parts("name", _text(given["name"], f"{where}, name")) if "name" in given else None,
        value=parts("value", value) if value else None,
        factor=_factor(given.get("valueFactor")),
        help=parts("help", _text(given["help"], f"{where}, help")) if "help" in given else None,
        kind=_TYPES.get(str(given.get("type", "")), "unknown"),
        labels=tuple((parts("label", name), parts("label", text)) for name, text in texts),
        snake_case=_flag(given, "attrNameSnakeCase"),
        cached=_flag(given, "cache"),
    )


def _printed(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _factor(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 1.0


def _flag(content: Mapping[str, Any], key: str) -> bool:
    value = content.get(key, False)
    if not isinstance(value, bool):
        raise RuleFileError(f"{key} must be true or false")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise RuleFileError(f"{where} must be text; quote it")
    return value


def _list(value: Any, key: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise RuleFileError(f"{key} must be a list")
    return value


def _names(content: Mapping[str, Any], *keys: str) -> tuple[NamePattern, ...] | None:
    key = next((key for key in keys if key in content), None)
    return None if key is None else tuple(_name(each, key) for each in _list(content[key], key))


def _name(value: Any, key: str) -> NamePattern:
    try:
        return parse_name(_text(value, key))
    except ValueError as error:
        raise RuleFileError(f"{key} holds {value!r}: {error}") from None


def _attributes(content: Mapping[str, Any], key: str) -> dict[str, frozenset[str]]:
    given = content.get(key) or {}
    if not isinstance(given, dict):
        raise RuleFileError(f"{key} must be a map of names of MBeans")
    return {_name(name, key).canonical: frozenset(map(str, _list(listed, key))) for name, listed in given.items()}
