"""PostgreSQL and Kafka on this machine without installation, and a demo that uses them."""
