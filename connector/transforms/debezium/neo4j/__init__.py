"""``Neo4jCudConverter``: change events as commands in the CUD format of the Neo4j sink connector."""
