"""Reads secrets from servers: the API server of Kubernetes, HashiCorp Vault and AWS Secrets Manager."""
