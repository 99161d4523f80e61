"""What tests share: real servers and small helpers, no test logic."""
