"""The steps of a configuration are made in order, and what cannot be made names its property."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from connector.emulation import DEBEZIUM_2_3_4, DEBEZIUM_3_6_3, DEBEZIUM_3_7_0, DEFAULT
from connector.errors import CdcError, ErrorKind
from connector.events.envelope import event_form
from connector.plugins.allowed import NO_PLUGINS
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import BYTES, INT32, STRING, Field, Schema
from connector.transforms.chain import Chain, Step, StepError
from connector.transforms.debezium.geometry import GEOMETRY
from connector.transforms.steps import listed, make_steps, refused_steps
from connector.transforms.transform import SharesHeaders
from tests.support.each_case import each_case
from tests.support.envelopes import event_of

ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"
MATCHES = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
CONFIG = {
    "transforms": "one, two",
    "transforms.one.type": ROUTER,
    "transforms.one.regex": "a(.*)",
    "transforms.one.replacement": "b$1",
    "transforms.two.type": "RegexRouter",
    "transforms.two.regex": "(.*)",
    "transforms.two.replacement": "$1-c",
    "transforms.two.predicate": "p",
    "predicates": "p",
    "predicates.p.type": MATCHES,
    "predicates.p.pattern": "b.*",
}


def topic(config: dict[str, str], name: str) -> str:
    found = Chain(make_steps(config, DEFAULT, NO_PLUGINS)).apply(ConnectRecord(name))
    assert found is not None
    return found.topic


def test_steps_are_applied_in_order_and_where_their_predicate_holds() -> None:
    assert topic(CONFIG, "ax") == "bx-c"
    assert topic(CONFIG, "x") == "x"
    assert topic({**CONFIG, "transforms.two.negate": "TRUE"}, "x") == "x-c"
    assert topic({**CONFIG, "transforms": "two,one"}, "ax") == "bx"


def test_an_alias_counts_once() -> None:
    assert listed({"transforms": " a,b , a,,"}, "transforms") == ("a", "b")


@each_case(
    ("changes", "text"),
    [
        ({"transforms.one.type": "no.such.Smt"}, "Property transforms.one.type cannot be used: there is no transformation no.such.Smt"),
        ({"transforms.two.predicate": "q"}, "Property transforms.two.predicate cannot be used: it names q"),
        ({"transforms.two.predicate": " "}, "Property transforms.two.predicate cannot be used: it is empty"),
        ({"transforms.one.negate": "true"}, "Property transforms.one.negate cannot be used: there is no transforms.one.predicate"),
        ({"predicates.p.type": "no.such.P"}, "Property predicates.p.type cannot be used: there is no predicate no.such.P"),
        ({"transforms.one.regex": "("}, "Property transforms.one cannot be used"),
        ({"predicates.p.pattern": "("}, "Property predicates.p cannot be used"),
        ({"transforms.one.type": "shop.own:Mine"}, "is not allowed"),
    ],
)
def test_a_step_that_cannot_be_made_names_its_property(changes: dict[str, str], text: str) -> None:
    with pytest.raises(CdcError) as caught:
        make_steps({**CONFIG, **changes}, DEFAULT, NO_PLUGINS)
    assert caught.value.kind is ErrorKind.CONFIG_INVALID
    assert text in caught.value.message


def test_a_class_of_another_version_is_not_there() -> None:
    config = {"transforms": "t", "transforms.t.type": "io.debezium.transforms.TimezoneConverter"}
    with pytest.raises(CdcError, match=r"there is no transformation"):
        make_steps(config, DEBEZIUM_2_3_4, NO_PLUGINS)


def test_a_class_of_a_later_version_is_not_there() -> None:
    config = {"transforms": "t", "transforms.t.type": "io.debezium.transforms.ToLogicalTopicRouter"}
    config |= {"transforms.t.topic.regex": "a(.*)", "transforms.t.topic.replacement": "b$1"}
    with pytest.raises(CdcError, match=r"there is no transformation"):
        make_steps(config, DEBEZIUM_3_6_3, NO_PLUGINS)
    [step] = make_steps(config, DEBEZIUM_3_7_0, NO_PLUGINS)
    routed = step.transform.apply(ConnectRecord("ax"))
    assert routed is not None
    assert routed.topic == "bx"


def test_a_script_that_cannot_be_evaluated_refuses_the_configuration() -> None:
    config = {
        "transforms": "f",
        "transforms.f.type": "io.debezium.transforms.Filter",
        "transforms.f.language": "jsr223.groovy",
        "transforms.f.condition": "value.op ==",
    }
    [(name, line)] = refused_steps(config, DEFAULT)
    assert name == "transforms.f.type"
    assert line.startswith("Transform f cannot be used: ")
    assert refused_steps({**config, "transforms.f.condition": "value.op == 'c'"}, DEFAULT) == []
    assert refused_steps(CONFIG, DEFAULT) == []


@dataclass(frozen=True, slots=True)
class Adds:
    """Adds a header to a copy."""

    name: str

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        return record.with_header(self.name, STRING, "x")


class AddsInPlace(Adds, SharesHeaders):
    """Adds it to the record itself."""

    __slots__ = ()


class Replaces(SharesHeaders):
    """Puts its header in the place of others of that name."""

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        others = tuple(header for header in record.headers if header.name != "x")
        return replace(record, headers=(*others, Header("x", STRING, str(len(record.headers)))))


class Fails:
    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        raise KeyError("secret")


def test_only_the_first_steps_share_the_headers_that_they_add() -> None:
    steps = [Step(name, "", AddsInPlace(name) if name != "copy" else Adds(name)) for name in ("one", "two", "copy", "three")]
    record, shared = Chain(steps).apply_with_shared(ConnectRecord("t", headers=(Header("zero", STRING, "x"),)))
    assert record is not None
    assert [header.name for header in record.headers] == ["zero", "one", "two", "copy", "three"]
    assert [header.name for header in shared] == ["one", "two"]


@pytest.mark.parametrize(("operation", "names"), [("copy", ["Changed"]), ("move", [])])
def test_debezium_s_transforms_before_them_do_not_copy_the_headers(operation: str, names: list[str]) -> None:
    config = {
        "transforms": "zone,router,value,changed",
        "transforms.zone.type": "io.debezium.transforms.TimezoneConverter",
        "transforms.zone.converted.timezone": "+05:30",
        "transforms.router.type": "RegexRouter",
        "transforms.router.regex": "another topic",
        "transforms.router.replacement": "x",
        "transforms.value.type": "io.debezium.transforms.HeaderToValue",
        "transforms.value.headers": "h",
        "transforms.value.fields": "h",
        "transforms.value.operation": operation,
        "transforms.changed.type": "io.debezium.transforms.ExtractChangedRecordState",
        "transforms.changed.header.changed.name": "Changed",
    }
    row = Schema("struct", optional=True, fields=(Field("id", INT32),))
    envelope = event_form(DEFAULT).envelope("p.public.t", row)
    row_of = event_of(envelope, DEFAULT, before={"id": 1}, op="d")
    event = ConnectRecord("t", value_schema=envelope, value=row_of, headers=(Header("h", STRING, "x"),))
    _, shared = Chain(make_steps(config, DEFAULT, NO_PLUGINS)).apply_with_shared(event)
    assert [header.name for header in shared] == names


def test_geometries_that_change_do_not_end_the_sharing() -> None:
    config = {
        "transforms": "swap,format,changed",
        "transforms.swap.type": "io.debezium.transforms.SwapGeometryCoordinates",
        "transforms.format.type": "io.debezium.transforms.GeometryFormatTransformer",
        "transforms.changed.type": "io.debezium.transforms.ExtractChangedRecordState",
        "transforms.changed.header.changed.name": "Changed",
    }
    shape = Schema("struct", name=GEOMETRY, fields=(Field("wkb", BYTES), Field("srid", INT32.as_optional())))
    envelope = event_form(DEFAULT).envelope("p.public.t", Schema("struct", optional=True, fields=(Field("g", shape),)))
    point = {"wkb": bytes.fromhex("0101000000") + bytes(8) + bytes.fromhex("000000000000f03f"), "srid": 4326}
    event = ConnectRecord("t", value_schema=envelope, value=event_of(envelope, DEFAULT, before={"g": point}, op="d"))
    record, shared = Chain(make_steps(config, DEFAULT, NO_PLUGINS)).apply_with_shared(event)
    assert record is not None
    assert record.value["before"] != event.value["before"]
    assert [header.name for header in shared] == ["Changed"]


def test_a_shared_header_that_a_later_step_replaces_is_shared_once() -> None:
    steps = [Step("one", "", AddsInPlace("one")), Step("first", "", Replaces()), Step("second", "", Replaces())]
    record, shared = Chain(steps).apply_with_shared(ConnectRecord("t", headers=(Header("x", STRING, "own"), Header("y", STRING, "own"))))
    assert record is not None
    assert [header.name for header in record.headers] == ["y", "one", "x"]
    assert list(shared) == [header for header in record.headers if header.name != "y"]


def test_headers_that_were_added_before_a_step_failed_are_shared_too() -> None:
    with pytest.raises(StepError) as caught:
        Chain([Step("one", "", AddsInPlace("one")), Step("s", "Fails", Fails())]).apply(ConnectRecord("t"))
    assert [header.name for header in caught.value.shared] == ["one"]


def test_an_unexpected_exception_is_reported_by_its_type_alone() -> None:
    with pytest.raises(StepError) as caught:
        Chain([Step("s", "Fails", Fails())]).apply(replace(ConnectRecord("t")))
    assert str(caught.value) == "KeyError in the transform"
    assert not isinstance(caught.value, DataError)


def unknown(config: dict[str, str]) -> list[str]:
    found: list[str] = []
    make_steps(config, DEFAULT, NO_PLUGINS, found.append)
    return found


def test_known_options_are_not_reported() -> None:
    assert unknown({**CONFIG, "transforms.two.negate": "true", "transforms.two.plugin.version": "1"}) == []


def test_an_option_that_a_step_does_not_know_is_reported_by_its_full_name() -> None:
    config = {**CONFIG, "transforms.one.replacment": "x", "predicates.p.patern": "y", "transforms.three.foo": "z"}
    assert unknown(config) == ["predicates.p.patern", "transforms.one.replacment"]


def test_options_that_a_step_passes_on_are_not_reported() -> None:
    config = {
        "transforms": "t",
        "transforms.t.type": "io.debezium.connector.postgresql.transforms.timescaledb.TimescaleDb",
        "transforms.t.database.hostname": "localhost",
        "transforms.t.data.base": "x",
    }
    assert unknown(config) == ["transforms.t.data.base"]


def test_an_option_of_another_version_is_reported() -> None:
    config = {
        "transforms": "t",
        "transforms.t.type": "io.debezium.transforms.outbox.EventRouter",
        "transforms.t.table.field.additional.missing": "ignore",
    }
    found: list[str] = []
    make_steps(config, DEBEZIUM_2_3_4, NO_PLUGINS, found.append)
    assert (found, unknown(config)) == ([*config][2:], [])
