"""libpq's messages about failed connections, and the findings for them. The messages come from libpq 17 and 18."""

from __future__ import annotations

from connector.preflight.connection import refused, server_words
from connector.preflight.finding import LEAD
from tests.support.each_case import each_case

AT = 'connection failed: connection to server at "10.0.0.1", port 5432 failed: '


@each_case(
    ("findings", "key", "text"),
    [
        (
            f"{AT}Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?",
            "database.hostname",
            (
                "Connection to db:5432 refused. Check that the hostname and port are correct and that the postmaster is accepting TCP/IP"
                " connections."
            ),
        ),
        (f"{AT}server does not support SSL, but SSL was required", "database.sslmode", "The server does not support SSL. "),
        (
            f'{AT}root certificate file "/no/such" does not exist\nEither provide the file, use the system\'s trusted roots',
            "database.sslrootcert",
            "The file of database.sslrootcert cannot be used: ",
        ),
        (
            f'{AT}could not read root certificate file "/a b.crt": no certificate or crl found',
            "database.sslrootcert",
            "The file of database.sslrootcert cannot be used: ",
        ),
        (f"{AT}SSL error: certificate verify failed", "database.sslrootcert", "SSL error: no authority of database.sslrootcert signed"),
        (
            f'{AT}server certificate for "elsewhere.example" does not match host name "10.0.0.1"',
            "database.sslmode",
            "The hostname 10.0.0.1 could not be verified: the server's certificate is for elsewhere.example. ",
        ),
        (
            f'{AT}server certificate for "a" (and 2 other names) does not match host name "10.0.0.1"',
            "database.sslmode",
            "The hostname 10.0.0.1 could not be verified: ",
        ),
        (f'{AT}certificate present, but not private key file "/no/key"', "database.sslkey", "The file of database.sslkey cannot be used: "),
        (
            (
                f'{AT}private key file "/k" has group or world access; file must have permissions u=rw (0600) or less if owned by the'
                " current user, or permissions u=rw,g=r (0640) or less if owned by root"
            ),
            "database.sslkey",
            "The file of database.sslkey cannot be used: ",
        ),
        (f'{AT}could not load private key file "/k": bad decrypt', "database.sslkey", "The file of database.sslkey cannot be used: "),
        (
            f'{AT}certificate does not match private key file "/k": mismatch',
            "database.sslkey",
            "The file of database.sslkey cannot be used: ",
        ),
        (f'{AT}could not read certificate file "/c": no start line', "database.sslcert", "The file of database.sslcert cannot be used: "),
        (
            f"{AT}FATAL:  unsupported startup parameter: options",
            "database.hostname",
            "FATAL: unsupported startup parameter: options. A connection pooler answers at db:5432",
        ),
        (f'{AT}FATAL:  database "nodb" does not exist', "database.hostname", 'FATAL: database "nodb" does not exist'),
        ("could not translate host name", "database.hostname", "The connection attempt failed. (could not translate host name)"),
        ("", "database.hostname", "The connection attempt failed. (OperationalError)"),
    ],
)
def test_each_refusal_is_on_the_property_that_it_is_about(findings: str, key: str, text: str) -> None:
    finding = refused(findings, "db", 5432, "OperationalError")
    assert (finding.key, finding.warning) == (key, False)
    assert finding.text.startswith(LEAD + text)
    assert "\n" not in finding.text


def test_the_servers_own_words() -> None:
    assert server_words(f"{AT}FATAL:  permission denied to start WAL sender\nDETAIL:  more") == "permission denied to start WAL sender"
    assert server_words("broken pipe\nmore") == "broken pipe"
    assert server_words("") == "no reason given"
