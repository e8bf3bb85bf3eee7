"""Templates and comparisons in the user's own process, of what the user holds in hand."""
