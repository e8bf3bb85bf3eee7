"""`python -m shapecheck`."""

from __future__ import annotations

import sys

from shapecheck.cli import main

if __name__ == "__main__":
    sys.exit(main())
