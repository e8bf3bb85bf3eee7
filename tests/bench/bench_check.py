"""What a check costs, as ratios of medians measured in one run.

    python tests/bench/bench_check.py [--rounds 5]

Cold: a whole `shapecheck` process over one file with a 12-layer GPT, against a process that imports the same file and
evaluates the same model by bare `jax.eval_shape`; once with the 12 layers pinned, once as users run it (synthesis takes
2 layers). Probes: the evaluation inside one process, with the probes' code
compiled in and without it.
"""

from __future__ import annotations

import argparse
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


def cold(rounds: int, pinned: bool) -> None:
    """The whole command against import and bare evaluation; `pinned` makes it evaluate all 12 layers as well."""
    bare = [sys.executable, str(Path(__file__).with_name("bare_eval.py")), str(MODEL)]
    with tempfile.TemporaryDirectory() as cwd:
        config = Path(cwd) / "sizes.toml"
        config.write_text(f"[tool.shapecheck.sizes]\n{'n_layer = 12' if pinned else ''}\n")
        ours = [sys.executable, "-m", "shapecheck", "check", str(MODEL), "--config", str(config)]
        ours += ["--python", sys.executable, "--no-tests", "--no-cache"]  # this project has tests of its own
        pairs = [(wall(ours, cwd), wall(bare, cwd)) for _ in range(rounds + 1)][1:]
    layers = "12 layers" if pinned else "layers as it chooses"
    report(f"shapecheck, {layers}", "import + bare eval_shape", pairs)


def probes(rounds: int) -> None:
    """The same evaluation with and without probes, in one process each, in turn."""
    script = Path(__file__).with_name("bare_eval.py")

    def seconds(mode: str) -> float:
        command = [sys.executable, str(script), str(MODEL), "--probes", mode]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])

    report("evaluation with probes", "evaluation without", [(seconds("on"), seconds("off")) for _ in range(rounds)])


def report(ours: str, theirs: str, pairs: list[tuple[float, float]]) -> None:
    """Both medians, and the ratio of each pair."""
    ratios = [a / b for a, b in pairs]
    print(f"{ours:<32}: {statistics.median(a for a, _ in pairs):.3f} s")
    print(f"{theirs:<32}: {statistics.median(b for _, b in pairs):.3f} s")
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"ratio, median of {len(pairs)} pairs        : {middle:.2f}  [{low:.2f}..{high:.2f}]")


def main() -> None:
    """Print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    cold(rounds, pinned=True)
    cold(rounds, pinned=False)
    probes(rounds)


if __name__ == "__main__":
    main()
