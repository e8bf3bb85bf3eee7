"""What is tried for one entry: sizes, ties, ranks and choices, until it is known what its evaluations show."""
