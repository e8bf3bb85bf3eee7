"""Raise an error once in each function that the worker runs, and compare the rest of the report.

    python tests/bench/bench_faults.py [--every N] [--error RuntimeError] [--rows faults.tsv]

One run of a small project (three modules and a test) for each function and error: some hours for all. Printed is each
run that changed what is said of a second file, said something untrue, or kept silent about a bug of ours. With `--rows`
each run is a line of that file as soon as it has ended, and what the file has is not run again: an interrupted run goes
on where it stopped, and one with a smaller `--every` runs only what is new in it.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from faults.fault_runs import ERRORS, fault_runs, verdict


class Rows:
    """What each run came to, by function and error, kept in a file where one is given."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.found: dict[tuple[str, str], str] = {}
        if file is not None and file.exists():
            with file.open(newline="") as lines:
                for row in csv.reader(lines, delimiter="\t"):
                    if len(row) == 3:  # not one that was cut while it was written
                        self.found[row[0], row[1]] = row[2]

    def add(self, place: str, error: str, found: str) -> None:
        """Keep this, at once."""
        self.found[place, error] = found
        if self._file is not None:
            with self._file.open("a", newline="") as out:
                csv.writer(out, delimiter="\t").writerow((place, error, found))


def main() -> None:
    """Run them all, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take only every Nth function")
    parser.add_argument("--error", choices=ERRORS, action="append", help="only this error")
    parser.add_argument("--rows", type=Path, help="write each run here, and go on from what is there")
    options = parser.parse_args()
    started, counts, rows = time.monotonic(), Counter[str](), Rows(options.rows)
    with tempfile.TemporaryDirectory() as folder, fault_runs(Path(folder)) as runs:
        before = runs.run()
        places = runs.functions()[:: options.every]
        for number, place in enumerate(places, 1):
            print(f"{number} of {len(places)}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
            for error in options.error or ERRORS:
                if (str(place), error) not in rows.found:
                    try:
                        found = verdict(runs.with_fault(place, error), before, error)
                    except Exception as failure:
                        found = f"ended the run: {type(failure).__name__}: {str(failure)[-300:]}"
                    rows.add(str(place), error, found)
                found = rows.found[str(place), error]
                counts[found.partition(":")[0]] += 1
                if ":" in found:
                    print(f"{error:16} {place}: {found}", flush=True)
    for kind, count in sorted(counts.items()):
        print(f"{count:6} {kind}")
    print(f"{len(places)} functions, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
