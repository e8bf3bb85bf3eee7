"""How fast claims are read, beside libcst's parser alone on the same files (aim: at most 2.5 times its time).

python tests/bench/bench_claims_speed.py [PATH...]      by default the installed equinox

Measured is the time of the processor. libcst is asked only for files with a comment that may state a shape; `dense` is
what it would cost if every file had one, so that libcst reads each of them.
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
from shapecheck.syntax import concrete_file

ROUNDS = 3
COMMENT = b"\n_x = _f(_y)  # shape: (b, t)\n"


def best(work: Callable[[bytes], object], files: Sequence[bytes]) -> float:
    """The shortest time of several rounds over all files, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for data in files:
            work(data)
        times.append(time.process_time() - start)
    return min(times)


def parsed_files(files: Sequence[bytes]) -> int:
    """How many of the files libcst is asked for."""
    counts = 0
    original = concrete_file.parse_concrete

    def counting(*arguments: object) -> object:
        nonlocal counts
        counts += 1
        return original(*arguments)  # type: ignore[arg-type]

    concrete_file.parse_concrete = counting  # type: ignore[assignment]
    for data in files:
        read_module("module.py", data)
    concrete_file.parse_concrete = original
    return counts


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
    count = parsed_files(files)
    ours = best(lambda data: read_module("module.py", data), files)
    dense = best(lambda data: read_module("module.py", data), [data + COMMENT for data in files])
    theirs = best(libcst.parse_module, files)
    print(f"{len(files)} files, {lines} lines, best of {ROUNDS} rounds; libcst is asked for {count} files")
    print(f"claims                {ours:7.3f} s  {lines / ours:9.0f} lines a second")
    print(f"claims, dense         {dense:7.3f} s  {lines / dense:9.0f} lines a second")
    print(f"libcst.parse_module   {theirs:7.3f} s  {lines / theirs:9.0f} lines a second")
    print(f"ratio                 {ours / theirs:7.2f}    (aim: at most 2.5)")
    print(f"ratio, dense          {dense / theirs:7.2f}")


if __name__ == "__main__":
    main()
