"""Receives signals and performs them (Debezium documentation, "Sending signals to a Debezium connector")."""
