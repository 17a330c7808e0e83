"""Compare: methods and settings race."""
