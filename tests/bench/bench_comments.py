"""How well shape comments are told from other comments: precision and recall on labelled examples.

    python tests/bench/bench_comments.py LABELLED.tsv [DIALECTS.tsv]

LABELLED has the columns `is_shape` (yes or no), `position` (trailing, own, arg, own-arg), `statement` (such as
`Assign:Call`) and `comment`. DIALECTS has `family`, `position` and `comment`, without a verdict: printed is the share
of each family that is told to be a shape.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from shapecheck.claims.comment_lines import looks_like_code, split_comment
from shapecheck.claims.comment_text import read_comment


def is_told(comment: str, position: str, statement: str = "") -> bool:
    """Whether a shape is found in the comment, given where it stands."""
    if position == "trailing" and statement.endswith(":Const"):
        return False  # beside a plain number or text
    parts = split_comment(comment)
    if position != "trailing" and any(looks_like_code(part.text) for part in parts):
        return False
    return any(read_comment(part.text) for part in parts)


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a tab-separated file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def score(examples: Iterable[dict[str, str]], *, verbose: bool) -> None:
    """Print precision and recall."""
    right = wrong = missed = 0
    for row in examples:
        told, wanted = is_told(row["comment"], row["position"], row["statement"]), row["is_shape"] == "yes"
        right += told and wanted
        wrong += told and not wanted
        missed += wanted and not told
        if verbose and told != wanted:
            print(f"{'missed' if wanted else 'wrong '}  {row['position']:9}{row['statement']:20}{row['comment']}")
    print(f"precision {right / (right + wrong):.1%} ({right} of {right + wrong} told)")
    print(f"recall    {right / (right + missed):.1%} ({right} of {right + missed} shapes)")


def shares(examples: Iterable[dict[str, str]], *, verbose: bool) -> None:
    """Print the share of each family that is told to be a shape."""
    families: defaultdict[str, list[bool]] = defaultdict(list)
    for row in examples:
        told = is_told(row["comment"], row["position"])
        families[row["family"]].append(told)
        if verbose and not told:
            print(f"not told  {row['family'][:2]:4}{row['position']:9}{row['comment']}")
    for family, verdicts in families.items():
        print(f"{sum(verdicts) / len(verdicts):6.0%}  {sum(verdicts):3} of {len(verdicts):3}  {family}")


def main() -> None:
    """Read the files that are named and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labelled", type=Path)
    parser.add_argument("dialects", type=Path, nargs="?")
    parser.add_argument("--verbose", action="store_true", help="print each comment that is told wrongly")
    options = parser.parse_args()
    score(rows(options.labelled), verbose=options.verbose)
    if options.dialects is not None:
        shares(rows(options.dialects), verbose=options.verbose)


if __name__ == "__main__":
    main()
