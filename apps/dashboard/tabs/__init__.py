"""The tabs: one view each, with what only it shows beside it."""
