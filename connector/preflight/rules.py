"""The table of all rules, in the order of the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from connector.preflight import publication_rules as publication
from connector.preflight import server, slot, statements, tables
from connector.preflight.facts import Facts
from connector.preflight.finding import LEAD, Finding
from connector.preflight.requirements import Wish

_ERROR: Final = False
_WARNING: Final = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. ``check`` yields a text for each finding about property ``key``. Errors begin with Debezium's lead."""

    key: str
    warning: bool
    check: Callable[[Wish, Facts], Iterable[str]]


RULES: Final = (
    Rule("database.hostname", _ERROR, server.too_old),
    Rule("database.hostname", _ERROR, server.wal_level),
    Rule("database.hostname", _ERROR, server.standby),
    Rule("database.hostname", _ERROR, server.pooler_without_replication),
    Rule("database.hostname", _WARNING, server.pooler),
    Rule("database.hostname", _WARNING, server.no_replication_connection),
    Rule("database.user", _ERROR, server.no_replication),
    Rule("plugin.name", _ERROR, server.plugin_missing),
    Rule("slot.name", _ERROR, slot.foreign),
    Rule("slot.name", _ERROR, slot.lost),
    Rule("slot.name", _WARNING, slot.losing),
    Rule("slot.name", _WARNING, slot.active),
    Rule("slot.name", _WARNING, server.no_slot_free),
    Rule("publication.name", _ERROR, publication.missing),
    Rule("publication.autocreate.mode", _ERROR, publication.for_all_tables),
    Rule("publication.name", _ERROR, publication.on_standby),
    Rule("publication.autocreate.mode", _WARNING, publication.may_not_be_made),
    Rule("publication.autocreate.mode", _WARNING, publication.may_not_be_changed),
    Rule("publication.autocreate.mode", _WARNING, publication.schemas_lost),
    Rule("publication.name", _WARNING, publication.operations_left_out),
    Rule("publication.name", _WARNING, publication.tables_left_out),
    Rule("table.include.list", _WARNING, tables.nothing_matches),
    Rule("table.include.list", _WARNING, tables.entries_without_table),
    Rule("database.user", _WARNING, tables.schemas_out_of_reach),
    Rule("database.user", _WARNING, tables.unreadable),
    Rule("database.user", _WARNING, tables.policed),
    Rule("replica.identity.autoset.values", _WARNING, tables.without_identity),
    Rule("table.include.list", _WARNING, tables.unlogged),
    Rule("signal.data.collection", _WARNING, statements.signal_table_missing),
    Rule("signal.data.collection", _WARNING, statements.signal_table_unfit),
    Rule("signal.data.collection", _WARNING, statements.signals_on_standby),
    Rule("heartbeat.action.query", _WARNING, statements.heartbeat_fails),
    Rule("heartbeat.action.query", _WARNING, statements.heartbeat_idle),
    Rule("heartbeat.action.query", _WARNING, statements.heartbeat_on_standby),
)


_OF_PUBLICATION: Final = (publication.missing, publication.for_all_tables, publication.on_standby)


def judge(wish: Wish, facts: Facts) -> list[Finding]:
    """Return all findings. A finding is an error only if it is certain that the task would fail.

    If a user's snapshotter decides whether changes are read, only the finding that the server is too old is certain. If the server's
    plugins decide whether a publication is used, no finding about the publication is certain.
    """
    wish.selection.learn(facts.tables)
    # If the server is too old, no other facts were read.
    old = facts.server.version < server.OLDEST
    found = []
    for rule in RULES if not old else RULES[:1]:
        sure = old or (wish.certain and (wish.plugin(facts) is not None or rule.check not in _OF_PUBLICATION))
        for text in rule.check(wish, facts):
            warning = rule.warning or not sure
            reference = rule.check is server.wal_level and wish.config.emulation.checks_wal_level and not warning
            found.append(Finding(rule.key, text if warning else LEAD + text, warning, reference))
    return found + [Finding(rule.key, rule.text) for rule in tables.idle(wish, facts)]
