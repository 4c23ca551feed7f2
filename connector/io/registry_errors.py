"""What a failed call of a schema registry, or of its token endpoint, means: errors that name the subject and what to do.

They hold no credentials, and of the registry's own words only the first line.
"""

from __future__ import annotations

import ssl
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import httpx
import orjson

from connector.converters.registry import Api, SchemaAsk
from connector.errors import CdcError, ErrorKind

AGAIN: Final = frozenset({408, 429, 500, 502, 503, 504})
"""Answers that may be different later."""
_NO_LOGIN: Final = frozenset({401, 403})
_MOST_WORDS: Final = 300
_TLS_OPTIONS: Final[dict[Api, str]] = {
    "confluent": "schema.registry.ssl",
    "apicurio-v2": "apicurio.registry.request.ssl",
    "apicurio-v3": "apicurio.registry.tls",
}
_OF_CONNECTIONS: Final = (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""What any connection with TLS raises for bytes that do not come, such as before a timeout."""


def split_url(url: str) -> tuple[str, str]:
    """Return a URL without its user, and ``user:password``."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=host)), user


def unreachable(server: str, about: str, problem: httpx.HTTPError, api: Api) -> CdcError:
    """Return the error of a server that gave no answer: SINK_REFUSED for an untrusted certificate, which another attempt cannot change."""
    found, options = _tls_problem(problem), _TLS_OPTIONS[api]
    if isinstance(found, ssl.SSLCertVerificationError):
        any_name = "apicurio.registry.tls.verify-host=false" if api != "confluent" else f"{options}.endpoint.identification.algorithm=none"
        return CdcError(
            ErrorKind.SINK_REFUSED,
            f"The TLS certificate of the {server} is not trusted",
            f"Name the authority that signed it in {options}.truststore.location (PEM, with {options}.truststore.type=PEM), and use a name "
            f"that the certificate contains, or set {any_name}.",
            getattr(found, "verify_message", type(found).__name__),
        )
    if found is not None:
        return CdcError(
            ErrorKind.SINK_UNREACHABLE,
            f"The {server} makes no TLS connection with this client",
            f"Check the URL's port and {options}.*.",
            getattr(found, "reason", None) or type(found).__name__,
        )
    return CdcError(
        ErrorKind.SINK_UNREACHABLE,
        f"The {server} did not answer{about}: {type(problem).__name__}",
        "Check that it runs, its URL, and the network.",
    )


def _tls_problem(problem: BaseException | None) -> ssl.SSLError | None:
    while problem is not None:
        if isinstance(problem, ssl.SSLError) and not isinstance(problem, _OF_CONNECTIONS):
            return problem
        problem = problem.__cause__ or problem.__context__
    return None


def refused(subject: str, url: str, answer: httpx.Response) -> CdcError:
    """Return the error for an answer that is no success."""
    said = f"status {answer.status_code}{_words(answer)}"
    if answer.status_code in _NO_LOGIN:
        return CdcError(
            ErrorKind.SINK_PERMISSION,
            f"The schema registry {split_url(url)[0]} does not permit access to the subject {subject}",
            "Check the converter's credentials and the user's rights on the subject.",
            said,
        )
    if answer.status_code == httpx.codes.CONFLICT:
        return CdcError(
            ErrorKind.SCHEMA,
            f"The schema registry refuses the new schema of the subject {subject}, because it is not compatible with an earlier one",
            "Change the subject's compatibility level, or undo the change of the table, then restart the task.",
            said,
        )
    if answer.status_code in AGAIN:
        return CdcError(
            ErrorKind.SINK_UNREACHABLE,
            f"The schema registry {split_url(url)[0]} could not answer about the subject {subject}",
            "Check its log.",
            said,
        )
    return CdcError(
        ErrorKind.SCHEMA,
        f"The schema registry {split_url(url)[0]} refuses the schema of the subject {subject}",
        "Check the URL, the names of tables and columns, and the registry's rules.",
        said,
    )


def _words(answer: httpx.Response) -> str:
    """The registry's own message. It speaks of schemas, and these hold no values but defaults; only its first line is quoted."""
    try:
        fields = orjson.loads(answer.content)
        message = str(fields.get("message") or fields.get("title") or fields.get("detail") or "")
    except (ValueError, AttributeError):
        return ""
    first = message.partition("\n")[0].partition("{")[0][:_MOST_WORDS].strip()
    return f": {first}" if first else ""


def unknown(subject: str, ask: SchemaAsk) -> CdcError:
    """Return the error for a schema that the registry does not have."""
    what = f"no schema with the id {ask.schema_id}" if ask.action == "by id" else "no such schema"
    remedy = "Register it, or let the converter do so (auto.register.schemas=true; Apicurio: apicurio.registry.auto-register=true)."
    return CdcError(ErrorKind.SCHEMA, f"The schema registry has {what} under the subject {subject}", remedy)
