"""The bus: subjects, messages, streams, the service and its client."""
