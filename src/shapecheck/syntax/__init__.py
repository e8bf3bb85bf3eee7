"""Concrete syntax: the text of a file, its scopes, and what tools have put into it."""
