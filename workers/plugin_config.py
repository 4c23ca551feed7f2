"""What REST tells of a plugin's properties and of a checked configuration, out of the connector's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from connect_api.herder import ConfigInfos, ConfigKey, ConfigValue, HerderError
from connector.config_keys import CONNECTOR_CLASS, FORMER, VERSIONS, BadVersionError, Key, keys_in, order_in_group
from connector.config_keys.converter_keys import JSON_CONVERTER, JSON_KEYS, SIMPLE_HEADER_CONVERTER, STRING_CONVERTER, STRING_KEYS
from connector.config_keys.plugin_classes import PREDICATES
from connector.config_keys.step_keys import predicate_keys
from connector.config_keys.versions import newest
from connector.config_validation import FieldValidation, Validation
from workers.plugins import ALIASES, KAFKA_VERSION

_ALIAS_SUFFIX: Final = "Connector"
_CONVERTER_CLASSES: Final = {"key.converter", "value.converter", "header.converter"}
_NAMES: Final[dict[str, str]] = {
    **dict.fromkeys(ALIASES, CONNECTOR_CLASS),
    **dict.fromkeys((JSON_CONVERTER, "JsonConverter", "Json"), JSON_CONVERTER),
    **dict.fromkeys((SIMPLE_HEADER_CONVERTER, "SimpleHeaderConverter", "Simple"), SIMPLE_HEADER_CONVERTER),
    **dict.fromkeys((STRING_CONVERTER, "StringConverter", "String"), STRING_CONVERTER),
    **{name: predicate for predicate in PREDICATES for name in (predicate, predicate.rpartition(".")[2])},
}
"""Connect finds a plugin by its full name, the simple one, and the simple one without the suffix of its kind."""


_KINDS: Final = {JSON_CONVERTER: 2, STRING_CONVERTER: 2}
"""Connect lists a version once for each kind of plugin that a class is: these convert headers too."""


def plugin_config(plugin: str, version: str | None) -> Sequence[ConfigKey]:
    """The properties of ``plugin`` in the version that ``version`` chooses, in Connect's order: its own, then Connect's.

    Raises HerderError: 404 for a plugin that is not played, 400 for a version that is not.
    """
    found = _NAMES.get(plugin)
    if found is None:
        raise HerderError(404, f"Unknown plugin {plugin}.")
    try:
        chosen = newest(version, found, VERSIONS if found == CONNECTOR_CLASS else (KAFKA_VERSION,) * _KINDS.get(found, 1))
    except BadVersionError as problem:
        raise HerderError(400, str(problem)) from problem
    if found != CONNECTOR_CLASS:
        own = {JSON_CONVERTER: JSON_KEYS, STRING_CONVERTER: STRING_KEYS}.get(found) or predicate_keys(found)
        return [_key_info(key, key.name, key.fixed_order) for key in own]
    keys = keys_in(chosen)
    orders = order_in_group(chosen)
    in_order = [*(key for key in keys if not key.framework), *(key for key in keys if key.framework)]
    # Without a configuration Connect does not know which converters the worker would choose.
    return [_key_info(key, key.name, orders[key.name], chosen, with_default=not _of_converter(key)) for key in in_order]


def check_plugin(plugin: str, config: Mapping[str, str | None]) -> None:
    """Raises HerderError(400) when ``config`` names a class that cannot be the plugin of the path: it does not end with that name."""
    named = config.get("connector.class")
    if named is not None and not _bare(named).endswith(_bare(plugin)):
        raise HerderError(400, f"Included connector type {named} does not match request type {plugin}")


def config_infos(name: str, validation: Validation) -> ConfigInfos:
    """The body of ``validate``."""
    orders = order_in_group(validation.version)
    configs = [(_definition(field, validation.version, orders), _value(field)) for field in validation.fields]
    return ConfigInfos(name, sum(len(field.errors) for field in validation.fields), validation.groups, configs)


def _bare(name: str) -> str:
    return name.removesuffix(_ALIAS_SUFFIX) if len(name) > len(_ALIAS_SUFFIX) else name


def _of_converter(key: Key) -> bool:
    return key.name.removesuffix(".plugin.version") in _CONVERTER_CLASSES


def _definition(field: FieldValidation, version: str, orders: Mapping[str, int]) -> ConfigKey | None:
    if field.key is None:
        return None
    return _key_info(field.key, field.name, orders.get(field.key.name, field.key.fixed_order), version)


def _value(field: FieldValidation) -> ConfigValue:
    return ConfigValue(field.name, field.value, field.recommended, field.errors, field.visible, field.warnings)


def _key_info(key: Key, name: str, order: int, version: str = "", *, with_default: bool = True) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=key.type_before if version == FORMER and key.type_before is not None else key.type,
        required=key.required,
        default_value=key.default if with_default else None,
        importance=key.importance,
        documentation=key.doc,
        group=key.group or None,
        order_in_group=order,
        width=key.width,
        display_name=key.display,
        dependents=key.dependents,
    )
