"""What the code does: entries, sizes, probes and abstract evaluation, in a worker process of the user's interpreter.

`session/` answers the parent, `inputs/` makes arguments and models, `search/` chooses their sizes, `probes/` is the
user's code as it runs, `stages/` the steps of a model, which `frameworks/` show, `suites/` the user's tests and
scripts. All runs on Python 3.10 or newer, with nothing beside the standard library, JAX and whatever the user's
environment has.
"""
