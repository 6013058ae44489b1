"""What the product knows by itself: events, rules and values. No I/O, no clock, no randomness."""
