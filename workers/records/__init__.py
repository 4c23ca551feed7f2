"""Records of the connectors' topics: the latest of a topic, and how people read them. Imports no herder, and nothing of REST."""
