"""Clusters of Spark (YARN, Kubernetes) and an object store on this machine, and what a mirror goes through on a cluster."""
