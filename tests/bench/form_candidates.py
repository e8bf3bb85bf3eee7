"""Draw lines that may state a shape from checkouts of public packages, for a person to label.

    python tests/bench/form_candidates.py CHECKOUTS --seed 7 --comments 250 --docstrings 280 > candidates.tsv

A candidate is a line of a comment or docstring with something in it that may be a shape (a bracket of words, `n x m`,
`n-by-m`, the word `shape`), or a piece of code that may say one (`assert x.shape == ...`, `assert_shape`, a pattern of
einops, a variable whose name ends in capitals). Nothing of shapecheck is used: what it reads shall not choose.
"""

from __future__ import annotations

import argparse
import ast
import csv
import hashlib
import io
import random
import re
import sys
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

_BRACKET = re.compile(r"(?<![\w)\]])[(\[]([^()\[\]\"]*(?:[(\[][^()\[\]\"]*[)\]][^()\[\]\"]*)*)[)\]]")
_INSIDE = re.compile(r"[\w\s.,*+\-/^'?#@$|×<>()\[\]…:=]*")
_BY = re.compile(r"\b(?:\w{1,12}|\d+)-by-(?:\w{1,12}|\d+)\b|\b\w{1,12} [x×] \w{1,12}\b|\b[A-Za-z\d]x[A-Za-z\d]\b")
_SHAPE = re.compile(r"shape\w*\W{1,4}(?:of\s)?\W?[\d(\[`]", re.IGNORECASE)
_SUFFIX = re.compile(r"[A-Za-z]\w*_([A-Z][A-Z\d]+)$")
_EINOPS = frozenset({"rearrange", "reduce", "repeat"})


@dataclass(frozen=True)
class Candidate:
    """A line that may state a shape: where it stands, what kind it is of, and the hash of its text."""

    repository: str
    path: str
    line: int
    kind: str
    hash: str


def line_hash(text: str) -> str:
    """The hash of a line, by which another version of its file is told apart."""
    return hashlib.sha256(text.strip().encode()).hexdigest()[:12]


def _may_state(text: str) -> bool:
    if _BY.search(text) or _SHAPE.search(text):
        return True
    for match in _BRACKET.finditer(text):
        inside = match.group(1).strip()
        if not inside or not _INSIDE.fullmatch(inside) or len(inside.split()) > 2 * (inside.count(",") + 1):
            continue
        if "," in inside or (match.group()[0] == "[" and re.fullmatch(r"[\w.*+\-/ ]{1,20}", inside)):
            return True
    return False


def _comments(text: str) -> Iterator[int]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and _may_state(token.string.lstrip("# ")):
                yield token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return


def _docstring_lines(tree: ast.Module, lines: list[str]) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            for number in range(first.lineno, (first.end_lineno or first.lineno) + 1):
                if _may_state(lines[number - 1]):
                    yield number


def _codes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and ".shape" in ast.unparse(node.test):
            yield node.lineno, "assert"
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in {"assert_shape", "assert_equal_shape"}:
                yield node.lineno, "assert_shape"
            elif name in _EINOPS and any(isinstance(a, ast.Constant) and isinstance(a.value, str) for a in node.args):
                yield node.lineno, "einops"
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if _SUFFIX.match(name) and not name.isupper():
                yield node.lineno, "suffix"


def candidates(root: Path, repository: str) -> Iterator[Candidate]:
    """All candidates of a checkout, in order."""
    for path in sorted(root.rglob("*.py")):
        data = path.read_bytes()
        if b"jax" not in data or len(data) > 400_000:
            continue
        text = data.decode("utf-8", "replace")
        lines = text.splitlines()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except SyntaxError:
            continue
        found = [(n, "comment") for n in _comments(text)] + [(n, "docstring") for n in _docstring_lines(tree, lines)]
        for line, kind in sorted({*found, *_codes(tree)}):
            yield Candidate(repository, path.relative_to(root).as_posix(), line, kind, line_hash(lines[line - 1]))


def draw(found: list[Candidate], count: int, cap: int, seed: int) -> list[Candidate]:
    """A sample in which no package has more than `cap` lines, and each line of text stands once."""
    order = sorted(found, key=lambda each: (each.repository, each.path, each.line))
    random.Random(seed).shuffle(order)  # noqa: S311 - a sample that can be drawn again
    taken: list[Candidate] = []
    number: defaultdict[str, int] = defaultdict(int)
    hashes: set[str] = set()
    for each in order:
        if len(taken) < count and number[each.repository] < cap and each.hash not in hashes:
            hashes.add(each.hash)
            number[each.repository] += 1
            taken.append(each)
    return taken


def main() -> None:
    """Print a sample as a tab-separated table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path, help="a folder with one folder OWNER+NAME a package")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--comments", type=int, default=240)
    parser.add_argument("--docstrings", type=int, default=260)
    parser.add_argument("--codes", type=int, default=160)
    options = parser.parse_args()
    found: list[Candidate] = []
    for root in sorted(options.checkouts.iterdir()):
        found += candidates(root, root.name.replace("+", "/"))
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    writer.writerow([each.name for each in fields(Candidate)])
    wanted = {"comment": options.comments, "docstring": options.docstrings}
    for kind in ("comment", "docstring", "assert", "assert_shape", "einops", "suffix"):
        of_kind = [each for each in found if each.kind == kind]
        count = wanted.get(kind, options.codes // 4)
        sample = draw(of_kind, count, max(count // 8, 1), options.seed)
        print(f"{kind}: {len(sample)} of {len(of_kind)}", file=sys.stderr)
        for each in sorted(sample, key=lambda each: (each.repository, each.path, each.line)):
            writer.writerow(asdict(each).values())


if __name__ == "__main__":
    main()
