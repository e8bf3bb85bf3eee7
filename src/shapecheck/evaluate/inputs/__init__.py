"""What to run and with which sizes: entries, made-up arguments, and the search for an assignment that evaluates."""
