"""Aliases of types that stand in other files of the project."""

from __future__ import annotations

import pytest

from shapecheck.claims import Project, read_module
from shapecheck.claims.imported_aliases import Neighbours

TYPES = """\
from typing import TYPE_CHECKING, Any, TypeAlias
from jaxtyping import Array, Float
Act = Float[Array, "b d"]
Out: TypeAlias = "Float[Array, 'b k']"
Pair = tuple[Act, Out]
Odd = Float[Array, "b"]
Odd = Any
class Config: ...
class Score(Generic[T], Protocol):
    def __call__(self, x: Act, n: int = 0, *, scale: Act) -> Out: ...
def make(): ...
"""
FILES = {
    "/p/pkg/__init__.py": "from .types_ import Act as Activation\nfrom .deep import *\n",
    "/p/pkg/types_.py": TYPES,
    "/p/pkg/deep/__init__.py": "from ..types_ import Out\n",
    "/p/pkg/circle.py": "from .circle2 import Round\n",
    "/p/pkg/circle2.py": "from .circle import Round\n",
}
MEANINGS = {
    "a name": ("from pkg.types_ import Act", "Act", ["Float[b d]"]),
    "another name": ("from pkg.types_ import Act as A", "A", ["Float[b d]"]),
    "a module's": ("import pkg.types_ as at", "at.Act", ["Float[b d]"]),
    "a package's module's": ("import pkg.types_", "pkg.types_.Act", ["Float[b d]"]),
    "a neighbour's": ("from . import types_", "types_.Act", ["Float[b d]"]),
    "in a string": ("from .types_ import Act", "'Act | None'", ["Float[b d]"]),
    "for type checkers": ("if TYPE_CHECKING:\n    from .types_ import Out", "Out", ["Float[b k]"]),
    "of a package": ("from pkg import Activation", "Activation", ["Float[b d]"]),
    "starred": ("from pkg import *", "Out", ["Float[b k]"]),
    "of aliases": ("from .types_ import Pair", "Pair", ["Float[b d] .only tuple/2 .0", "Float[b k] .only tuple/2 .1"]),
    "inside of a type": ("from .types_ import Act", "list[Act]", ["Float[b d] .*"]),
    "below more axes": ("from jaxtyping import Float\nfrom .types_ import Act", "Float[Act, 't']", ["Float[t b d]"]),
    "unclear": ("from .types_ import Odd", "Odd", ["[...] .?"]),
    "a class of callables": ("from .types_ import Score", "Score", ["Float[b d] .0", "Float[b k] .result"]),
    "a class": ("from .types_ import Config", "Config", []),
    "a function": ("from .types_ import make", "make", []),
    "nothing": ("from .types_ import Missing", "Missing", []),
    "a circle": ("from .circle import Round", "Round", []),
    "from elsewhere": ("from other import Act", "Act", []),
}


def _read(source: str, files: dict[str, str]):
    texts = {path: text.encode() for path, text in files.items()}
    project = Project(texts.get, lambda folder: ["/p"])
    return read_module("m.py", source.encode(), neighbours=project.beside("/p/pkg/m.py"))


@pytest.mark.parametrize(("imports", "annotation", "expected"), MEANINGS.values(), ids=MEANINGS)
def test_an_alias_of_another_file_means(imports, annotation, expected):
    module = _read(f"{imports}\ndef f(x: {annotation}): ...\n", FILES)
    found = [f"{c.dtype}[{c.spec}]" + "".join(f" .{step}" for step in c.select) for c in module.claims]
    assert found == expected


def test_the_files_on_the_way_are_known():
    module = _read("from pkg import Activation\ndef f(x: Activation): ...\n", FILES)
    assert module.alias_files == ("/p/pkg/__init__.py", "/p/pkg/types_.py")
    assert [claim.text for claim in module.claims] == ['Float[Array, "b d"]']


def test_modules_that_import_each_other_whole_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve files that import a package by a star, which imports all of them so: there are 12! orders of these."""
    modules = [f"m{number}" for number in range(12)]
    files = {
        "/p/pkg/__init__.py": "".join(f"from .{each} import *\n" for each in [*modules, "types_"]),
        "/p/pkg/types_.py": TYPES,
        **{f"/p/pkg/{each}.py": "from pkg import *\nMissing = missing()\n" for each in modules},
    }
    asked: list[object] = []
    in_file = Neighbours._in_file

    def count(self: Neighbours, *question: object) -> object:
        asked.append(question)
        assert len(asked) < 1000
        return in_file(self, *question)

    monkeypatch.setattr(Neighbours, "_in_file", count)
    module = _read("from pkg import *\nimport pkg\ndef f(x: Act, y: pkg.Nothing, z: pkg.Missing.Inner): ...\n", files)
    assert [claim.text for claim in module.claims] == ['Float[Array, "b d"]']


def test_what_cannot_be_told_says_why():
    (claim,) = _read("from .types_ import Odd\ndef f(x: Odd): ...\n", FILES).claims
    assert claim.unread == "the alias Odd of types_.py may stand for several types"
