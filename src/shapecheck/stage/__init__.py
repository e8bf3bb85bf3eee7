"""What the code does: entries, sizes, probes and abstract evaluation, in a worker process of the user's interpreter.

Everything here but `client` runs in the worker: on Python 3.10 or newer, with nothing beside the standard library,
JAX and whatever the user's environment has.
"""
