"""What to run: entries, and the arguments and models that are made up for them."""
