"""Concrete syntax: comments and what they hang on, and the names that code binds.

libcst is loaded by the modules that need it, and these are imported only for files that ask for it.
"""
