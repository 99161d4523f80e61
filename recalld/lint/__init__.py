"""What is wrong with a memory as it lies on disk: found without daemon, database or model."""
