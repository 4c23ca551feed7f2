"""Positions: what was sent, acknowledged, stored and confirmed. Imports :mod:`connector.wire` and the rooms below it."""
