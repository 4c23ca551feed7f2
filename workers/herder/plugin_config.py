"""The REST answers about a plugin's properties and a checked configuration, from the connector's table of properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from connect_api.herder import ConfigInfos, ConfigKey, ConfigValue, HerderError
from connector.config.keys import CONNECTOR_CLASS, DEFAULT_VERSION, BadVersionError, Key, keys_in, order_in_group, select_version
from connector.config.keys.converters import keys_of
from connector.config.keys.plugin_classes import class_version
from connector.config.keys.versions import LATEST, newest
from connector.config.validation import FieldValidation, Validation
from connector.configdef.class_names import find_class
from connector.transforms import catalog
from workers.herder.plugins import ALIASES, others

_ALIAS_SUFFIX: Final = "Connector"
_CONVERTER_CLASSES: Final = {"key.converter", "value.converter", "header.converter"}
_SUFFIXES: Final = {
    "transformation": "Transformation",
    "predicate": "Predicate",
    "converter": "Converter",
    "header_converter": "HeaderConverter",
}


def _named(plugin: str, emulated: str) -> str | None:
    """Return the class that ``plugin`` names: by its full name, its simple name, or that without the suffix of its kind."""
    if plugin in ALIASES:
        return CONNECTOR_CLASS
    for kind, suffix in _SUFFIXES.items():
        found = find_class(plugin, [each.class_name for each in others(emulated) if each.type == kind], suffix)
        if found is not None:
            return found
    return None


def _kinds(name: str, emulated: str) -> int:
    """Return how many kinds of plugin a class is. Connect lists a version once for each."""
    return sum(each.class_name == name for each in others(emulated))


def plugin_config(plugin: str, version: str | None, default: str = DEFAULT_VERSION) -> Sequence[ConfigKey]:
    """The properties of ``plugin`` in the version that ``version`` chooses, in Connect's order: its own, then Connect's.

    ``default`` is the worker's version: that of the connector where ``version`` is None or ``latest``, and that of the other plugins.

    Raises HerderError: 404 for an unknown plugin, 400 for an unknown version.
    """
    found = _named(plugin, default)
    if found is None:
        raise HerderError(404, f"Unknown plugin {plugin}.")
    try:
        others = (class_version(found, default),) * _kinds(found, default)
        chosen = _of_connector(version, default) if found == CONNECTOR_CLASS else newest(version, found, others)
    except BadVersionError as problem:
        raise HerderError(400, str(problem)) from problem
    if found != CONNECTOR_CLASS:
        own = _own_keys(found, default)
        return [_key_info(key, key.name, key.fixed_order) for key in own]
    keys = [_with_default(key, default) for key in keys_in(chosen)]
    orders = order_in_group(chosen)
    in_order = [*(key for key in keys if not key.framework), *(key for key in keys if key.framework)]
    # Connect shows no default for converters, because without a configuration it does not know the worker's choice.
    return [_key_info(key, key.name, orders[key.name], chosen, with_default=not _of_converter(key)) for key in in_order]


def _of_connector(version: str | None, default: str) -> str:
    return default if version is None or version.strip() == LATEST else select_version(version)


def _own_keys(name: str, emulated: str) -> Sequence[Key]:
    if name in catalog.TRANSFORMS:
        return catalog.TRANSFORMS[name].keys_in(emulated)
    if name in catalog.PREDICATES:
        return catalog.PREDICATES[name].keys
    return keys_of(name, "value") or keys_of(name, "header")


def check_plugin(plugin: str, config: Mapping[str, str | None]) -> None:
    """Raise HerderError(400) when the class in ``config`` does not end with the name of the plugin in the path."""
    named = config.get("connector.class")
    if named is not None and not _bare(named).endswith(_bare(plugin)):
        raise HerderError(400, f"Included connector type {named} does not match request type {plugin}")


def config_infos(name: str, validation: Validation, default: str = DEFAULT_VERSION) -> ConfigInfos:
    """The result of ``validate``. ``default`` is the worker's version of the connector."""
    orders = order_in_group(validation.version)
    configs = [(_definition(field, validation.version, orders, default), _value(field)) for field in validation.fields]
    return ConfigInfos(name, sum(len(field.errors) for field in validation.fields), validation.groups, configs)


def _bare(name: str) -> str:
    return name.removesuffix(_ALIAS_SUFFIX) if len(name) > len(_ALIAS_SUFFIX) else name


def _of_converter(key: Key) -> bool:
    return key.name.removesuffix(".plugin.version") in _CONVERTER_CLASSES


def _definition(field: FieldValidation, version: str, orders: Mapping[str, int], default: str) -> ConfigKey | None:
    if field.key is None:
        return None
    key = _with_default(field.key, default)
    return _key_info(key, field.name, orders.get(key.name, key.fixed_order), version)


def _with_default(key: Key, default: str) -> Key:
    return replace(key, default=default) if key.name == "connector.plugin.version" else key


def _value(field: FieldValidation) -> ConfigValue:
    return ConfigValue(field.name, field.value, field.recommended, field.errors, field.visible, field.warnings)


def _key_info(key: Key, name: str, order: int, version: str = "", *, with_default: bool = True) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=key.type_in(version),
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
