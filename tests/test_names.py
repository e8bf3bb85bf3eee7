"""Names in the package: the field's words, one meaning for a class's name, and no participle alone."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "shapecheck"

# Participles that do not end in -ed or -ing; but for `run` and `put`, which are verbs as they stand.
_IRREGULAR = """
become been begun bent bound bought bred brought built caught chosen come cut dealt done drawn driven fallen fed felt
forbidden forgotten found frozen given gone got grown heard held hidden hit kept known laid lain leant led left lent let
lost made meant met overridden paid proven quit ran read rebuilt redone rewritten risen said sat seen sent set shed
shown shut slept sold spent split spoken spread spun stolen stood stuck sung sunk swept taken taught thought thrown told
torn unbound understood undone unseen untold unwritten withheld woken won worn woven wound written
"""
_NO_PARTICIPLES = {
    "Binding": "a noun: what a name is bound to",
    "Finding": "a noun: what a rule reports",
    "need": "a verb",
}
# Words of no field: whoever looks for a worker pool, a fork server, a dependency or a call builder does not find them.
_PRIVATE = "anatomy cooked crew kitchen lean leaning leans leant recipe referee remarks stems tell telling tells told"


@cache
def nodes() -> tuple[tuple[str, ast.AST], ...]:
    """All that has a name, with the file that it stands in."""
    named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Name | ast.Attribute | ast.arg
    return tuple(
        (file.relative_to(SRC).as_posix(), node)
        for file in sorted(SRC.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, named)
    )


def definitions() -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    for file, node in nodes():
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield file, node


def words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_participle(name: str) -> bool:
    if name.strip("_") in _NO_PARTICIPLES or len(words(name)) != 1:
        return False
    (word,) = words(name)
    return word in _IRREGULAR.split() or re.fullmatch(r".*[aeiouy].*(ed|ing)", word) is not None


def identifiers() -> Iterator[tuple[str, str]]:
    """Where and how variables, parameters, attributes, functions and classes are named."""
    for file, node in nodes():
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield f"{file}:{node.lineno}", name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield f"{file}:{node.lineno}", name


def test_participles_are_told_from_other_words() -> None:
    assert all(map(is_participle, ("told", "_held", "Described", "watching", "_Lifted", "Ran", "split")))
    assert not any(map(is_participle, ("_Binding", "describe", "held_lock", "HeldLock", "string_of", "need", "NaN")))


def test_no_function_or_class_is_named_by_a_participle_alone() -> None:
    found = [
        f"{file}:{node.lineno}: {node.name}"
        for file, node in definitions()
        if is_participle(node.name) and not node.name.startswith("__")
    ]
    assert found == []


def test_no_type_is_named_by_a_participle_alone() -> None:
    found = [
        f"{file}:{node.lineno}: {node.id}"
        for file, node in nodes()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if re.match(r"_*[A-Z][a-z]", node.id) and is_participle(node.id)
    ]
    assert found == []


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file, node in definitions():
        if isinstance(node, ast.ClassDef):
            places[node.name.lstrip("_")].append(f"{file}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_file_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(SRC.rglob("*.py")):
        if file.stem not in ("__init__", "__main__"):
            places[file.stem].append(file.relative_to(SRC).as_posix())
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_names_are_of_the_words_of_the_field() -> None:
    private = set(_PRIVATE.split())
    found = [f"{place}: {name}" for place, name in identifiers() if not private.isdisjoint(words(name))]
    assert found == []
