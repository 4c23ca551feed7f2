"""The system's proxies as options of Java."""

from __future__ import annotations

from workers.spark.java_proxy import proxy_options


def test_without_a_proxy_there_are_no_options() -> None:
    assert proxy_options({}, {}) == []
    assert proxy_options({}, {"no": "localhost"}) == []


def test_a_proxy_and_its_exceptions() -> None:
    given = {"https": "http://proxy:3128/", "no": "localhost, .example.com,repo.acme,10.0.0.0/8"}
    assert proxy_options({}, given) == [
        "-Dhttps.proxyHost=proxy",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|127.*|[::1]|localhost|*.localhost|example.com|*.example.com|repo.acme|*.repo.acme",
    ]


def test_the_login_of_a_proxy_is_in_no_argument() -> None:
    assert "geheim" not in " ".join(proxy_options({}, {"all": "ann:geheim@proxy"}))
    assert proxy_options({}, {"http": "http://ann:geheim@proxy"})[:2] == ["-Dhttp.proxyHost=proxy", "-Dhttp.proxyPort=80"]


def test_what_java_cannot_use() -> None:
    for address in ("socks5://proxy:1080", "http://", "http://proxy:port"):
        assert proxy_options({}, {"https": address}) == []
    assert proxy_options({}, {"https": "http://proxy", "no": "*"}) == []


def test_own_options_of_java_take_precedence() -> None:
    assert proxy_options({"JAVA_TOOL_OPTIONS": "-Dhttps.proxyHost=other"}, {"https": "http://proxy"}) == []
