"""What the code does: entries, sizes, probes and abstract evaluation, in a worker process of the user's interpreter.

`process/` is the two processes and their talk, `search/` what to run and with which sizes, `observe/` the user's code
as it runs. All but the parent's side (`process.client`, `supervisor` and `interpreter`) runs in the worker: on Python
3.10 or newer, with nothing beside the standard library, JAX and whatever the user's environment has.
"""
