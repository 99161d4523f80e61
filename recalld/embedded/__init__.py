"""The child Postgres and the child NATS server."""
