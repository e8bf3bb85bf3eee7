"""How well a run splits over 1 to 256 machines, by the durations that real runs have recorded.

    python tests/bench/simulate_shards.py RUN.json [--record FOLDER] [--fixed SECONDS] [--times N]

RUN.json has the seconds of each test and entry by its slot; `--record` collects them from a cache folder first. The
splitter is the one of `--shard`. A shard takes the `fixed` seconds that each spends on starting JAX, importing all and
collecting all tests, then its part of the tests, then of the entries. Efficiency is the time of one machine over what
N machines take together. It is shown for a split by known durations, and for one by count, as a first run has it.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from shapecheck.worker.messages.wire import load
from shapecheck.worker.shard_split import split_keys

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def recorded(folder: Path) -> dict[str, float]:
    """The durations that a cache folder knows, of all ways to call the checker."""
    found: dict[str, float] = {}
    for file in folder.glob("*.shapecheck"):
        header, _, body = file.read_bytes().partition(b"\n")
        text = (zlib.decompress(body) if b" zlib " in header else body).decode("utf-8", "surrogatepass")
        try:
            value = load(text)
        except (ValueError, KeyError, TypeError):  # something else than durations
            continue
        if isinstance(value, dict) and value and all(isinstance(each, float) for each in value.values()):
            found.update({str(key): each for key, each in value.items()})
    return found


def longest(durations: Mapping[str, float], known: Mapping[str, float], count: int) -> float:
    """The seconds of the shard that takes longest, for its part of the tests and of the entries."""
    tests = [key for key in durations if key.startswith("test:")]
    entries = [key for key in durations if key.startswith("entry:")]
    parts = zip(split_keys(tests, known, count), split_keys(entries, known, count), strict=True)
    return max(sum(durations[key] for key in mine | others) for mine, others in parts)


def table(durations: Mapping[str, float], fixed: float) -> list[str]:
    """The rows of a Markdown table."""
    total = sum(durations.values())
    noise = random.Random(0)  # noqa: S311  # a simulation
    known = {key: seconds * noise.uniform(0.8, 1.25) for key, seconds in durations.items()}  # another run's
    rows = ["| shards | wall s | speed-up | efficiency | work alone | split by count |", "|---:" * 6 + "|"]
    one = fixed + total
    for count in COUNTS:
        part, blind = longest(durations, known, count), longest(durations, {}, count)
        wall = fixed + part
        rows.append(
            f"| {count} | {wall:.1f} | {one / wall:.1f} | {one / wall / count:.0%} | {total / part / count:.0%} | "
            f"{one / (fixed + blind) / count:.0%} |"
        )
    return rows


def words(durations: Mapping[str, float], fixed: float) -> str:
    """What the table is of."""
    values: Sequence[float] = sorted(durations.values())
    tests = sum(key.startswith("test:") for key in durations)
    return (
        f"{tests} tests and {len(values) - tests} entries, {sum(values):.0f} s of work: median "
        f"{statistics.median(values):.2f} s, longest {values[-1]:.1f} s; {fixed:.0f} s that each shard spends first."
    )


def main() -> None:
    """Print the table, or record durations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the JSON of a run's durations")
    parser.add_argument("--record", type=Path, help="a cache folder to take them from, first")
    parser.add_argument("--fixed", type=float, default=10.0, help="seconds that each shard spends first")
    parser.add_argument("--times", type=int, default=1, help="as of a code base that many times as large")
    given = parser.parse_args()
    if given.record is not None:
        given.run.write_text(json.dumps(recorded(given.record), indent=0, sort_keys=True))
    durations = {
        f"{key} {turn}": seconds
        for turn in range(given.times)
        for key, seconds in json.loads(given.run.read_text()).items()
    }
    print(words(durations, given.fixed), "", *table(durations, given.fixed), sep="\n")


if __name__ == "__main__":
    main()
