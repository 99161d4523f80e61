"""What can be left out: found by entry points, imported only when configured."""
