"""How well the forms in which people write shapes are read: precision and recall on lines labelled by hand.

    python tests/bench/bench_forms.py CHECKOUTS --download                  get the checkouts (git), then measure
    python tests/bench/bench_forms.py CHECKOUTS --half development --verbose

CHECKOUTS holds a folder OWNER+NAME for each package. forms.tsv beside this script has a row for each line that
form_candidates.py drew: where it stands, the hash of its text, and what a person said who read it in its place, before
any of it was run: `shape` (it states the shape of a value that this code has; `value` is what it is called there),
`none`, or `unclear`, which counts for nothing. Half of the first rows were for development, half held out until what
they miss was looked at; `second` are further lines, held out after that.

Told is a line on which a claim begins, of the notation that the line is a candidate of. Right is one that states a
shape; "of the value" counts those whose claim is also of the value that the label names.
"""

from __future__ import annotations

import argparse
import ast
import csv
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from form_candidates import line_hash

from shapecheck.claims.module_claims import read_module
from shapecheck.model import Claim, Module

DATA = Path(__file__).with_name("forms.tsv")
_TEXTS = ("comment", "docstring")


@dataclass(frozen=True)
class Label:
    """A row of the data."""

    repository: str
    commit: str
    path: str
    line: int
    kind: str
    hash: str
    half: str
    label: str
    value: str


def read_labels(path: Path = DATA) -> list[Label]:
    """All rows of a data file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Label(**{**row, "line": int(row["line"])}) for row in rows]


def download(labels: Iterable[Label], checkouts: Path) -> None:
    """Clone what is not there yet, at the commit that the labels speak of."""
    for repository, commit in sorted({(each.repository, each.commit) for each in labels}):
        folder = checkouts / repository.replace("/", "+")
        if not folder.exists():
            url = f"https://github.com/{repository}"
            subprocess.run(["git", "clone", "-q", "--filter=blob:none", url, str(folder)], check=True)
            subprocess.run(["git", "-C", str(folder), "checkout", "-q", commit], check=True)


def _checkout(checkouts: Path, label: Label) -> Path:
    return checkouts / label.repository.replace("/", "+")


def claims_at(module: Module, label: Label, last: int) -> list[Claim]:
    """The claims that a line makes, or in code the statement that begins there."""
    notation = label.kind if label.kind in _TEXTS else "code"
    return [c for c in module.claims if c.notation == notation and label.line <= c.span.line <= last]


@cache
def _last_lines(text: str) -> Mapping[int, int]:
    """By the line on which it begins, the line on which an expression or a simple statement ends."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert | ast.Call | ast.Assign):
            found[node.lineno] = max(found.get(node.lineno, 0), node.end_lineno or 0)
    return found


def told(labels: Sequence[Label], checkouts: Path) -> dict[Label, list[Claim]]:
    """What is read of each label. A line that is not the one which was labelled stops the program."""
    by_file: defaultdict[tuple[str, str], list[Label]] = defaultdict(list)
    for each in labels:
        by_file[each.repository, each.path].append(each)
    result = {}
    for (repository, path), inside in by_file.items():
        data = (_checkout(checkouts, inside[0]) / path).read_bytes()
        text = data.decode("utf-8", "replace")
        lines, module = text.splitlines(), read_module(path, data)
        for each in inside:
            if line_hash(lines[each.line - 1]) != each.hash:
                raise SystemExit(f"{repository}: {path}:{each.line} is another line than was labelled")
            last = each.line if each.kind in _TEXTS else _last_lines(text).get(each.line, each.line)
            result[each] = claims_at(module, each, last)
    return result


def score(read: Mapping[Label, Sequence[Claim]], title: str) -> None:
    """Print precision and recall of some labels."""
    count = Counter((each.label == "shape", bool(claims)) for each, claims in read.items() if each.label != "unclear")
    right, wrong, missed = count[True, True], count[False, True], count[True, False]
    named = [(each, claims) for each, claims in read.items() if each.label == "shape" and each.value and claims]
    agree = sum(any(is_value(claim, each) for claim in claims) for each, claims in named)
    sure = [each for each, claims in read.items() if any(claim.sure for claim in claims) and each.label != "unclear"]
    surely = sum(each.label == "shape" for each in sure)
    print(
        f"{title:14} precision {_share(right, right + wrong)}  recall {_share(right, right + missed)}"
        f"  of the value {_share(agree, len(named))}  precision of sure ones {_share(surely, len(sure))}"
    )


def is_value(claim: Claim, label: Label) -> bool:
    """Whether a claim is of the value that a label names."""
    return claim.target in (label.value, f"self.{label.value}") or label.value in claim.part.split("|")


def _share(part: int, whole: int) -> str:
    return f"{part / whole if whole else 1:6.1%} ({part} of {whole})"


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--download", action="store_true", help="clone the packages that are not there")
    parser.add_argument("--half", choices=("development", "held-out", "second"), help="only this half of the rows")
    parser.add_argument("--verbose", action="store_true", help="print each line that is told wrongly")
    options = parser.parse_args()
    labels = [each for each in read_labels() if options.half in (None, each.half)]
    if options.download:
        download(labels, options.checkouts)
    there = {each.repository: _checkout(options.checkouts, each).is_dir() for each in labels}
    if not any(there.values()):
        parser.error(f"none of the {len(there)} packages is in {options.checkouts}: --download gets them")
    if absent := [repository for repository, is_there in there.items() if not is_there]:
        print(f"left out, as they are not in {options.checkouts} (--download gets them): {', '.join(absent)}")
    labels = [each for each in labels if there[each.repository]]
    read = told(labels, options.checkouts)
    if options.verbose:
        print_differences(read, options.checkouts)
    for kind in dict.fromkeys(each.kind for each in labels):
        score({each: claims for each, claims in read.items() if each.kind == kind}, kind)
    score({each: claims for each, claims in read.items() if each.kind in _TEXTS}, "texts")
    score(read, "all")


def print_differences(read: Mapping[Label, Sequence[Claim]], checkouts: Path) -> None:
    """Each line that is missed, told in error, or told of another value."""
    for each, claims in read.items():
        if each.label == "unclear":
            continue
        verdict = ""
        if (each.label == "shape") != bool(claims):
            verdict = "wrong" if claims else "missed"
        elif claims and each.value and not any(is_value(claim, each) for claim in claims):
            verdict = "value"
        if verdict:
            path = _checkout(checkouts, each) / each.path
            line = path.read_text(encoding="utf-8", errors="replace").splitlines()[each.line - 1].strip()
            where = f"{each.repository.partition('/')[2]}/{each.path}:{each.line}"
            said = [f"{claim.target}: {claim.spec}" for claim in claims]
            print(f"{verdict:7}{each.kind:10}{each.value:20}{line[:150]}\n       {where} {said or ''}")


if __name__ == "__main__":
    main()
