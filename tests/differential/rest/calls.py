"""Random calls of every endpoint: odd methods, paths, queries, headers and bodies. No call changes what lasts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any, Final
from urllib.parse import quote

from .call import Answer, Call
from .configurations import CONNECTOR
from .validations import Difference

_NOT_COMPARED: Final = {"documentation", "commit", "kafka_cluster_id", "worker_id"}
_FURTHER: Final = {
    "io.apicurio.registry.utils.converter.AvroConverter",
    "io.apicurio.registry.utils.converter.ExtJsonConverter",
    "io.confluent.connect.avro.AvroConverter",
    "io.confluent.connect.json.JsonSchemaConverter",
    "io.confluent.connect.protobuf.ProtobufConverter",
    "io.debezium.converters.CloudEventsConverter",
    "io.debezium.transforms.ContentBasedRouter",
    "io.debezium.transforms.Filter",
}
"""Plugins of further jars, which a Kafka Connect with Debezium alone does not have."""
_METHODS: Final = ("GET", "GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE")
_UNKNOWN: Final = "fuzzrest-none"
_NAMES: Final = (
    *(_UNKNOWN, "fuzzrest none", "fuzzrest-né", "fuzzrest-日本", "fuzzrest.a.b", "fuzzrest+x", "fuzzrest;x=1", "fuzzrest:x"),
    *("fuzzrest=x", "fuzzrest@"),
    *("fuzzrest'", 'fuzzrest"', "fuzzrest<b>", "fuzzrest\n", "fuzzrest\t", "fuzzrest&x", "fuzzrest?x", "fuzzrest#x"),
    *("fuzzrest%", "fuzzrest/x"),
    *(" ", ".", "..", "...", "", "x" * 300, "fuzzrest,", "fuzzrest|", "fuzzrest~", "fuzzrest*", "fuzzrest\\x", "${x}", "fuzzrest%41"),
)
_PATHS: Final = (
    *("/", "/connectors", "/connectors/{n}", "/connectors/{n}/config", "/connectors/{n}/status", "/connectors/{n}/tasks"),
    *("/connectors/{n}/topics", "/connectors/{n}/topics/reset", "/connectors/{n}/tasks-config", "/connectors/{n}/pause"),
    *("/connectors/{n}/resume", "/connectors/{n}/stop", "/connectors/{n}/restart", "/connectors/{n}/tasks/{t}/status"),
    *("/connectors/{n}/tasks/{t}/restart", "/connectors/{n}/tasks/{t}", "/connectors/{n}/offsets", "/connectors/{n}/fence"),
    *("/connector-plugins", "/connector-plugins/{p}", "/connector-plugins/{p}/config", "/connector-plugins/{p}/config/validate"),
    *("/admin/loggers", "/admin/loggers/{l}", "/admin", "/health", "/connectors/{n}/nope", "/nope", "/connector-plugins/{p}/validate"),
    *("/application.wadl", "/favicon.ico", "/connectors/{n}/offsets/x", "/admin/loggers/{l}/x"),
)
_TASKS: Final = ("0", "1", "-1", "x", "00", "2147483647", "2147483648", "9999999999", "1.0", "+1", " 1", "")
_PLUGINS: Final = (
    *(CONNECTOR, "PostgresConnector", "Postgres", "nope", "", " ", "io.debezium.transforms.ByLogicalTableRouter"),
    *("RegexRouter", "JsonConverter"),
    *("org.apache.kafka.connect.transforms.Cast$Value", "org.apache.kafka.connect.transforms.Cast", "java.lang.String", "é"),
    *("Json", "HasHeaderKey"),
    *("org.apache.kafka.connect.storage.StringConverter", "StringConverter", "String", "SimpleHeaderConverter", "Filter", "postgres"),
)
_LOGGERS: Final = ("fuzzrest.none", "ROOT", "", " ", "fuzzrest-é", "..", "%41")
_QUERIES: Final = (
    *("expand=status", "expand=info", "expand=info&expand=status", "expand=", "expand=x", "expand"),
    *("expand=STATUS", "expand=status&expand=x"),
    *("forward=true", "forward=false", "forward=x", "forward=", "includeTasks=true", "includeTasks=x"),
    *("onlyFailed=true", "onlyFailed=TRUE"),
    *("includeTasks=true&onlyFailed=true", "includeTasks", "connectorsOnly=false", "connectorsOnly=x"),
    *("connectorsOnly=", "connectorsOnly=FALSE"),
    *("version=3.6.3.Final", "version=latest", "version=4.3.0", "version=x", "version=", "version=[", "version=[1,5]", "scope=worker"),
    *("scope=cluster", "scope=x", "scope=", "scope=CLUSTER", "scope=worker&scope=cluster", "x=y", "=", "&&", "%", "a=%zz", "a=%41"),
    *("?", "é"),
)
_TYPES: Final = (
    *("application/json", "application/json", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "text/plain"),
    *("application/xml", "application/*", "*/*", "", "json", "application/json;charset=latin1", "application/vnd.api+json", "text/json"),
    *("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json;", "application/octet-stream"),
)
_ACCEPTS: Final = (
    *("application/json", "*/*", "text/html", "text/plain", "application/*", "", "application/json;q=0", "application/xml", "x"),
    *("text/html, application/json;q=0.5", "application/json;q=x", "*/*;q=0", "application/json, text/html", "*"),
)
_BODIES: Final[tuple[str, ...]] = (
    *("", " ", "{}", "[]", "null", "1", '"x"', "true", "{", "{}x", "{}{}", '{"a": }', "{'a': 1}", '{"a": 1,}', "// c\n{}", '{"a": NaN}'),
    *('{"name": null}', '{"name": "fuzzrest-none"}', '{"config": null}', '{"config": {}}', '{"config": []}', '{"config": {"a": {}}}'),
    *('{"name": "fuzzrest-none", "config": null}', '{"name": "fuzzrest-none", "config": {}}', '{"name": 1, "config": {}}'),
    *('{"name": "fuzzrest-none", "config": {"name": "fuzzrest-other"}}', '{"name": " ", "config": {"connector.class": "x"}}'),
    *('{"name": "fuzzrest-none", "config": {"connector.class": "nope"}}', '{"name": "fuzzrest-none", "config": {"connector.class": null}}'),
    *('{"name": "fuzzrest-none", "config": {"connector.class": ""}}', '{"name": "", "config": {"connector.class": "nope"}}'),
    *(
        '{"name": "fuzzrest-none", "config": {"connector.class": "PostgresConnector"}}',
        '{"name": "fuzzrest-none", "config": {"tasks.max": 1E3}}',
    ),
    *('{"connector.class": "PostgresConnector"}', '{"connector.class": "nope"}', '{"name": "fuzzrest-none", "connector.class": "nope"}'),
    *('{"name": "fuzzrest-none", "initial_state": "x", "config": {}}', '{"name": "fuzzrest-none", "initial_state": null, "config": {}}'),
    *(
        '{"name": "fuzzrest-none", "initial_state": "stopped", "config": {"connector.class": "nope"}}',
        '{"name": "a", "name": "b", "config": {}}',
    ),
    *('{"name": "fuzzrest/x", "config": {"connector.class": "nope"}}', '{"name": "fuzzrest\\n", "config": {"connector.class": "nope"}}'),
    *('{"offsets": null}', '{"offsets": []}', '{"offsets": [{}]}', '{"offsets": [null]}', '{"offsets": {}}'),
    *('{"offsets": "x"}', '{"offset": []}'),
    *('{"offsets": [{"partition": {}, "offset": {}}]}', '{"offsets": [{"partition": {"server": "p"}, "offset": null}]}'),
    *('{"offsets": [{"partition": null, "offset": {"lsn": 1}}]}', '{"offsets": [{"partition": {"server": "p"}, "offset": {"lsn": 1}}]}'),
    *('{"offsets": [{"partition": {"server": "p"}, "offset": {"lsn": 1}, "x": 1}]}', '{"level": "INFO"}'),
    *('{"level": "info"}', '{"level": null}'),
    *('{"level": "x"}', '{"level": ""}', '{"level": 1}', '{"level": "INFO", "x": 1}', '{"Level": "INFO"}'),
    *('{"level": " INFO"}', '{"level": "OFF"}'),
    *('{"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "name": 5}', '{"connector.class": "RegexRouter"}'),
    '{"connector.class": "io.debezium.connector.mysql.MySqlConnector"}',
    *('{"connector.class": "org.apache.kafka.connect.mirror.X"}', '{"a": 1}'),
    *('{"connector.class": " PostgresConnector"}', '{"connector.class": "Postgres"}'),
    *('{"connector.class": "postgres"}', '{"connector.class": " "}'),
)


def random_call(random: Random) -> Call:
    """A call, the same for each state of ``random``."""
    path = random.choice(_PATHS)
    for place, values in (("{n}", _NAMES), ("{t}", _TASKS), ("{p}", _PLUGINS), ("{l}", _LOGGERS)):
        if place in path:
            usual = values[0] if random.random() < 0.5 else random.choice(values)
            path = path.replace(place, quote(usual, safe="" if random.random() < 0.8 else "+;:=@&,~*|$"))
    method = random.choice(_METHODS)
    if random.random() < 0.1:
        path += random.choice(("/", "//", ".json", "%20", "/.", ";x=1", "%2F"))
    if random.random() < 0.35:
        path += "?" + quote(random.choice(_QUERIES), safe="=&%?[,]")
    headers: list[tuple[str, str]] = []
    body = None
    if method in ("PUT", "POST", "PATCH") or random.random() < 0.1:
        if random.random() < 0.9:
            body = random.choice(_BODIES).encode()
        if random.random() < 0.95:
            headers.append(("Content-Type", random.choice(_TYPES) if random.random() < 0.4 else "application/json"))
    if random.random() < 0.2:
        headers.append(("Accept", random.choice(_ACCEPTS)))
    return Call(method, path, body, tuple(headers))


def random_calls(seed: int, runs: int) -> Iterator[tuple[int, Call]]:
    """Numbered calls, the same for a seed."""
    for number in range(runs):
        yield number, random_call(Random(f"{seed}/call/{number}"))


def compare(theirs: Answer, ours: Answer) -> list[Difference]:
    """The differences of two answers: the status, the body, and those headers that mean the same in both servers."""
    left, right = _plain(theirs.json), _plain(ours.json)
    found: list[Difference] = []
    if theirs.status != ours.status:
        found.append(("status", [theirs.status, left], [ours.status, right]))
    elif left != right:
        found.append(("body", [theirs.status, left], [ours.status, right]))
    for name in ("location", "allow"):
        values = [
            ",".join(sorted(answer.headers.get(name, "").split(","))) if name == "allow" else answer.headers.get(name, "")
            for answer in (theirs, ours)
        ]
        values = [re.sub(r"^https?://[^/]+", "", value) for value in values]
        if values[0] != values[1] and theirs.headers.get(name) is not None:
            found.append((name, [theirs.status, values[0]], [ours.status, values[1]]))
    return found


def is_intended(call: Call, theirs: Answer, ours: Answer) -> bool:
    """Whether docs/differences.md describes the difference of two answers."""
    path = re.split(r"[?;]", call.target)[0].rstrip("/")
    return (
        # What the reference's HTTP server refuses without asking Connect: paths, media types, the JSON of a list of loggers.
        (theirs.status == 400 and ours.status < 500 and not (isinstance(theirs.json, dict) and "error_code" in theirs.json))
        # A request that cannot be understood.
        or (theirs.status == 500 and ours.status == 400)
        or (call.method == "PATCH" and not call.body and ours.status == 400)
        or (theirs.status == 500 and ours.status == 404 and b"Instantiation error" in theirs.body)
        or (path == "/admin/loggers" and theirs.status == ours.status == 200)
        # The connectors that each worker has.
        or (path == "/connectors" and theirs.status == ours.status == 200)
        # Plugins that only one worker has, and texts of the documentation; validations have a comparison of their own.
        or (path.endswith("/config/validate") and theirs.status == ours.status == 200)
        # Versions, and how OPTIONS is answered to those who want no text.
        or "available versions: [2.3.4.Final, 3.6.3.Final, 3.7.0.Final]" in ours.body.decode(errors="replace")
        or (call.method == "OPTIONS" and not theirs.body and theirs.status == ours.status)
    )


def _plain(body: Any) -> Any:
    """The body without what no two workers share, and without the plugins that only one has."""
    if isinstance(body, str):
        # A page of HTML.
        return re.sub(r"\s+", " ", body)[:200]
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        message = re.sub(r" at \[Source:.*", "", body["message"], flags=re.DOTALL)
        # Asked for a class that it has not found before, the reference's answer comes out of a cache and says so.
        message = re.sub(r"location='[^']*'|^org\.apache\.kafka\.connect\.errors\.ConnectException: ", "", message)
        # The order of a hash table.
        return {**body, "message": re.sub(r"\{.*\} contains no connector type", "{} contains no connector type", message)}
    if isinstance(body, list):
        return [_plain(entry) for entry in body if not isinstance(entry, dict) or entry.get("class") not in _FURTHER]
    return {name: value for name, value in body.items() if name not in _NOT_COMPARED} if isinstance(body, dict) else body
