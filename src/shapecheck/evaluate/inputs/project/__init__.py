"""What the user's own code has to run, and to run it with: entries, examples, calls, functions that make arguments."""
