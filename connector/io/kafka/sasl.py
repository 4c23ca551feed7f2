"""Converts a Kafka client's login, ``sasl.mechanism`` and ``sasl.jaas.config``, to aiokafka's arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from connector.errors import CdcError, ErrorKind

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_MODULES: Final = "org.apache.kafka.common.security."
_MODULE_OF: Final = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
    "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule",
}
_PASSWORD_MODULES: Final = frozenset({"PlainLoginModule", "ScramLoginModule"})
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
_ENTRY: Final = re.compile(
    rf"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b((?:{_QUOTED}|[^;\"'])*);\s*", re.IGNORECASE | re.DOTALL
)
_OPTION: Final = re.compile(rf"\s*([\w.$-]+)\s*=\s*({_QUOTED}|[^\s;\"']+)\s*", re.DOTALL)


def sasl_arguments(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments for one mechanism. Raises CdcError(CONFIG_INVALID), which names the property and never contains a password."""
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip().upper()
    if mechanism not in MECHANISMS:
        raise CdcError(
            ErrorKind.CONFIG_INVALID,
            f"Invalid value {mechanism} for configuration sasl.mechanism: Choose one of {', '.join(MECHANISMS)}",
            "Kerberos and mechanisms of other classes are not offered.",
        )
    module, options = jaas_options(properties.get("sasl.jaas.config", ""), mechanism)
    if mechanism == "OAUTHBEARER":
        from connector.io.kafka.oauth import token_provider  # noqa: PLC0415 (HTTP is needed for this mechanism alone)

        return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": token_provider(properties, options)}
    if module not in _PASSWORD_MODULES:
        raise _invalid(f"The property sasl.jaas.config names the login module {module}, which is none for {mechanism}", mechanism)
    for key in ("sasl.login.callback.handler.class", "sasl.login.class", "sasl.client.callback.handler.class"):
        if properties.get(key, "").strip():
            raise CdcError(
                ErrorKind.CONFIG_INVALID,
                f"Invalid value {properties[key]} for configuration {key}: Java classes cannot be loaded",
                "Remove the property and write username and password into sasl.jaas.config.",
            )
    if options.get("tokenauth", "").lower() == "true":
        raise _invalid("The property sasl.jaas.config asks for delegation tokens (tokenauth), which are not offered", mechanism)
    if "username" not in options or "password" not in options:
        raise _invalid("The property sasl.jaas.config holds no username and password", mechanism)
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": options["username"],
        "sasl_plain_password": options["password"],
    }


def jaas_options(text: str, mechanism: str) -> tuple[str, dict[str, str]]:
    """Return the simple name of the login module, and its options. Raises CdcError(CONFIG_INVALID) for a text without one such entry."""
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        raise _invalid(f"The property sasl.jaas.config is {'malformed' if text.strip() else 'missing'}", mechanism)
    options: dict[str, str] = {}
    at, body = 0, entry[2].rstrip()
    while at < len(body):
        option = _OPTION.match(body, at)
        if option is None:
            raise _invalid("The property sasl.jaas.config is malformed", mechanism)
        value = option[2]
        options[option[1]] = re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value[0] in "\"'" else value
        at = option.end()
    module = entry[1].rpartition(".")[2]
    if module not in _PASSWORD_MODULES | {"OAuthBearerLoginModule"} or (mechanism == "OAUTHBEARER") != (module == "OAuthBearerLoginModule"):
        raise _invalid(f"The property sasl.jaas.config names the login module {entry[1]}, which is none for {mechanism}", mechanism)
    return module, options


def _invalid(message: str, mechanism: str) -> CdcError:
    options = "" if mechanism == "OAUTHBEARER" else ' username="…" password="…"'
    return CdcError(ErrorKind.CONFIG_INVALID, message, f"Write it as: {_MODULES}{_MODULE_OF[mechanism]} required{options};")
