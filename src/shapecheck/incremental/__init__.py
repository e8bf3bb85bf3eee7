"""What earlier runs found out, kept in a folder that anyone may delete at any time.

`cache_store` keeps texts under names. Whether what a text was computed from is still the same is decided by
`content_hash` for whole files, and by a `dependency_graph` of their summaries for the names that a piece of code can
reach.
"""
