"""Check packages by their own tests, and print one Markdown table of how far that reaches and how long it takes.

    python tests/bench/user_suites.py equinox=CHECKOUT/equinox rlax optax diffrax=CHECKOUT/diffrax

Each argument is a package that is installed with its tests, or `name=folder`, whose project has tests of its own.
`--python` names the interpreter that has them all. Everything is copied to a temporary folder first. Cold, unchanged
and edited (a statement put into a function of a leaf module) are one run each, with
the default budget unless `--budget` says otherwise; the last column is the same suite under pytest, for real.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"
HEAD = (
    "| package | tests | to the end | stopped | skipped | functions reached | with claims | annotated "
    "| claims verified (all sizes) | unreached | findings | cold | unchanged | one edit | pytest |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)
IGNORED = shutil.ignore_patterns(".git", "__pycache__", ".shapecheck_cache", "*.pyc", "docs", "examples")


def copied(argument: str, folder: Path) -> tuple[str, Path, Path]:
    """The package's name, the folder to run in, and the folder to check, in a copy."""
    name, _, path = argument.partition("=")
    if path:
        package = Path(path).resolve()
        project = next(p for p in (package, *package.parents) if (p / "pyproject.toml").is_file())
        shutil.copytree(project, folder / name, ignore=IGNORED, symlinks=True)
        return name, folder / name, folder / name / package.relative_to(project)
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{name} is not installed here")
    shutil.copytree(spec.submodule_search_locations[0], folder / name / name, ignore=IGNORED)
    (folder / name / "pyproject.toml").touch()
    return name, folder / name, folder / name / name


def check(where: Path, what: Path, python: str, budget: float) -> tuple[dict[str, Any], float]:
    """The report of one run, and its wall time in seconds."""
    command = [sys.executable, "-m", "shapecheck", str(what), "--output-format", "json"]
    start = time.perf_counter()
    options = ["--python", python, "--budget", str(budget)]
    done = subprocess.run([*command, *options], cwd=where, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if not done.stdout.strip():
        raise SystemExit(f"{what} gave no report:\n{done.stderr}")
    return json.loads(done.stdout), seconds


def edit(package: Path) -> str:
    """Put a statement into a function of a leaf: the module that the fewest others name, `__init__` files aside."""
    files = sorted(f for f in package.rglob("*.py") if "test" not in f.name and f.name != "__init__.py")
    texts = {file: file.read_text("utf-8") for file in files}
    named = {
        f: sum(re.search(rf"\b{f.stem}\b", text) is not None for o, text in texts.items() if o != f) for f in files
    }
    for file in sorted(files, key=lambda f: named[f]):
        lines = texts[file].splitlines(keepends=True)
        for number, line in enumerate(lines):
            if line.startswith("    return "):
                lines.insert(number, "    None\n")
                file.write_text("".join(lines), "utf-8")
                return file.name
    raise SystemExit(f"{package} has no function to edit")


def for_real(where: Path, python: str, patience: float) -> str:
    """How long pytest takes for the suite of the project in `where`."""
    start = time.perf_counter()
    suite = [
        python,
        "-m",
        "pytest",
        "-q",
        "--maxfail=10000",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
    ]
    if not any((where / name).is_dir() for name in ("test", "tests")):
        suite += sorted(map(str, where.rglob("*_test.py")))
    try:
        environment = {**os.environ, "PYTHONPATH": str(where / "src")}  # for projects that are not installed
        subprocess.run(suite, cwd=where, capture_output=True, check=False, timeout=patience, env=environment)
    except subprocess.TimeoutExpired:
        return f"> {patience:.0f} s"
    return f"{time.perf_counter() - start:.0f} s"


def row(argument: str, python: str, budget: float, patience: float) -> str:
    """One line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        name, where, what = copied(argument, Path(folder))
        report, cold = check(where, what, python, budget)
        later = ["goes on", "goes on"]  # where the budget has cut something, the next run goes on
        if not (report["tests"]["cut"] or any("--budget" in entry["reason"] for entry in report["entries"])):
            again, warm = check(where, what, python, budget)
            assert again == report, "the unchanged run told something else"
            edit(what)
            later = [f"{warm:.2f} s", f"{check(where, what, python, budget)[1]:.1f} s"]
        real = for_real(where, python, patience) if patience else ""
    tests, claims, functions = report["tests"], report["claims"], report["functions"]
    for finding in report["findings"]:
        if finding["severity"] != "note":
            print(f"  {finding['path']}:{finding['line']}: {finding['code']} {finding['message']}", file=sys.stderr)
    cut = f" ({tests['cut']} cut)" if tests["cut"] else ""
    cells = [
        name,
        tests["collected"],
        f"{tests['ok']}{cut}",
        tests["stopped"],
        tests["skipped"],
        f"{functions['reached']} of {functions['total']}",
        f"{functions['claimed_reached']} of {functions['claimed']}",
        f"{functions['annotated_reached']} of {functions['annotated']}",
        f"{claims['verified']} ({claims['verified_for_all_sizes']}) of {claims['total']}",
        claims["unreached"],
        sum(f["severity"] != "note" for f in report["findings"]),
        f"{cold:.0f} s",
        *later,
        real,
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Print the table for the packages named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument(
        "--patience", type=float, default=600.0, help="seconds after which pytest is stopped; 0: not run"
    )
    parser.add_argument("--readme", action="store_true", help="add the lines to the README's table")
    arguments = parser.parse_args()
    print(HEAD)
    lines = {}
    for package in arguments.packages:
        lines[package.partition("=")[0]] = line = row(package, arguments.python, arguments.budget, arguments.patience)
        print(line, flush=True)
    if arguments.readme:
        before, _, rest = README.read_text("utf-8").partition("<!-- suites -->\n")
        table, _, after = rest.partition("<!-- end of suites -->")
        kept = {text.split("|")[1].strip(): text for text in table.splitlines()[2:]}
        if not arguments.patience:  # what was measured before
            lines = {
                n: line[:-1].rstrip() + kept[n].rpartition("|")[0].rpartition("|")[2] + "|" for n, line in lines.items()
            }
        table = "\n".join([HEAD, *{**kept, **lines}.values()])
        README.write_text(f"{before}<!-- suites -->\n{table}\n<!-- end of suites -->{after}", "utf-8")


if __name__ == "__main__":
    main()
