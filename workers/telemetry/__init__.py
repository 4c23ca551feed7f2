"""What a worker says of itself: its log and the levels of its loggers, its MBeans, and the figures for Prometheus and OpenTelemetry.

MBeans are served by Jolokia's protocol, and by JMX exporter's rules as series of ``/metrics``.
"""
