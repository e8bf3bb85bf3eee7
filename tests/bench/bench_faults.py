"""Raise an error once in each function that the worker runs, and compare the rest of the report.

    python tests/bench/bench_faults.py [--every N] [--error RuntimeError]

One run of a small project (three modules and a test) for each function and error: about half an hour for all. Printed
is each run that changed what is said of a second file, said something untrue, or kept silent about a bug of ours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from faults.fault_runs import ERRORS, fault_runs, verdict


def main() -> None:
    """Run them all, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take only every Nth function")
    parser.add_argument("--error", choices=ERRORS, action="append", help="only this error")
    options = parser.parse_args()
    started, counts = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, fault_runs(Path(folder)) as runs:
        before = runs.run()
        places = runs.functions()[:: options.every]
        for number, place in enumerate(places, 1):
            print(f"{number} of {len(places)}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
            for error in options.error or ERRORS:
                try:
                    found = verdict(runs.with_fault(place, error), before, error)
                except Exception as failure:
                    found = f"ended the run: {type(failure).__name__}: {str(failure)[-300:]}"
                counts[found.partition(":")[0]] += 1
                if ":" in found:
                    print(f"{error:16} {place}: {found}", flush=True)
    for kind, count in sorted(counts.items()):
        print(f"{count:6} {kind}")
    print(f"{len(places)} functions, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
