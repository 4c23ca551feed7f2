"""OpenTelemetry: the own figures and the spans of tasks by OTLP, if the SDK is installed and its environment variables ask for it."""
