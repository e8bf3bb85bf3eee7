"""How many of the claims of public packages are verified, and what keeps the others unreached.

    python tests/bench/real_packages.py list                                    what to clone, and what to install
    python tests/bench/real_packages.py run --sources DIR --python PYTHON       check all of them, print the table
    python tests/bench/real_packages.py run ... --reports OUT --tests dynamax   one, with its tests; keep its report
    python tests/bench/real_packages.py table --reports OUT                     the table of kept reports, without a run
    python tests/bench/real_packages.py reasons --reports OUT [FAMILY]          the reasons themselves, by count

The checkouts and the environment are those of findings.py, which says how each finding was judged; the packages are
pinned to commits there. linsdex wants a beartype before 0.20. Each is one command of one job, one after the other, as
`check` runs by itself but for `--no-tests` (left out by `--tests`) and the budget. `--readme` puts the table into the
README.

A claim counts as unreached for want of an import where its module cannot be imported, or where what it needs to run
belongs to a package that is not installed. "share" is verified of all claims; "importable" of those that are neither
unreached so nor stand in declarations, such as abstract methods. Those of which only the rank is proved count in both.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import findings

README = Path(__file__).parents[2] / "README.md"
MARKS = ("<!-- real packages -->\n", "<!-- end of real packages -->")
NAMES = frozenset(
    {
        # Flax, NNX among it
        *("CellFlow", "bonsai", "high_performance_jax", "nanodl", "nerfies", "videoprism", "vmoe", "xlstm-jax"),
        # Haiku
        *("alphafold", "disco_rl", "disentangled_rnns", "esm-jax", "tracr"),
        # Equinox
        *("Equimo", "distreqx", "elk", "linsdex", "memorax"),
        # plain JAX, or classes of their own
        *("BayesNewton", "JAXTrace", "distrax", "dynamax", "gcbfplus", "infodynamics-jax", "jax-md", "mctx"),
        *("nemos", "ott", "rebayes", "ringattention"),
    }
)
FAMILIES: Mapping[str, re.Pattern[str]] = {
    "import": re.compile(r"import failed|is not installed|which is not there|import stopped"),
    "time": re.compile(r"--budget|time for the whole run|time limit|took longer"),
    "nothing says": re.compile(
        r"has no annotation|nothing says|nothing describes|no comment or docstring|holds itself|has no default"
        r"|no value can be made|`[^`]*` is abstract|its parameters cannot be read|no signature"
    ),
    "declaration": re.compile(r"is abstract$|declar|stub"),
    "construction": re.compile(r"^constructing |cannot be constructed|is not set when its construction"),
    "values": re.compile(r"concrete|needs values|traced array|Tracer|boolean value|decides"),
    "never called": re.compile(
        r"nothing that was evaluated calls|not along this line|never ran|no call of it|no item of it|but not its body"
    ),
    "stopped": re.compile(r"stopped before this line|did not come to its end|end of its function"),
    "no array": re.compile(r"the value is |annotated value is"),
    "size unknown": re.compile(r"size of .* not known"),
    "made up": re.compile(r"made-up|made up"),
    "other": re.compile(""),
}
"""The reasons of the report, in the order in which they are tried."""
HEAD = ("package", "claims", "verified", "all sizes", "rank alone", *FAMILIES, "share", "importable", "findings", "s")


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What one run reached, or several together."""

    name: str
    claims: Mapping[str, int]
    families: Mapping[str, int]
    findings: int
    seconds: float

    def cells(self) -> list[str]:
        """One line of the table."""
        counts = self.claims
        families = [str(self.families.get(family, 0) or "") for family in FAMILIES]
        importable = counts["total"] - counts["unreached_declarations"] - self.families.get("import", 0)
        numbers = [counts[key] for key in ("total", "verified", "verified_for_all_sizes", "verified_loosely")]
        shares = [f"{counts['verified'] / whole:.2f}" if whole else "" for whole in (counts["total"], importable)]
        return [self.name, *map(str, numbers), *families, *shares, str(self.findings), f"{self.seconds:.0f}"]


def family(reason: str) -> str:
    """The family of a reason why a claim is unreached."""
    return next(name for name, pattern in FAMILIES.items() if pattern.search(reason))


def read_reach(name: str, report: Mapping[str, Any], seconds: float) -> Reach:
    """What a JSON report says of how far it came."""
    return Reach(
        name=name,
        claims=report["claims"],
        families=Counter(family(each["reason"]) for each in report["unreached"]),
        findings=sum(each["severity"] != "note" for each in report["findings"]),
        seconds=seconds,
    )


def together(reaches: Sequence[Reach]) -> Reach:
    """The sum of some."""
    claims: Counter[str] = Counter()
    families: Counter[str] = Counter()
    for each in reaches:
        claims.update(each.claims)
        families.update(each.families)
    return Reach(
        name="all",
        claims=claims,
        families=families,
        findings=sum(each.findings for each in reaches),
        seconds=sum(each.seconds for each in reaches),
    )


def table(reaches: Sequence[Reach]) -> str:
    """One line a package, and their sum."""
    lines = [HEAD, ["---"] * len(HEAD), *(each.cells() for each in (*reaches, together(reaches)))]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def reasons(reports: Sequence[Mapping[str, Any]], wanted: str) -> Counter[str]:
    """How many claims each reason holds, or those of one family."""
    found = (each["reason"] for report in reports for each in report["unreached"])
    return Counter(reason for reason in found if not wanted or family(reason) == wanted)


def main() -> int:
    """Do what the command line says."""
    options = _parser().parse_args()
    if unknown := {*options.names} - {*NAMES, *FAMILIES}:
        raise SystemExit(f"no such package or family: {', '.join(sorted(unknown))}")
    names = NAMES if NAMES.isdisjoint(options.names) else options.names
    chosen = [package for package in findings.PACKAGES if package.name in names]
    if options.command == "list":
        for package in chosen:
            clone = f"git clone {package.repository} DIR/{package.name}"
            print(f"{clone} && git -C DIR/{package.name} checkout {package.origin}")
        print(f"pip install {findings.REQUIREMENTS}")
        return 0
    reports, reaches, status = [], [], 0
    for package in chosen:
        kept = (options.reports / f"{package.name}.json").absolute()
        if options.command == "run":
            load = os.getloadavg()[0]
            which = [] if options.tests else ["--no-tests"]
            findings.check(package, options.sources.resolve(), options.python.absolute(), options.budget, kept, which)
        if not kept.is_file():
            print(f"{package.name}: no report", file=sys.stderr)
            status = 2
            continue
        read = json.loads(kept.read_text("utf-8"))
        reports.append(read["report"])
        reaches.append(read_reach(package.name, read["report"], read["seconds"]))
        if options.command == "run":
            print(f"{time.strftime('%H:%M:%S')} load {load:.1f}: {' '.join(reaches[-1].cells())}", file=sys.stderr)
    if options.command == "reasons":
        wanted = next((name for name in options.names if name in FAMILIES), "")
        for reason, count in reasons(reports, wanted).most_common():
            print(f"{count:5} {reason}")
        return status
    text = table(reaches)
    print(text)
    if options.readme:
        before, _, rest = README.read_text("utf-8").partition(MARKS[0])
        README.write_text(f"{before}{MARKS[0]}{text}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}", "utf-8")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "run", "table", "reasons"])
    parser.add_argument("names", nargs="*", help="packages, by default all; for `reasons` a family as well")
    parser.add_argument("--sources", type=Path, default=Path(), metavar="DIR", help="a checkout per package")
    parser.add_argument("--reports", type=Path, default=Path(), metavar="OUT", help="where the reports are kept")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="what has their dependencies")
    parser.add_argument("--tests", action="store_true", help="evaluate their tests as well")
    parser.add_argument("--budget", type=float, default=90.0, help="seconds for each package")
    parser.add_argument("--readme", action="store_true", help="put the table into the README")
    return parser


if __name__ == "__main__":
    sys.exit(main())
