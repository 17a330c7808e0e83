"""Search: the fastest setting."""
