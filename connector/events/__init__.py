"""From messages to change events: the stream's state machine, changes, compiled encoders, the envelope.

An UPDATE may lack unchanged TOAST values: :mod:`connector.events.encoders` writes the placeholder of :mod:`connector.types.toast` in their
place, and :mod:`connector.events.reselect` decides which of them are read again from the table. Imports :mod:`connector.delivery` and the
rooms below it.
"""
