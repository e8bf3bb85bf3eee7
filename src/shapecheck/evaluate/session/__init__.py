"""The two processes: the parent that supervises, and the worker in the user's interpreter."""
