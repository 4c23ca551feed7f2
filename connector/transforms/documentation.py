"""Write ``docs/transforms.md`` from the definitions: ``python -m connector.transforms.documentation > docs/transforms.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from connector.configdef.key import VERSIONS, Key
from connector.converters.catalog import CONVERTERS, HEADER_CONVERTERS
from connector.transforms.catalog import PREDICATES, TRANSFORMS
from connector.transforms.transform import TransformDefinition

_INTRODUCTION: Final = """# Transforms and converters

This page is made from the definitions in `connector/transforms` and `connector/converters`; change those, then run
`python -m connector.transforms.documentation > docs/transforms.md`.

A connector names its transforms in `transforms`, in the order in which they are applied, and its predicates in `predicates`:

```json
{
  "transforms": "unwrap,route",
  "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
  "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
  "transforms.route.regex": "([^.]+)\\\\.([^.]+)\\\\.([^.]+)",
  "transforms.route.replacement": "$3",
  "transforms.route.predicate": "rows",
  "predicates": "rows",
  "predicates.rows.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
  "predicates.rows.pattern": "shop\\\\.public\\\\..*"
}
```

Rules

- The class and the options are those of Kafka 4.3 and of the emulated version of Debezium. A class may be named by its full name, or by its
  simple name if only one class has it. An option marked with a version exists in that version only.
- A step may have a `predicate`; with `negate=true` it is applied to the records for which the predicate does not hold.
- A record that a step or a converter cannot handle fails the task with an error of the kind [transform](runbook.md#transform). The message
  names the step, the topic and the fields of the key, and contains no value. `errors.tolerance=all` leaves such records out and logs a
  warning for each.
- An option that a step, a predicate or a converter does not know has no effect. When the task starts, the log names these properties once:
  `msg="properties unknown to their step, they have no effect"`. Options that a converter passes on (`request.header.*`,
  `apicurio.registry.request.headers.*`, `delegate.converter.type.*`, and `json.*` and `avro.*` of CloudEvents) are not reported.
- An option that is marked with "No effect" is known and not used. When the task starts, the log names it with the reason:
  `msg="property has no effect"`.
- Confluent's converters read the options of the registry's client (`basic.auth.*`, `bearer.auth.*`, `sasl.jaas.config`, `proxy.*`,
  `http.*`, `max.retries`, `retries.*`) with the prefix `schema.registry.` too. An option with the prefix prevails.
- Debezium 2 renamed `io.debezium.converters.ByteBufferConverter`. A configuration with the former name is refused; write
  `io.debezium.converters.BinaryDataConverter`.
- Debezium 0.10 renamed `io.debezium.transforms.UnwrapFromEnvelope`. A configuration with the former name is refused, as by Debezium; write
  `io.debezium.transforms.ExtractNewRecordState`. The answer says so.
- A transform or converter of your own is a Python class: [extending.md](extending.md#transforms-and-converters). If a configuration names a
  Java class that you have written again in Python, the worker property `class.map.<Java class>=package.module:Class` replaces it, and the
  configuration stays as it is.
- A connector that has no transforms and writes JSON does not pass through any of this and is as fast as before.

## Expressions of Filter and ContentBasedRouter

`language` says what `condition` and `topic.expression` are written in: `jsr223.groovy`, `jsr223.graal.js` (also `jsr223.js` and
`jsr223.javascript`; it needs the extra `javascript`) or `python`. Each has the variables `key`, `value`, `keySchema`, `valueSchema`,
`topic` and `header`. An expression reaches the record and nothing else. Its time and memory are bounded, and a record that takes more
fails.

A condition in JavaScript is a program of ECMAScript, and its last expression is its value. It can use

| of | what |
|---|---|
| `key`, `value`, and structs in them | the fields as properties: `value.after.id`. Writing or deleting one makes the record fail |
| `header` | the headers by their names, each with `value` and `schema`; the last one of a name counts |
| a list | what an array has, and `get`, `size`, `isEmpty`, `contains`, `containsAll` |
| a map | its entries as properties, unless a method has their name, and `get`, `getOrDefault`, `containsKey`, \
`containsValue`, `size`, `isEmpty`, `keySet`, `values`, `entrySet`, `forEach` |
| a date, time or timestamp of Connect | what a `Date` has, and `before`, `after`, `compareTo`, `equals` |
| a number | what a number has, and `intValue`, `longValue`, `floatValue`, `doubleValue`, `signum`, `compareTo`. A decimal is a number too |
| bytes | an array of numbers from 0 to 255 |
| `keySchema`, `valueSchema`, and schemas in them | \
`type`, `name`, `version`, `doc`, `isOptional`, `defaultValue`, `parameters`, \
`fields`, `field`, `keySchema`, `valueSchema`, `schema`, all of them methods. \
A field has `name`, `index` and `schema`; a type has `name`, `getName` and `isPrimitive`, and equals its name with `==` |

For one record it may take 1 second and 64 MiB. If it fails, the message has the class of the error (`TypeError`), but not its text, which
may contain values.

A condition in Python is one expression: literals, fields (`value.after.id` or `value["after"]["id"]`), operators, comparisons, `in`, `and`,
`or`, `not`, `x if c else y`, f-strings, comprehensions with one `for`, and calls of

| of | what |
|---|---|
| functions | `len`, `str`, `int`, `float`, `bool`, `abs`, `min`, `max`, `sum`, `any`, `all`, `sorted`, and `matches(pattern, text)`, \
which asks whether a Java regular expression matches a whole text |
| a text | `startswith`, `endswith`, `removeprefix`, `removesuffix`, `lower`, `upper`, `casefold`, `capitalize`, `title`, \
`strip`, `lstrip`, `rstrip`, `split`, `rsplit`, `splitlines`, `partition`, `rpartition`, `join`, \
`replace`, `find`, `rfind`, `count`, `isdigit`, `isalpha`, `isalnum`, `isspace`, all of them as in Python |
| a map | `get`, `keys`, `values`, `items` |
| a date, time or timestamp of Connect | `time`, the milliseconds since 1970, without brackets |
"""


def render() -> str:
    """Return the page."""
    lines = [_INTRODUCTION]
    kafka = [definition for name, definition in sorted(TRANSFORMS.items()) if name.startswith("org.apache.")]
    others = [definition for name, definition in sorted(TRANSFORMS.items()) if not name.startswith("org.apache.")]
    lines += ["## Debezium's transforms", ""]
    for definition in others:
        lines += [*_section(definition.name, definition.doc, definition.keys, _versions(definition)), ""]
    lines += ["## Kafka's transforms", ""]
    for _, both in groupby(kafka, key=lambda definition: definition.name.partition("$")[0]):
        first, *rest = both
        name = first.name if not rest else " and ".join(f"{each.name.rpartition('.')[2]}" for each in (first, *rest))
        lines += [*_section(name, first.doc, first.keys, ""), ""]
    lines += ["## Predicates", ""]
    for name, predicate in sorted(PREDICATES.items()):
        lines += [*_section(name, "", predicate.keys, ""), ""]
    lines += ["## Converters", "", "For `key.converter` and `value.converter`; options below the same prefix.", ""]
    for name, converter in sorted(CONVERTERS.items()):
        lines += [*_section(name, "", converter.keys, ""), ""]
    lines += ["## Header converters", "", *(f"- `{name}`" for name in sorted(HEADER_CONVERTERS)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _versions(definition: TransformDefinition) -> str:
    return "" if definition.versions == VERSIONS else f" *({', '.join(definition.versions)})*"


def _section(name: str, doc: str, keys: Iterable[Key], versions: str) -> list[str]:
    lines = [f"### {name}", ""]
    if doc or versions:
        lines += [f"{_text(doc)}{versions}", ""]
    listed = list(keys)
    if not listed:
        return [*lines, "No options."]
    lines += ["| Option | Type | Default | Meaning |", "|---|---|---|---|"]
    return lines + [_row(key) for key in listed]


def _row(key: Key) -> str:
    default = "required" if key.required else "" if key.default is None else f"`{_code(key.default)}`" if key.default else "empty"
    meaning = _text(key.doc) + ("" if key.versions in (VERSIONS, ()) else f" *({', '.join(key.versions)})*")
    if key.support == "ignored":
        meaning += f" No effect: {_text(key.reason[0].lower() + key.reason[1:])}"
    return f"| `{_code(key.name)}` | {key.type} | {default} | {meaning} |"


def _text(text: str) -> str:
    """Escape what Markdown would read as a cell's end or as HTML."""
    return _code(text).replace("<", "&lt;")


def _code(text: str) -> str:
    """Escape what would end a table's cell, even between backticks."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render())
