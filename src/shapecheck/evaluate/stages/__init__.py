"""The steps of a model while it is evaluated or runs: recorded, placed in the model, counted and compared."""
