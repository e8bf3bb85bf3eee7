"""One attempt at a call: the sizes, ties and choices that it assumes, how it is evaluated, and why it ended."""
