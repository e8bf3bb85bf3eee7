"""Correct programs in `planted/`, and mistakes planted in them: how many a check finds, and where.

    python tests/bench/bench_planted.py                 both parts, and what is missed
    python tests/bench/bench_planted.py --category einsum
    python tests/bench/bench_planted.py --every 4        a sample: each fourth mutant
    python tests/bench/bench_planted.py --programs DIR   other programs, with a mutants.jsonl of their own
    python tests/bench/bench_planted.py --tool jaxtyc    what another checker finds (peers.py), any rule counting

Five wrote them who knew nothing of the checker: 20 in mixed styles, 12 with annotations, 12 with comments and
docstrings alone, 24 whole programs with settings, records and training (those need einops as well). Three files of
functions (`undescribed_*`), written while claims came to describe arguments, have no mistakes yet. Each mistake
either makes a claim false or makes JAX raise, which was seen by tracing the program with two sets of unrelated sizes.
A row of mutants.jsonl has the edits (in one line of the file each, the first `old` becomes `new`) and the `lines` on
which a finding is right: what was changed, the claims that are false, and where JAX raises.

Detected is a mutant with a finding that the correct program has not, of one of its `families`, on one of the lines;
"elsewhere" has another new finding, and "not in time" none while the budget ended before all of it was evaluated. A
false alarm is any finding on a correct program; notes are none. Mutants are checked in groups, each with a budget of
its own, so that a slow machine does not turn them into misses.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from peers import PEERS, Found

PLANTED = Path(__file__).with_name("planted")
BUDGET = "900"  # seconds, for one group of files
GROUP = 30  # files


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checked:
    """What a check of a folder tells.

    Attributes:
        found: what is found in each file, as (line, rule)
        claims: counts of claims by verdict; none if the checker does not tell
        late: files that have claims which the budget left no time for
    """

    found: Mapping[str, Found]
    claims: Mapping[str, int]
    late: frozenset[str]


def check(folder: Path, tool: str) -> Checked:
    """Check a folder in one run."""
    if tool in PEERS:
        return Checked(found=PEERS[tool](folder), claims={}, late=frozenset())
    command = [sys.executable, "-m", "shapecheck", "check", ".", "--output-format", "json", "--budget", BUDGET]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    report = json.loads(done.stdout)
    found: dict[str, Found] = {}
    for finding in report["findings"]:
        if finding["severity"] != "note":
            found.setdefault(finding["path"], set()).add((finding["line"], finding["code"]))
    late = frozenset(each["path"] for each in report["unreached"] if "the time for the whole run" in each["reason"])
    return Checked(found=found, claims=report["claims"], late=late)


def plant(mutant: Mapping[str, Any], programs: Path, folder: Path) -> str:
    """Write the program with its mistake under a name of its own, which is returned."""
    lines = (programs / mutant["file"]).read_text("utf-8").split("\n")
    for edit in mutant["edits"]:
        line = lines[edit["line"] - 1]
        if edit["old"] not in line:
            raise SystemExit(f"{mutant['id']}: {edit['old']!r} is not in line {edit['line']} of {mutant['file']}")
        lines[edit["line"] - 1] = line.replace(edit["old"], edit["new"], 1)
    name = mutant["id"].replace("-", "_") + ".py"
    (folder / name).write_text("\n".join(lines), "utf-8")
    return name


def check_mutants(
    mutants: Sequence[Mapping[str, Any]], programs: Path, before: Mapping[str, Found], tool: str
) -> dict[str, tuple[str, Found]]:
    """The outcome of each mutant and what is found in it beyond the correct program, group by group."""
    outcomes: dict[str, tuple[str, Found]] = {}
    for start in range(0, len(mutants), GROUP):
        with tempfile.TemporaryDirectory(prefix="planted-") as folder:
            names = {mutant["id"]: plant(mutant, programs, Path(folder)) for mutant in mutants[start : start + GROUP]}
            checked = check(Path(folder), tool)
        for mutant in mutants[start : start + GROUP]:
            name = names[mutant["id"]]
            new = checked.found.get(name, set()) - before.get(mutant["file"], set())
            outcomes[mutant["id"]] = outcome(mutant, new, tool, is_late=name in checked.late), new
        so_far = dict(Counter(verdict for verdict, _ in outcomes.values()))
        print(f"{len(outcomes)} of {len(mutants)} mutants: {so_far}", file=sys.stderr, flush=True)
        for mutant in mutants[start : start + GROUP]:
            verdict, new = outcomes[mutant["id"]]
            if verdict != "detected":
                print(describe(mutant, verdict, new), flush=True)
    return outcomes


def describe(mutant: Mapping[str, Any], verdict: str, new: Found) -> str:
    """One line about a mutant that is not detected: the mistake, and what else is found."""
    edits = "; ".join(f"{each['line']}: {each['old']} -> {each['new']}" for each in mutant["edits"])
    return " ".join([verdict, mutant["id"], edits, *map(str, sorted(new))])


def outcome(mutant: Mapping[str, Any], new: Found, tool: str, *, is_late: bool) -> str:
    """How the checker did on one mutant."""
    families = ("",) if tool in PEERS else tuple(mutant.get("families", ("SC",)))
    if any(line in mutant["lines"] and code.startswith(families) for line, code in new):
        return "detected"
    if new:
        return "elsewhere"
    return "not in time" if is_late else "missed"


def table(mutants: Sequence[Mapping[str, Any]], outcomes: Mapping[str, str], by: str) -> None:
    """Print the counts by some property of the mutants."""
    for value in sorted({str(each[by]) for each in mutants}):
        counts = Counter(outcomes[each["id"]] for each in mutants if str(each[by]) == value)
        total = counts.total()
        print(f"{by}={value:24s} {counts['detected']:4d} of {total:4d} = {counts['detected'] / total:.3f}")


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--category", help="only mutants of this category")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th mutant")
    parser.add_argument("--programs", type=Path, default=PLANTED, metavar="DIR", help="where programs and mutants are")
    parser.add_argument("--tool", choices=["shapecheck", *PEERS], default="shapecheck", help="which checker")
    chosen = parser.parse_args()
    if chosen.every < 1:
        parser.error(f"--every {chosen.every} leaves none: it is 1 or more")
    if not (chosen.programs / "mutants.jsonl").is_file():
        parser.error(f"there is no mutants.jsonl in {chosen.programs}")
    rows = [json.loads(line) for line in (chosen.programs / "mutants.jsonl").read_text("utf-8").splitlines()]
    mutants = [row for row in rows if chosen.category in (None, row["category"])][:: chosen.every]
    if not mutants:
        known = ", ".join(sorted({row["category"] for row in rows}))
        parser.error(f"there is no category {chosen.category}, but {known}")
    with tempfile.TemporaryDirectory(prefix="planted-") as name:
        for file in chosen.programs.glob("*.py"):
            Path(name, file.name).write_bytes(file.read_bytes())
        correct = check(Path(name), chosen.tool)
    alarms = sum(map(len, correct.found.values()))
    if correct.claims:
        print(f"{correct.claims['verified']} of {correct.claims['total']} claims verified", flush=True)
    print(f"{alarms} false alarms", flush=True)
    for path, found in sorted(correct.found.items()):
        print("false alarm:", path, *sorted(found), flush=True)
    judged = check_mutants(mutants, chosen.programs, correct.found, chosen.tool)
    outcomes = {mutant_id: verdict for mutant_id, (verdict, _) in judged.items()}
    for by in sorted({"kind", "raises_only", "category"}.intersection(*mutants)):
        table(mutants, outcomes, by)
    print(dict(Counter(outcomes.values())))


if __name__ == "__main__":
    main()
