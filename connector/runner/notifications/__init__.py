"""Sends notifications (Debezium documentation, "Notifications")."""
