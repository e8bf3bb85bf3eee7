"""A large code base on one machine, in shards, and on a Dask cluster: the same JSON, and what each takes.

    python tests/bench/bench_monorepo.py --size 5000 [--parts whole,shards,dask,kill]
        [--copies PATH...] [--suites PATH...] [--into FOLDER]

The code base is made of copies of fixtures, every fifth with the mistakes of its `bad.py`, each with tests of its own
(--size in all); `--copies` adds copies of packages, such as those of optax and rlax that are installed, and `--suites`
folders of tests of theirs. `whole` and `dask` have two workers each; `kill` ends one Dask worker by SIGKILL half-way.
Nothing is cached.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXPECTED = re.compile(r"[ \t]*# [EU]: .+$", re.MULTILINE)
TESTS_EACH = 25
SHARDS = 4

CALLS = {
    "attention_einsum": """\
    layer = m.MultiHeadAttention(4 * size, 4, key=jax.random.key(0))
    assert layer(jnp.ones((3, size, 4 * size))).shape == (3, size, 4 * size)
    m.attention_entropy(jnp.ones((3, 4, size, size)))""",
    "gae": """\
    rewards = jnp.ones((size, 4))
    m.gae(rewards, jnp.ones((size + 1, 4)), rewards > 2)
    m.normalise(m.discounted_returns(rewards))""",
    "lstm": """\
    params = m.init(jax.random.key(0), size, 7)
    m.lstm(params.w_h, params.w_x, params.bias, jnp.ones((5, 3, size)))""",
    "metrics": """\
    labels = jnp.zeros(size, int)
    m.accuracy(jnp.ones((size, 9)), labels)
    m.confusion_matrix(labels, labels, 9)
    m.iou(jnp.ones((size, 8, 6), bool), jnp.ones((3, 8, 6), bool))""",
    "mlp": """\
    model = m.MLP(size, 11, 3, key=jax.random.key(0))
    assert jax.vmap(model)(jnp.ones((5, size))).shape == (5, 3)
    m.mean_squared_error(jnp.ones((size, 3)), jnp.ones((size, 3)))""",
    "rotary": """\
    attention = m.RotaryAttention(6, 2, 2 * size, key=jax.random.key(0))
    attention(jnp.ones((5, 6)))""",
    "vtrace": """\
    steps = jnp.ones((size, 3))
    m.vtrace(steps, steps, steps, steps, jnp.ones(3))
    m.policy_gradient_loss(jnp.ones((size, 3, 5)), jnp.zeros((size, 3), int), steps)""",
}


def write_project(folder: Path, size: int, copies: Sequence[Path], suites: Sequence[Path]) -> None:
    """A package with as many tests, beside copies of packages and of folders of tests."""
    package, tests = folder / "src" / "mono", folder / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    (folder / "pyproject.toml").write_text("[tool.shapecheck]\n")
    (package / "__init__.py").write_text("")
    names = list(CALLS)
    for number, begin in enumerate(range(0, size, TESTS_EACH)):
        fixture = names[number % len(names)]
        source = FIXTURES / fixture / ("bad.py" if number % 5 == 4 else "good.py")
        module = f"{fixture}_{number:04}"
        (package / f"{module}.py").write_text(EXPECTED.sub("", source.read_text()))
        (tests / f"test_{module}.py").write_text(
            "import jax\nimport jax.numpy as jnp\nimport pytest\n\n"
            f"import mono.{module} as m\n\n\n"
            f'@pytest.mark.parametrize("size", range(2, {2 + min(TESTS_EACH, size - begin)}))\n'
            f"def test_{fixture}(size):\n{CALLS[fixture]}\n"
        )
    bytecode = shutil.ignore_patterns("__pycache__")
    for path in copies:
        shutil.copytree(path, folder / "src" / path.name, ignore=bytecode)
    for path in suites:
        shutil.copytree(path, tests / f"{path.name}_tests", ignore=bytecode)


def shapecheck(folder: Path, *arguments: str, meanwhile: Callable[[int], None] | None = None) -> float:
    """Seconds that a run takes; 1 is the exit code of one with findings."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "shapecheck", *arguments]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    if meanwhile is not None:
        meanwhile(process.pid)
    _, errors = process.communicate()
    if process.returncode not in (0, 1):
        sys.exit(f"{' '.join(arguments)} ended with {process.returncode}:\n{errors}")
    return time.perf_counter() - start


def check(folder: Path, output: str, *options: str, meanwhile: Callable[[int], None] | None = None) -> float:
    """A check without a limit of time for the whole."""
    limits = ("--no-cache", "--budget", "100000", "--test-timeout", "120", "--timeout", "600")
    arguments = ("check", "src", *limits, "--output-file", f"../{output}", *options)
    return shapecheck(folder, *arguments, meanwhile=meanwhile)


def kill_worker_after(seconds: float) -> Callable[[int], None]:
    """End one of the Dask workers that a run has started."""

    def kill(run: int) -> None:
        time.sleep(seconds)
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == run and b"spawn_main" in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
                    print(f"killed a Dask worker after {seconds:.0f} s")
                    return
            except (OSError, ValueError):
                continue
        print("there was no Dask worker to kill")

    return kill


def main() -> None:
    """Run what was asked for, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=5000, help="tests")
    parser.add_argument("--parts", default="whole,shards,dask,kill")
    parser.add_argument("--copies", nargs="*", type=Path, default=[], help="folders of packages")
    parser.add_argument("--suites", nargs="*", type=Path, default=[], help="folders of tests")
    parser.add_argument("--into", type=Path, help="an empty folder that keeps the code base and all reports")
    given = parser.parse_args()
    parts = given.parts.split(",")
    with contextlib.ExitStack() as stack:
        top = given.into or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monorepo-")))
        folder = top / "checkout"
        write_project(folder, given.size, given.copies, given.suites)
        modules = sum(1 for _ in (folder / "src").rglob("*.py"))
        print(f"{given.size} tests, {modules} modules, on {os.cpu_count()} cores")
        times: dict[str, float] = {}
        if "whole" in parts:
            times["whole"] = check(folder, "whole.json", "--output-format", "json", "--jobs", "2")
            print(f"--jobs 2               {times['whole']:8.1f} s", flush=True)
        if "shards" in parts:
            for number in range(1, SHARDS + 1):
                options = ("--output-format", "blob", "--jobs", "2", "--shard", f"{number}/{SHARDS}")
                seconds = check(folder, f"r{number}.blob", *options)
                print(f"--shard {number}/{SHARDS}            {seconds:8.1f} s", flush=True)
            blobs = [f"../r{number}.blob" for number in range(1, SHARDS + 1)]
            output = ("--output-format", "json", "--output-file", "../shards.json")
            print(f"merge                  {shapecheck(folder, 'merge', *blobs, *output):8.1f} s", flush=True)
        cluster = ("--output-format", "json", "--executor", "dask://local:2")
        if "dask" in parts:
            times["dask"] = check(folder, "dask.json", *cluster)
            print(f"--executor dask, 2     {times['dask']:8.1f} s", flush=True)
        if "kill" in parts:
            half = times.get("dask", times.get("whole", 60.0)) / 2
            seconds = check(folder, "kill.json", *cluster, meanwhile=kill_worker_after(half))
            print(f"the same, one killed   {seconds:8.1f} s", flush=True)
        if {"whole", "dask"} <= times.keys():
            print(f"Dask against --jobs 2: {times['dask'] / times['whole']:.2f}")
        first, *others = sorted(top.glob("*.json"))
        for other in others:
            same = "the same bytes" if first.read_bytes() == other.read_bytes() else "NOT THE SAME"
            print(f"{first.name} and {other.name}: {same} ({other.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
