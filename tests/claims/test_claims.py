"""The whole of a file: scopes, sites, positions, suppressions, and what `shapecheck claims` prints."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shapecheck.claims import claims_json, read_module
from shapecheck.model import Position
from shapecheck.shapes import parse_spec

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").rglob("*.py"))

MODEL = """
import jax
from jaxtyping import Array, Float


class Layer:
    weight: Float[Array, "d_in {self.d_out}"]
    d_out: int

    def __call__(self, x: Float[Array, "n d_in"]):
        def inner(y):
            return y @ self.weight  # (n, self.d_out)

        for step in range(3):
            x = [f(r) for r in x]
            while True:
                x = jax.vmap(
                    lambda row: g(row),  # (2*n, 3)
                )(x)
        return inner(x)
"""


def test_scopes(read):
    scopes = read(MODEL).scopes
    assert [(s.kind, s.qualname, s.parent, s.parameters) for s in scopes] == [
        ("module", "<module>", None, ()),
        ("class", "Layer", 0, ()),
        ("function", "Layer.__call__", 1, ("self", "x")),
        ("function", "Layer.__call__.inner", 2, ("y",)),
    ]
    assert [s.index for s in scopes] == [0, 1, 2, 3]
    assert scopes[0].position is None
    assert scopes[2].position == Position(10, 4, 20, 23)


def test_a_decorated_function_starts_at_its_def(read):
    scope = read("@jax.jit\ndef f(x):\n    pass\n").scopes[1]
    assert scope.position == Position(2, 0, 3, 8)


def test_claims_belong_to_scopes(read):
    module = read(MODEL)
    assert [module.scopes[c.scope].qualname for c in module.claims] == [
        "Layer",
        "Layer.__call__",
        "Layer.__call__.inner",
        "Layer.__call__",
    ]


def test_sites_know_the_names_that_claims_use_and_the_loops_around_them(read):
    module = read(MODEL)
    sites = [module.sites[c.sites[0]] for c in module.claims]
    assert [s.names for s in sites] == [("d_in", "self.d_out"), ("n", "d_in"), ("n", "self.d_out"), ("n",)]
    assert [s.loop for s in sites] == [(), (), (), (14, 16, 18)]
    assert [s.scope for s in sites] == [1, 2, 3, 2]


def test_equal_places_are_one_site_with_all_names(read):
    module = read('from jaxtyping import Float\ndef f(x: Float[A, "a b"]):\n    y: Float[A, "b"] = g(x)  # (b,)\n')
    assert [c.sites for c in module.claims] == [(0,), (1,), (1,)]
    twice = read("y = f(x)  # (b, t) or (c,)\n")
    assert [c.sites for c in twice.claims] == [(0,), (0,)]
    assert twice.sites[0].names == ("b", "t", "c")


def test_a_value_in_a_class_body_belongs_to_the_scope_around_it(read):
    module = read("class A:\n    w: Array = make(\n        f(x),  # (b, t)\n    )\n")
    (claim,) = module.claims
    assert module.scopes[module.sites[claim.sites[0]].scope].kind == "module"


def test_spans_count_characters_and_sites_count_bytes():
    source = 'ä = f("日本")  # é (b, t)\n'
    module = read_module("m.py", source.encode())
    (claim,) = module.claims
    assert source[claim.span.column - 1 : claim.span.end_column - 1] == "(b, t)"
    position = module.sites[claim.sites[0]].position
    assert source.encode()[position.column : position.end_column].decode() == 'f("日本")'


def test_claims_are_in_the_order_of_the_text(read):
    spans = [(c.span.line, c.span.column) for c in read(MODEL).claims]
    assert spans == sorted(spans)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_value_sites_are_expressions_that_can_be_wrapped(path):
    """The probes find the nodes by their positions alone."""
    data = path.read_bytes()
    loads = {
        (n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)
        for n in ast.walk(ast.parse(data))
        if isinstance(n, ast.expr) and isinstance(getattr(n, "ctx", ast.Load()), ast.Load)
    }
    statements = {
        (n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)
        for n in ast.walk(ast.parse(data))
        if isinstance(n, ast.stmt)
    }
    module = read_module(str(path), data)
    assert module.claims
    for claim in module.claims:
        assert str(parse_spec(claim.spec)) == claim.spec
    for site in module.sites:
        if site.kind == "value":
            p = site.position
            assert (p.line, p.column, p.end_line, p.end_column) in loads
        elif site.kind == "name":
            p = site.position
            assert (p.line, p.column, p.end_line, p.end_column) in statements


def test_json(read):
    assert claims_json([read(MODEL)])["claims"][:2] == [
        {
            "path": "module.py",
            "line": 7,
            "column": 13,
            "notation": "annotation",
            "spec": "Float d_in {self.d_out}",
            "target": "weight",
            "sure": True,
            "scope": "Layer",
        },
        {
            "path": "module.py",
            "line": 10,
            "column": 27,
            "notation": "annotation",
            "spec": "Float n d_in",
            "target": "x",
            "sure": True,
            "scope": "Layer.__call__",
        },
    ]


def test_json_of_a_module_scope_and_a_scalar(read):
    (claim,) = claims_json([read("y = f(x)  # shape: ()\n")])["claims"]
    assert (claim["spec"], claim["scope"], claim["target"]) == ("", "<module>", "y")


@pytest.mark.parametrize(
    ("comment", "line", "codes"),
    [
        ("# shapecheck: ignore", 1, ()),
        ("# shapecheck: ignore[SC201]", 1, ("SC201",)),
        ("# shapecheck:ignore[ SC201, sc202 ]", 1, ("SC201", "SC202")),
        ("# (b, t)  # shapecheck: ignore[SC201]  # noqa", 1, ("SC201",)),
        ("# shapecheck: ignore-file", None, ()),
        ("# shapecheck: ignore-file[SC3]", None, ("SC3",)),
    ],
)
def test_suppressions(read, comment, line, codes):
    module = read(f"é = f(x)  {comment}\n")
    (found,) = module.suppressions
    assert (found.line, found.codes) == (line, codes)
    text = module.lines[0][found.span.column - 1 : found.span.end_column - 1]
    assert text.startswith("# shapecheck:")
    assert "noqa" not in text


@pytest.mark.parametrize("comment", ["# shapecheck is nice", "# shapecheck: ignores", "# shapecheck: ignore-line"])
def test_no_suppressions(read, comment):
    assert read(f"y = f(x)  {comment}\n").suppressions == ()


def test_a_suppressed_comment_is_still_a_claim(read):
    module = read("y = f(x)  # (b, t)  # shapecheck: ignore[SC201]\n")
    assert [c.spec for c in module.claims] == ["b t"]


def test_what_libcst_cannot_read_is_told_and_all_else_is_claims_all_the_same(read):
    deep = "z = a" + " + a" * 900 + "  # (b, s)\n"
    module = read('from jaxtyping import Array, Float\ny: Float[Array, "b t"] = f(x)  # (b, t)\n' + deep)
    assert [(claim.notation, claim.spec, bool(claim.unread)) for claim in module.claims] == [
        ("annotation", "b t", False),
        ("comment", "b t", False),
        ("comment", "b s", True),
    ]
    (problem,) = module.problems
    assert (problem.code, problem.span.line) == ("", 3)
    assert problem.message.endswith("the statement on line 3 nests too deeply for libcst")
