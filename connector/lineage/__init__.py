"""What OpenLineage receives about a connector: its job, its runs, and the tables and topics between which data goes. Values only."""
