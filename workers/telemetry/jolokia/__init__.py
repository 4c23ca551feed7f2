"""Jolokia's protocol: JMX over HTTP and JSON, for checks and tools that read MBeans. It answers as the agent 2.2 does."""
