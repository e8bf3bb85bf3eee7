"""Which names may be looked up where a claim stands, and which variables of a constructor change."""

from __future__ import annotations

import ast

import pytest

from shapecheck.claims.local_names import rebound
from shapecheck.syntax.scopes import Function


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("y = f(n)  # (n, h)", ["n", "h"]),
        ("y = f(n)  # (b, t)\nb, t = y.shape", []),
        ("b, t = x.shape\ny = f(n)  # (b, t)", ["b", "t"]),
        ("b = f(x)  # (b, t)", ["t"]),  # evaluated before it is bound
        ("b, y = f(x)  # y: (b, t)", ["b", "t"]),
        ("if x:\n    b = 3\nelse:\n    y = f(x)  # (b, t)", ["b", "t"]),
        ("for b in x:\n    y = f(x)  # (b, t)", ["b", "t"]),
        ("for b, y in x:  # y: (b, t)\n    pass", ["b", "t"]),
        ("for b in x:\n    pass\ny = f(x)  # (b, t)", ["t"]),
        ("b = 3\nfor b in x:\n    pass\ny = f(x)  # (b, t)", ["t"]),
        ("b = 3\nfor c in x:\n    b = b + 1\ny = f(x)  # (b, t)", ["b", "t"]),
        ("for b in x:\n    pass\nb = 4\ny = f(x)  # (b, t)", ["b", "t"]),
        ("y = f(n)  # (k, self.h, x.shape[0])\nself.h = k = 3\nx = y", ["self.h", "x.shape[0]"]),
        ("y = f(x)  # (h, w)\nh = self.h", ["h", "w"]),  # what it means does not change
        ("y = f(x)  # (h, w)\nh, w = self.h, self.width", ["h"]),
        ("y = f(x)  # (h, w)\nh = self.width", ["w"]),
        ("n = n + 1\ny = f(n)  # (n,)", ["n"]),
        ("y = f(n)  # (n,)\nn = n + 1", ["n"]),
    ],
)
def test_a_name_that_is_bound_only_further_down_is_not_looked_up(read, body: str, names: list[str]) -> None:
    lines = "\n".join("    " + line for line in body.split("\n"))
    module = read(f"def function(x, n):\n{lines}\n")
    assert [*module.sites[module.claims[0].sites[0]].names] == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a = 3\nb = a", []),
        ("a = 3\na = 4", ["a"]),
        ("a = 3\na += 1", ["a"]),
        ("d = 2 * d", ["d"]),
        ("h = 4 * d", []),  # it has no value before
        ("if h is None:\n    h = 4\nelse:\n    h = 5", []),
        ("if d:\n    a = 1\nelif h:\n    a = 2\nelse:\n    a = 3\nb = a", []),
        ("if d:\n    a = 1\na = 2", ["a"]),
        ("for i in d:\n    b = i", ["b", "i"]),
        ("while d:\n    a, self.b = d", ["a", "self.b"]),
        ("try:\n    a = 1\nexcept E:\n    b = 2\nexcept F:\n    b = 3", []),
        ("try:\n    a = 1\nexcept E:\n    a = 2", ["a"]),
        ("match d:\n    case 1:\n        a = 1\n    case _:\n        a = 2", []),
        ("with d as a:\n    a = 3", ["a"]),
        ("def inner():\n    a = 1\na = 2", []),
    ],
)
def test_a_variable_that_is_bound_twice_on_one_path_changes(text: str, names: list[str]) -> None:
    lines = "\n".join("    " + line for line in text.split("\n"))
    (function,) = ast.parse(f"def __init__(self, d, h=None):\n{lines}\n").body
    assert isinstance(function, Function)
    assert [*rebound(function)] == names


def test_only_constructors_are_asked(read) -> None:
    body = "(self):\n        a = 1\n        a = 2\n"
    module = read(f"class A:\n    def __init__{body}    def f{body}")
    assert [scope.rebound for scope in module.scopes] == [(), (), ("a",), ()]
