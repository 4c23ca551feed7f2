"""Which options of Spark's Kafka source the client in Python understands."""

from __future__ import annotations

import ssl

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (extra 'spark')")

from tests.support.project import TLS
from workers.spark.topics.python_client import client_settings

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="s p=c;";'
SASL = {"kafka.sasl.mechanism": "PLAIN", "kafka.sasl.jaas.config": LOGIN}
TRUST = {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": str(TLS / "authority.pem")}
KEY = {"kafka.ssl.keystore.type": "PEM", "kafka.ssl.keystore.location": str(TLS / "client.pem")}


def test_without_options_it_reads_committed_records() -> None:
    wanted = {"bootstrap_servers": "a:1,b:2", "security_protocol": "PLAINTEXT", "isolation_level": "read_committed"}
    assert client_settings("a:1,b:2", {}) == wanted


def test_options_of_sizes_and_times_are_the_sources_own() -> None:
    options = {"minPartitions": "4", "kafka.max.partition.fetch.bytes": "1000", "kafka.request.timeout.ms": "1", "kafka.client.id": "x"}
    assert client_settings("a", options) == client_settings("a", {})


def test_the_isolation_level() -> None:
    found = client_settings("a", {"kafka.isolation.level": "read_uncommitted"})
    assert found is not None
    assert found["isolation_level"] == "read_uncommitted"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_logins(mechanism: str) -> None:
    login = LOGIN.replace("plain.Plain", "scram.Scram") if mechanism != "PLAIN" else LOGIN
    options = {"kafka.security.protocol": "sasl_plaintext", "kafka.sasl.mechanism": mechanism, "kafka.sasl.jaas.config": login}
    found = client_settings("a", options)
    assert found is not None
    assert found["security_protocol"] == "SASL_PLAINTEXT"
    assert (found["sasl_mechanism"], found["sasl_plain_username"], found["sasl_plain_password"]) == (mechanism, "alice", "s p=c;")


@pytest.mark.parametrize("name", ["https", ""])
def test_certificates(name: str) -> None:
    options = {"kafka.security.protocol": "SASL_SSL", **SASL, **TRUST, **KEY, "kafka.ssl.endpoint.identification.algorithm": name}
    found = client_settings("a", options)
    assert found is not None
    context = found["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname == bool(name)
    assert context.get_ca_certs()


def test_the_systems_certificates() -> None:
    found = client_settings("a", {"kafka.security.protocol": "SSL"})
    assert found is not None
    assert found["ssl_context"].check_hostname


@pytest.mark.parametrize(
    "options",
    [
        {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "GSSAPI"},
        {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "OAUTHBEARER", "kafka.sasl.jaas.config": LOGIN},
        {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"},
        {"kafka.security.protocol": "SASL_PLAINTEXT", **SASL, "kafka.sasl.jaas.config": LOGIN.replace(";", r"\";", 1)},
        {"kafka.security.protocol": "SASL_PLAINTEXT", **SASL, "kafka.sasl.client.callback.handler.class": "x"},
        {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": "/some.jks"},
        {"kafka.security.protocol": "SSL", **TRUST, "kafka.ssl.truststore.location": "/nowhere.pem"},
        {"kafka.security.protocol": "SSL", **KEY, "kafka.ssl.keystore.location": str(TLS / "client_encrypted.pem")},
        {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.certificates": "-----BEGIN"},
        {"kafka.security.protocol": "SSL", "kafka.ssl.cipher.suites": "x"},
        {"kafka.security.protocol": "OTHER"},
        {"kafka.isolation.level": "other"},
        {"kafka.interceptor.classes": "x"},
        {"kafka.client.dns.lookup": "resolve_canonical_bootstrap_servers_only"},
    ],
    ids=str,
)
def test_the_source_alone_connects_in_other_ways(options: dict[str, str]) -> None:
    assert client_settings("a", options) is None
