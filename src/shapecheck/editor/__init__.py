"""The language server: what a check knows, while its user types."""
