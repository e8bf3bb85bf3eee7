"""Run shapecheck and jaxtyc over the same installed packages, and print one Markdown table.

    python tests/bench/compare_peers.py equinox diffrax optimistix lineax

Both run as a user would run them, as whole processes, in the environment of this interpreter (`pip install jaxtyc`
and the packages first). The wall times are of one run each. With `--readme` the table goes into the README as well.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
HEAD = (
    "| package | shapecheck: claims | verified (for all sizes) | mismatched | tentative | unreached | findings | s "
    "| jaxtyc: functions checked | errors | s |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def folder(package: str) -> Path:
    """Where the installed package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed here")
    return Path(spec.submodule_search_locations[0])


def timed(command: list[str], cwd: str) -> tuple[str, float]:
    """What a command prints on stdout, and its wall time in seconds."""
    start = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if not result.stdout.strip():
        raise SystemExit(f"{' '.join(command)} printed nothing:\n{result.stderr}")
    return result.stdout, time.perf_counter() - start


def row(package: str, cwd: str) -> str:
    """One line of the table. Findings are errors and warnings; notes are not counted."""
    path = str(folder(package))
    ours = [sys.executable, "-m", "shapecheck", "check", path, "--output-format", "json", "--python", sys.executable]
    text, seconds = timed(ours, cwd)
    report = json.loads(text)
    claims = report["claims"]
    findings = sum(f["severity"] != "note" for f in report["findings"])
    theirs, their_seconds = timed([str(Path(sys.executable).with_name("jaxtyc")), "check", path], cwd)
    checked = re.search(r"(\d+) function", theirs)
    errors = re.search(r"Found (\d+) error", theirs)
    cells = [
        package,
        claims["total"],
        f"{claims['verified']} ({claims['verified_for_all_sizes']})",
        claims["mismatched"],
        claims["tentative"],
        claims["unreached"],
        findings,
        f"{seconds:.1f}",
        checked.group(1) if checked else "?",
        errors.group(1) if errors else 0,
        f"{their_seconds:.1f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Print the table for the packages named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=["equinox", "diffrax", "optimistix", "lineax"])
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    lines = [HEAD]
    print(HEAD)
    with tempfile.TemporaryDirectory() as cwd:  # no configuration, and nothing of ours, lies above it
        for package in arguments.packages:
            lines.append(row(package, cwd))
            print(lines[-1], flush=True)
    if arguments.readme:
        before, _, rest = README.read_text("utf-8").partition("<!-- peers -->\n")
        after = rest.partition("<!-- end of peers -->")[2]
        table = "\n".join(lines)
        README.write_text(f"{before}<!-- peers -->\n{table}\n<!-- end of peers -->{after}", "utf-8")


if __name__ == "__main__":
    main()
