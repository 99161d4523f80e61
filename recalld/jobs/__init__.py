"""What runs by the clock: the schedule publishes requests, one node runs each."""
