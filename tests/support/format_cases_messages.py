"""Cases of DecodeLogicalDecodingMessageContent.

Objects of one array whose fields differ are not here where more than one order of their fields is possible: the reference's depends on
the hash of its schemas, which differs from one JVM to the next.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from connector.configdef.key import SINCE_3
from tests.support.format_case import Case, Json, optional, required, struct

DECODE: Final = "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent"
NULLS: Final = "fields.null.include"
MESSAGE: Final = "io.debezium.connector.postgresql.MessageValue"

OBJECTS: Final = """
{}
{"a":1,"b":"x"}
{"a":null}
{"a":1,"a":2}
{"a":1} x
{"a":1}{"b":2}
{ "a" : 1 , "b":true}
{"i":2147483648,"j":-2147483648,"k":2147483647,"l":-2147483649}
{"a":9223372036854775807,"b":-9223372036854775808}
{"p":1e2,"q":0.1234567890123456789,"r":1.0,"s":-0,"t":-0.0,"u":1e400,"v":0.1e-400}
{"a":{"b":null,"c":1}}
{"a":{"b":{"c":{"d":null}}}}
{"a":{}}
{"d":[1,2,3]}
{"e":[]}
{"a":1,"b":[],"c":null,"d":{"e":[]}}
{"k":[null,1]}
{"f":[1,null,2]}
{"l":[[1],[2]]}
{"l":[[[1]]]}
{"l":[[{"a":1}],[{"b":{"c":1}}]]}
{"l":[[{"b":{"c":1}}]]}
{"l":[[{"a":1}],[{"a":2}]]}
{"f":[[1],[]]}
{"f":[[1],null]}
{"f":[null,[1]]}
{"f":[[1],[null]]}
{"m":{"l":[{"b":{"c":[{"d":1}]}}]}}
{"n":true,"o":"\\u00e9\\u0000\\ud83d\\ude00","p":"\u65e5"}
{"f":[true,false]}
{"f":["a",null]}
{"f":[1.5,2.5]}
{"f":[2.5,1e400]}
{"f":[2147483648,2147483649]}
{"f":[null,{"a":1}]}
{"f":[null,null,{"a":1}]}
{"f":[null,{}]}
{"f":[{}]}
{"f":[{"a":null},{"a":null}]}
{"f":[{"a":1},{"a":2}]}
{"f":[{"a":1},{"a":2},null]}
{"f":[{"a":1},{"a":1,"b":null}]}
{"f":[{"a":{"b":null}}]}
{"f":[{"x":{"a":1}},{"x":{"a":1}}]}
{"f":[{"x":null},{"x":{"a":1}}]}
{"f":[{"x":null},{"x":[1]}]}
{"f":[{"x":[]},{"x":[]}]}
{"h":[{"x":1},{"x":null}]}
{"h":[{"x":null},{"x":1}]}
{"h":[{"x":1},{}]}
{"h":[{"x":1},null]}
{"h":[{"x":[1]},{"x":[2]},{"x":null},{"x":[]}]}
{"h":[{"x":[]},{"x":[2]}]}
{"a":[{"b":[]}]}
{"a b":1,"x-y.z":2}
{"a":123456789012345678901234567890.5}
""".strip().splitlines()
WRONG: Final = """
[]
[1]
[{"a":1}]
1
"x"
null
true
{"a":1,}
{a:1}
{'a':1}
{"a":NaN}
{"a":Infinity}
{"a":01}
{"a":-}
{"a":1.}
{"a":.5}
{"a":+1}
{"a"
{"a":"\\x"}
{"a":/*c*/1}
{"m":12345678901234567890}
{"a":9223372036854775808}
{"":1}
{"f":[1,"a"]}
{"f":["a",1]}
{"f":[true,1]}
{"f":[1,2147483648]}
{"f":[1,2.5]}
{"f":[2.5,1]}
{"f":[{"a":1},1]}
{"f":[{"a":1},[1]]}
{"f":[1,[1]]}
{"f":[[1],["a"]]}
{"f":[[1],[2.5]]}
{"f":[[],[1]]}
{"f":[[],[]]}
{"f":[[],null]}
{"f":[null,[]]}
{"a":[[]]}
{"f":[12345678901234567890]}
{"h":[{"x":1},{"x":"s"}]}
{"h":[{"x":1},{"x":2147483648}]}
{"h":[{"x":1},{"x":{"y":1}}]}
{"f":[{"a":1},{"b":2},null]}
""".strip().splitlines()
NULLED: Final = (
    '{"j":[null]}',
    '{"f":[null,null]}',
    '{"f":[null,[null]]}',
    '{"a":[[null]]}',
    '{"f":[[null],[1]]}',
)


def message(
    content: bytes | str | None, name: str = MESSAGE, *, kind: str = "bytes", before: Json | None = None, more: Json | None = None
) -> Json:
    source = struct({"db": required("string"), "schema": required("string"), "table": required("string")}, "Source")
    reported = struct({"prefix": optional("string"), "content": optional(kind)}, "io.debezium.connector.postgresql.Message")
    fields = {"op": required("string"), "ts_ms": optional("int64"), "source": source, **(before or {}), "message": reported, **(more or {})}
    payload: Any = base64.b64encode(content).decode() if isinstance(content, bytes) else content
    value: Json = {"op": "m", "ts_ms": 5, "source": {"db": "d", "schema": "", "table": ""}, "message": {"prefix": "x", "content": payload}}
    value.update(dict.fromkeys([*(before or {}), *(more or {})]))
    return {
        "topic": "p.message",
        "partition": 2,
        "key": [struct({"prefix": optional("string")}, "io.debezium.connector.postgresql.MessageKey"), {"prefix": "x"}],
        "value": [struct(fields, name), value],
        "timestamp": 7,
        "headers": [["h", [required("string"), "v"]]],
    }


def _case(record: Json, **options: str) -> Case:
    return Case(DECODE, {name.replace("_", "."): value for name, value in options.items()}, record, SINCE_3)


def cases() -> Iterator[Case]:
    texts = (*OBJECTS, *WRONG, *NULLED, "", " ", ' {"a":1}', '\ufeff{"a":1}', '{"a":"\t"}', '\n{"a":1}')
    for text in texts:
        yield _case(message(text.encode()))
        if "null" in text or "[]" in text:
            yield _case(message(text.encode()), fields_null_include="true")
    yield _case(message(b'\xff{"a":1}'))
    yield _case(message(b'{"a":"\xff"}'))
    yield _case(message(None))
    yield _case(message('{"a":1}', kind="string"))
    for name in ("x.Envelope", "other"):
        yield _case(message(b'{"a":1}', name))
    transaction = {**struct({"id": required("string")}, "event.block", version=1), "optional": True}
    yield _case(message(b'{"a":1}', before={"transaction": transaction}))
    reported = message(b'{"a":1}', before={"transaction": transaction})
    reported["value"][1]["transaction"] = {"id": "5"}
    yield _case(reported)
    yield _case(message(b'{"a":1}', more={"transaction": transaction}))
    yield _case(message(b'{"a":1}', before={"after": optional("string")}))
    yield _case(message(b'{"a":null}'), fields_null_include="TRUE")
    yield _case(message(b'{"a":null}'), fields_null_include="x")
    yield _case({"topic": "t", "value": [required("string"), "x"]})
    yield _case({"topic": "t", "value": [None, {"op": "m"}]})
    yield _case({"topic": "t"})
