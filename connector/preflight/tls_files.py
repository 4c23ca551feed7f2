"""The files of a connection to PostgreSQL: one sentence for each property, which does not depend on what is wrong with its file.

Everyone who may create connectors can name files here. If REST answers and traces said which files are missing, unreadable or malformed,
these users would learn which files exist on the worker. The reason is therefore only in the worker's log.
"""

from __future__ import annotations

import re
from typing import Final

_LOG: Final = "The worker's log says what is wrong."
SENTENCES: Final = {
    "database.sslrootcert": (
        "The file of database.sslrootcert cannot be used: it must be there, be readable by the worker and hold certificates as PEM."
        f" {_LOG} Correct the path or the file, or set database.sslmode to require"
    ),
    "database.sslcert": (
        "The file of database.sslcert cannot be used: it must be there, be readable by the worker and hold a certificate as PEM."
        f" {_LOG} Correct the path or the file"
    ),
    "database.sslkey": (
        "The file of database.sslkey cannot be used: it must be there, be readable by the worker and by nobody else (chmod 600), and hold"
        f" the private key of the certificate in database.sslcert, as PEM or DER, with database.sslpassword if it is encrypted. {_LOG}"
        " Correct the path or the file"
    ),
    "driver.sslcrl": f"The file of driver.sslcrl cannot be used. {_LOG} Correct the path or the file",
    "driver.passfile": f"The file of driver.passfile cannot be used. {_LOG} Correct the path or the file",
}
"""The sentence of each property."""
PROPERTIES: Final = {name.rpartition(".")[2]: name for name in SENTENCES}
"""libpq's parameter → the property of its file."""

_FILE: Final = re.compile(r'(root certificate|private key|certificate) file "')
_PARAMETERS: Final = {"root certificate": "sslrootcert", "private key": "sslkey", "certificate": "sslcert"}


def property_of(text: str) -> str | None:
    """Return the property of the file that libpq's message ``text`` is about; None if it is about something else."""
    if "FATAL:" in text:
        return None
    # "certificate present, but not private key file" and "certificate does not match private key file" are about the key.
    named = _FILE.search(text)
    return PROPERTIES[_PARAMETERS[named[1]]] if named else None


def named_property(text: str) -> str | None:
    """Return the property whose sentence ``text`` contains; None if it contains none."""
    return next((name for name, sentence in SENTENCES.items() if sentence in text), None)
