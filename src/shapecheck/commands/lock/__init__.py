"""Templates that are kept in the project: where the lock lies, what is evaluated for it, and what has changed."""
