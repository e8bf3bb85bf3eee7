"""Two models on the same inputs: what their stages give, and how that differs."""
