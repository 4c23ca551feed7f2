"""The names that authors of plug-in classes import: the base classes, and the types of their arguments and results.

docs/extending.md and docs/snapshotters.md describe them. These names stay in this module when other modules change.
"""

from __future__ import annotations

from connector.converters.custom import RecordConverter
from connector.events.column_converter import ColumnConverter, ConvertibleColumn, Registration
from connector.notifications.custom_channel import NotificationChannel
from connector.notifications.notification import Notification
from connector.record.connect_record import ConnectRecord, DataError, Header
from connector.record.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT16, INT32, INT64, STRING, Field, Schema
from connector.signals.custom_action import SignalAction
from connector.signals.custom_channel import SignalChannel
from connector.signals.signal import Signal
from connector.start.snapshotter import OffsetFacts, SlotFacts, SnapshotLock, SnapshotQuery, Snapshotter
from connector.transforms.custom import RecordTransform

__all__ = [
    "BOOLEAN",
    "BYTES",
    "FLOAT32",
    "FLOAT64",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "ColumnConverter",
    "ConnectRecord",
    "ConvertibleColumn",
    "DataError",
    "Field",
    "Header",
    "Notification",
    "NotificationChannel",
    "OffsetFacts",
    "RecordConverter",
    "RecordTransform",
    "Registration",
    "Schema",
    "Signal",
    "SignalAction",
    "SignalChannel",
    "SlotFacts",
    "SnapshotLock",
    "SnapshotQuery",
    "Snapshotter",
]
