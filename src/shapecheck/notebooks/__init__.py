"""Checks in an IPython session: cells, and what they share."""
