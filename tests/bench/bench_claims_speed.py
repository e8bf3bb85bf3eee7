"""How fast claims are read, beside libcst's parser alone on the same files (aim: at most 2.0 times its time).

python tests/bench/bench_claims_speed.py [PATH...]      by default the installed equinox
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import libcst

from shapecheck.claims import read_module
from shapecheck.files import discover

ROUNDS = 3


def best(work: Callable[[bytes], object], files: Sequence[bytes]) -> float:
    """The shortest time of several rounds over all files, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for data in files:
            work(data)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*")
    paths: list[Path] = parser.parse_args().paths
    if not paths:
        spec = importlib.util.find_spec("equinox")
        if spec is None or spec.origin is None:
            parser.error("equinox is not installed: name the files to read")
        paths = [Path(spec.origin).parent]
    files = [path.read_bytes() for path in discover(paths)]
    lines = sum(data.count(b"\n") for data in files)
    ours = best(lambda data: read_module("module.py", data), files)
    theirs = best(libcst.parse_module, files)
    print(f"{len(files)} files, {lines} lines, best of {ROUNDS} rounds")
    print(f"claims                {ours:7.3f} s  {lines / ours:9.0f} lines a second")
    print(f"libcst.parse_module   {theirs:7.3f} s  {lines / theirs:9.0f} lines a second")
    print(f"ratio                 {ours / theirs:7.2f}    (aim: at most 2.0)")


if __name__ == "__main__":
    main()
