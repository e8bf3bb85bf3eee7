"""Checks in the running program, in the user's own process and interpreter."""
