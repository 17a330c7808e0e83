"""Tune: knobs on a running decode."""
