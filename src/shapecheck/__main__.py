"""`python -m shapecheck`."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Python looks in the working directory first, where a file of the user's may be called as a module of Python's is.
    if sys.path[:1] in ([""], [os.getcwd()]):
        del sys.path[0]
    from shapecheck.cli import main

    sys.exit(main())
