"""What `shapecheck run --monitor` costs a jitted training step, beside the same step without it.

    python tests/bench/bench_monitor.py --rows 60

The model and the loop are those of bench_runtime.py. Both variants run in one process, in turns of N steps, of which
one is looked at; what is told is the median of the turns' ratios, with an interval of 95 %. `bare again` is a second
loop without a monitor: where its interval does not hold 1, the machine is too busy to tell. The aim is 1.05 at N=10.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_runtime import GPT, LOOP, ratio, right

from shapecheck.runtime.check_session import CheckSession
from shapecheck.runtime.runtime_options import RuntimeOptions

Step = Callable[[], Any]
_NUMBERS = itertools.count()
_SESSIONS: list[CheckSession] = []


def monitored(folder: str, sizes: tuple[int, ...], every: int, glob: str) -> Step:
    """A training step that a session of its own looks at."""
    options = RuntimeOptions(
        root=folder, shapes=False, monitor=glob, monitor_every=every, monitor_file=f"{folder}/monitor.jsonl"
    )
    session = CheckSession(options)
    session.start()
    step = bare(folder, sizes)
    session.ignore_imports()
    _SESSIONS.append(session)  # with it the monitor would go
    return step


def bare(folder: str, sizes: tuple[int, ...]) -> Step:
    """A training step of a model of its own; under a name of its own, for Equinox shares functions of one name."""
    for name in ("model", "loop"):
        sys.modules.pop(name, None)
    own = f"update_{next(_NUMBERS)}"
    Path(folder, "loop.py").write_text(LOOP.replace("update(model", f"{own}(model"), encoding="utf-8")
    importlib.invalidate_caches()
    import loop

    step: Step = loop.make(*sizes)
    return step


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60, help="turns of each variant that are compared")
    parser.add_argument("--every", type=int, default=10, metavar="N")
    parser.add_argument("--glob", default="*", help="what the monitor selects")
    parser.add_argument(
        "--sizes", type=int, nargs=4, default=(8, 64, 4, 128), metavar=("BATCH", "SEQ", "LAYERS", "WIDTH")
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.py").write_text(right(GPT.read_text(encoding="utf-8")), encoding="utf-8")
        sys.path.insert(0, folder)
        sys.dont_write_bytecode = True  # versions of a file within one second
        sizes = tuple(arguments.sizes)
        steps = {
            "bare": bare(folder, sizes),
            "bare again": bare(folder, sizes),
            "monitor": monitored(folder, sizes, arguments.every, arguments.glob),
        }
        times = {name: np.empty(arguments.rows) for name in steps}
        order, shuffled = list(steps), random.Random(0)  # noqa: S311 - no secret
        for row in range(-3, arguments.rows):  # in the first all is compiled
            shuffled.shuffle(order)
            for name in order:
                start = time.perf_counter()
                for _ in range(arguments.every):
                    steps[name]()
                if row >= 0:
                    times[name][row] = time.perf_counter() - start
        records = len(Path(folder, "monitor.jsonl").read_text(encoding="utf-8").splitlines())
    print(f"{1000 * np.median(times['bare']) / arguments.every:.2f} ms a step, {records} records of the monitor")
    for name in ("bare again", "monitor"):
        middle, low, high = ratio(times[name], times["bare"])
        print(f"{name:12} {middle:.3f}  [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
