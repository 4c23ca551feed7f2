"""Kafka's client properties as aiokafka's arguments."""

from __future__ import annotations

import shutil
import ssl
from pathlib import Path

import pytest

from connector.errors import CdcError
from connector.io.kafka.client import client_arguments
from connector.io.kafka.compression import compressor_of
from connector.io.kafka.producer_settings import producer_arguments
from connector.io.kafka.sasl import jaas_options
from connector.io.kafka.signal_topic import SignalTopic
from connector.io.kafka.tls import client_context
from tests.support.each_case import each_case
from tests.support.project import TLS

PEM = TLS
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
LOGIN = {"security.protocol": "sasl_plaintext", "sasl.mechanism": "plain"}


def parts(name: str) -> tuple[str, str]:
    key, end, chain = (PEM / name).read_text().partition("PRIVATE KEY-----\n-----BEGIN CERTIFICATE")
    return key + end.partition("\n")[0], end.partition("\n")[2] + chain


def test_connections() -> None:
    given = {"bootstrap.servers": "a:1, b:2,", "client.id": " shop ", "request.timeout.ms": "5000", "metadata.max.age.ms": "1"}
    assert client_arguments(given) == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "PLAINTEXT",
        "client_id": "shop",
        "request_timeout_ms": 5000,
        "metadata_max_age_ms": 1,
    }


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("PLAINTEXT://kafka:9092,SASL_SSL://b:9093", ["kafka:9092", "b:9093"]),
        ("://kafka:9092", ["kafka:9092"]),
        ("[::1]:9092, fe80::1:9093", ["[::1]:9092", "[fe80::1]:9093"]),
        ("[::1]:00065535", ["[::1]:65535"]),
        ("my_broker-1.example%2:1", ["my_broker-1.example%2:1"]),
        (":9092", ["localhost:9092"]),
        (",a:1,,", ["a:1"]),
    ],
)
def test_servers_are_read_as_kafka_s_clients_read_them(given: str, read: list[str]) -> None:
    assert client_arguments({"bootstrap.servers": given})["bootstrap_servers"] == read


@each_case(
    "given", ["kafka", "kafka:abc", "kafka:", "kafka:-1", "kafka:65536", "kafka:" + "9" * 5000, "a b:1", "a:1;b:2", "a:1,b", "", " , "]
)
def test_servers_that_cannot_be_used_are_reported(given: str) -> None:
    with pytest.raises(CdcError, match=r"configuration bootstrap\.servers: write"):
        client_arguments({"bootstrap.servers": given})


def test_numbers_are_read_as_java_reads_them() -> None:
    def read(key: str, value: str) -> object:
        return client_arguments({key: value})[key.replace(".", "_")]

    assert read("retry.backoff.ms", " +5 ") == 5
    assert read("metadata.max.age.ms", str(2**63 - 1)) == 2**63 - 1
    assert read("request.timeout.ms", "007") == 7
    assert read("connections.max.idle.ms", "540000") == 540_000
    assert read("connections.max.idle.ms", "-1") is None
    for key, value, problem in (
        ("request.timeout.ms", str(2**31), "Not a number of type INT"),
        ("retry.backoff.ms", str(2**63), "Not a number of type LONG"),
        ("retry.backoff.ms", "1_000", "Not a number of type LONG"),
        ("retry.backoff.ms", "-1", "Value must be at least 0"),
    ):
        with pytest.raises(CdcError, match=f"Invalid value {value} for configuration {key}: {problem}"):
            read(key, value)


def test_a_consumer_reads_one_record_or_more() -> None:
    with pytest.raises(CdcError, match=r"max\.poll\.records: Value must be at least 1"):
        SignalTopic("signals", {"group.id": "g", "max.poll.records": "0"}, 1)


@pytest.mark.parametrize(
    ("text", "username", "password"),
    [
        (f'{PLAIN} required username="alice" password="secret";', "alice", "secret"),
        (f"{PLAIN} REQUIRED\n  username='al;ice'\n  password='s\"x' ; ", "al;ice", 's"x'),
        (rf'{PLAIN} required username="a\"b" password="c\\d" serviceName="x";', 'a"b', r"c\d"),
        (f"{PLAIN} required username=alice password=c2VjcmV0==;", "alice", "c2VjcmV0=="),
        (f"shaded.{PLAIN} optional password=secret username=alice;", "alice", "secret"),
    ],
)
def test_a_login_by_password(text: str, username: str, password: str) -> None:
    found = client_arguments({**LOGIN, "sasl.jaas.config": text})
    assert (found["sasl_mechanism"], found["sasl_plain_username"], found["sasl_plain_password"]) == ("PLAIN", username, password)


@each_case(
    ("changed", "reported"),
    [
        ({"security.protocol": "TLS"}, "security.protocol"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism.*Kerberos"),
        ({"sasl.mechanism": ""}, "sasl.mechanism"),
        ({"sasl.jaas.config": ""}, "sasl.jaas.config is missing.*PlainLoginModule required username"),
        ({"sasl.jaas.config": f'{PLAIN} required username="a" password="hunter2"'}, "sasl.jaas.config is malformed"),
        ({"sasl.jaas.config": f'{PLAIN} required username="a" "hunter2";'}, "sasl.jaas.config is malformed"),
        ({"sasl.jaas.config": f'{PLAIN} required username="a"; {PLAIN} required password="hunter2";'}, "sasl.jaas.config is malformed"),
        (
            {"sasl.jaas.config": 'com.sun.security.auth.module.Krb5LoginModule required keyTab="hunter2";'},
            "Krb5LoginModule.*none",
        ),
        ({"sasl.jaas.config": f'{PLAIN} required username="hunter2";'}, "no username and password"),
        (
            {
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": 'a.ScramLoginModule required username="a" password="hunter2" tokenauth="true";',
            },
            "delegation tokens",
        ),
        ({"sasl.login.callback.handler.class": "a.B"}, "sasl.login.callback.handler.class"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms"),
    ],
)
def test_unusable_entries_are_named(changed: dict[str, str], reported: str) -> None:
    good = {**LOGIN, "sasl.jaas.config": f'{PLAIN} required username="a" password="hunter2";'}
    assert client_arguments(good)["sasl_plain_password"] == "hunter2"
    with pytest.raises(CdcError, match=reported) as caught:
        client_arguments({**good, **changed})
    assert "hunter2" not in str(caught.value)


def test_options_keep_names_with_dots() -> None:
    assert jaas_options('x.OAuthBearerLoginModule required ssl.truststore.type="PEM" a-b=c;', "OAUTHBEARER") == (
        "OAuthBearerLoginModule",
        {"ssl.truststore.type": "PEM", "a-b": "c"},
    )


def test_tls_files(tmp_path: Path) -> None:
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(PEM / "authority.pem")}
    context = client_context({**trust, "ssl.keystore.type": "PEM", "ssl.keystore.location": str(PEM / "client.pem")})
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert [authority["subject"] for authority in context.get_ca_certs()] == [((("commonName", "Test authority"),),)]
    assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    assert not client_context({**trust, "ssl.endpoint.identification.algorithm": ""}).check_hostname
    assert client_context({**trust, "ssl.enabled.protocols": "TLSv1.3"}).minimum_version is ssl.TLSVersion.TLSv1_3
    shutil.copy(PEM / "server_encrypted.pem", tmp_path / "own.pem")
    locked = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(tmp_path / "own.pem")}
    for password in ("changeit", " changeit\n"):
        assert client_context({**locked, "ssl.key.password": password})
    with pytest.raises(CdcError, match=r"ssl\.key\.password"):
        client_context(locked)


@pytest.mark.parametrize("one_line", [False, True])
def test_tls_text(one_line: bool) -> None:
    key, chain = parts("client.pem")
    texts = [(" ".join(text.split("\n")) if one_line else text) for text in (key, chain, (PEM / "authority.pem").read_text())]
    names = ("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates")
    assert len(client_context(dict(zip(names, texts, strict=True))).get_ca_certs()) == 1


@each_case(
    ("given", "reported"),
    [
        (
            {"ssl.keystore.location": "/x.jks"},
            r"Invalid value JKS .* ssl\.keystore\.type.*openssl pkcs12.*keytool -importkeystore",
        ),
        ({"ssl.truststore.location": "/x.jks"}, r"ssl\.truststore\.type.*keytool -list -rfc"),
        ({"ssl.keystore.type": "PKCS12"}, r"Invalid value PKCS12"),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/nowhere"}, r"ssl\.truststore\.\*.*The worker's log says"),
        ({"ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"}, r"ssl\.truststore\.\*"),
        ({"ssl.truststore.certificates": "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG"}, r"ssl\.truststore\.certificates holds no certificate"),
        ({"ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----\nAAAA"}, r"ssl\.truststore\.certificates holds no certificate"),
        ({"ssl.keystore.key": "x"}, r"ssl\.keystore\.key is set without ssl\.keystore\.certificate\.chain"),
        ({"ssl.keystore.certificate.chain": "x"}, r"ssl\.keystore\.certificate\.chain is set without ssl\.keystore\.key"),
        ({"ssl.enabled.protocols": "TLSv1.1"}, r"ssl\.enabled\.protocols"),
    ],
)
def test_tls_that_cannot_be_used_is_named(given: dict[str, str], reported: str) -> None:
    with pytest.raises(CdcError, match=reported):
        client_arguments({"security.protocol": "SSL", **given})


@pytest.mark.parametrize(
    ("given", "acks", "idempotent"),
    [
        ({}, -1, True),
        ({"acks": "-1"}, -1, True),
        ({"acks": "1"}, 1, False),
        ({"acks": "0"}, 0, False),
        ({"enable.idempotence": "false"}, -1, False),
        ({"acks": "all", "enable.idempotence": "TRUE"}, -1, True),
    ],
)
def test_acknowledgements(given: dict[str, str], acks: int, idempotent: bool) -> None:
    found = producer_arguments(given)
    assert (found["acks"], found["enable_idempotence"]) == (acks, idempotent)


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"acks": "2"}, "acks"),
        ({"acks": "1", "enable.idempotence": "true"}, "enable.idempotence needs acks=all"),
        ({"enable.idempotence": "yes"}, "enable.idempotence"),
        ({"max.request.size": "1M"}, "max.request.size"),
        ({"linger.ms": "-1"}, "linger.ms: Value must be at least 0"),
        ({"linger.ms": "5 ms"}, "linger.ms: Not a number"),
    ],
)
def test_an_impossible_producer_is_reported(given: dict[str, str], reported: str) -> None:
    with pytest.raises(CdcError, match=reported):
        producer_arguments(given)


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", "1", "9"), ("lz4", "1", "12"), ("zstd", "-5", "19")])
def test_levels_of_compression(codec: str, low: str, high: str) -> None:
    body = b"".join(b'{"id":%d,"name":"customer %d","city":"town %d"}' % (n, n * n, n % 97) for n in range(5_000))
    sizes = [
        len(compressor_of({"compression.type": codec, f"compression.{codec}.level": level}).compress(body)[1]) for level in (low, high)
    ]
    assert sizes[0] > sizes[1]
    for wrong in ("high", "99"):
        with pytest.raises(CdcError, match=rf"compression\.{codec}\.level"):
            compressor_of({"compression.type": codec, f"compression.{codec}.level": wrong})
    assert compressor_of({"compression.type": "none", f"compression.{codec}.level": "99"}).number == 0


def test_gzip_s_default() -> None:
    assert compressor_of({"compression.type": "gzip", "compression.gzip.level": "-1"}).level == 6
