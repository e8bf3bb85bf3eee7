"""What a check costs, as ratios of medians measured in one run.

    python tests/bench/bench_check.py [--rounds 5]

Cold: a whole `shapecheck` process over one file with a 12-layer GPT, against a process that imports the same file and
evaluates the same model by bare `jax.eval_shape`. Probes: the evaluation inside one process, with the probes' code
compiled in and without it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = Path(__file__).parents[2] / "fixtures" / "gpt" / "model.py"

def wall(command: list[str], cwd: str) -> float:
    """Seconds that a command takes; what it prints is thrown away, its exit status 1 (findings) is fine."""
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=False, capture_output=True)
    return time.perf_counter() - start


def cold(rounds: int) -> None:
    """The whole command against import and bare evaluation."""
    env_python = sys.executable
    bare = Path(__file__).with_name("bare_eval.py")
    with tempfile.TemporaryDirectory() as cwd:
        ours = [env_python, "-m", "shapecheck", "check", str(MODEL), "--python", env_python]
        theirs = [env_python, str(bare), str(MODEL)]
        pairs = [(wall(ours, cwd), wall(theirs, cwd)) for _ in range(rounds + 1)][1:]
    ratios = [a / b for a, b in pairs]
    print(f"shapecheck, whole process : {statistics.median(a for a, _ in pairs):.2f} s")
    print(f"import + bare eval_shape  : {statistics.median(b for _, b in pairs):.2f} s")
    print(f"ratio (median of {rounds} pairs)  : {statistics.median(ratios):.2f}  [{min(ratios):.2f}..{max(ratios):.2f}]")


def probes(rounds: int) -> None:
    """The same evaluation with and without probes, in one process each, in turn."""
    script = Path(__file__).with_name("bare_eval.py")
    times: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(rounds):
        for mode in times:
            command = [sys.executable, str(script), str(MODEL), "--probes", mode]
            result = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
            times[mode].append(float(result.stdout.split()[-1]))
    ratios = [a / b for a, b in zip(times["on"], times["off"], strict=True)]
    print(f"evaluation with probes    : {statistics.median(times['on']):.3f} s")
    print(f"evaluation without        : {statistics.median(times['off']):.3f} s")
    print(f"ratio (median of {rounds} pairs)  : {statistics.median(ratios):.2f}  [{min(ratios):.2f}..{max(ratios):.2f}]")


def main() -> None:
    """Print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    cold(rounds)
    probes(rounds)


if __name__ == "__main__":
    main()
