"""Pieces that several tabs show."""
