"""Claims as code of jaxtyping: what is inserted, and what is rather not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shapecheck.rewrite import RewriteOptions, RewriteOutcome
from shapecheck.rewrite import instrument as insert

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray
"""

INSERTED = {
    "a signature of nothing but jaxtyping's types goes to beartype": (
        """
        @jax.jit
        def f(x: Float[Array, "b d"], *, key: PRNGKeyArray | None = None) -> tuple[Float[Array, "b"], Int[Array, ""]]:
            return x[:, 0], x[0].argmax()
        """,
        ["@jaxtyped(typechecker=beartype)"],
    ),
    "beside other annotations, which may be false of a correct program, only the shapes are asserted": (
        """
        def f(x: Float[Array, "b d"], n: int, scale: float = 1.0) -> Float[Array, "b d"]:
            '''Doc.'''
            return x * n * scale
        """,
        ["@jaxtyped(typechecker=None)", 'assert isinstance(x, Float[Array, "b d"])'],
    ),
    "and what is returned, where that has a name": (
        """
        def f(x: Float[Array, "b d"], n: int) -> Float[Array, "b d"]:
            if n:
                return x
            y = x * n

            return y
        """,
        [
            "@jaxtyped(typechecker=None)",
            'assert isinstance(x, Float[Array, "b d"])',
            'assert isinstance(x, Float[Array, "b d"])',
            'assert isinstance(y, Float[Array, "b d"])',
        ],
    ),
    "a default of None is no array": (
        """
        def f(x: Float[Array, "b"] = None, y: int = 0):
            return x
        """,
        ["@jaxtyped(typechecker=None)", 'assert x is None or isinstance(x, Float[Array, "b"])'],
    ),
    "typing's unions are written out, since isinstance does not look into them": (
        """
        from typing import Optional, Union
        def f(x: Optional[Float[Array, "b"]], n: int, y: Union[Float[Array, "b"], Int[Array, "b"]]):
            return x
        """,
        [
            "@jaxtyped(typechecker=None)",
            'assert isinstance(x, Float[Array, "b"] | None)',
            'assert isinstance(y, Float[Array, "b"] | Int[Array, "b"])',
        ],
    ),
    "annotated variables": (
        """
        def f(x: Float[Array, "b d"]):
            y: Float[Array, "b 2*d"] = jnp.concatenate([x, x], 1)
            z: Float[Array, "b"]
            z = y.sum(1)
            return z
        """,
        [
            "@jaxtyped(typechecker=beartype)",
            'assert isinstance(y, Float[Array, "b 2*d"])',
            'assert isinstance(z, Float[Array, "b"])',
        ],
    ),
    "comments hold only of arrays; some functions return nothing else": (
        """
        def f(x: Float[Array, "b d"]):
            y = g(x)  # (b, 2*d)
            z = jnp.sum(y, axis=1)  # (b,)
            return z
        """,
        [
            "@jaxtyped(typechecker=beartype)",
            'assert not isinstance(y, Array) or isinstance(y, Shaped[Array, "b 2*d"])',
            'assert isinstance(z, Shaped[Array, "b"])',
        ],
    ),
    "integers of the code are filled in": (
        """
        def f(x, heads: int):
            B, T, C = x.shape
            size = C * heads
            q = g(x)  # (B, T, C)
            k = h(q)  # (B, heads, T*size)
            return k
        """,
        [
            "@jaxtyped(typechecker=None)",
            'assert not isinstance(q, Array) or isinstance(q, Shaped[Array, f"{B} {T} {C}"])',
            'assert not isinstance(k, Array) or isinstance(k, Shaped[Array, f"{B} {heads} {T*size}"])',
        ],
    ),
    "an integer that only repeats what the annotation says is that name": (
        """
        def f(x: Float[Array, "T d"]):
            T, C = x.shape
            y = g(x)  # (T, C)
            return y
        """,
        [
            "@jaxtyped(typechecker=beartype)",
            'assert not isinstance(y, Array) or isinstance(y, Shaped[Array, f"T {C}"])',
        ],
    ),
    "an axis whose name is a variable of unknown kind is left open": (
        """
        def f(x: Float[Array, "b d"], w):
            h = g(x, w)  # (b, h)
            return h
        """,
        [
            "@jaxtyped(typechecker=beartype)",
            'assert not isinstance(h, Array) or isinstance(h, Shaped[Array, "b _h"])',
        ],
    ),
    "so is one that a loop may change, one that divides, and one that an annotation and a variable call so": (
        """
        def f(x: Float[Array, "b d"]):
            d = compute()
            for _ in range(3):
                x = g(x)  # shape: (b, rows)
            y = g(x)  # (b, b//2, d)
            return y
        """,
        [
            "@jaxtyped(typechecker=beartype)",
            'assert not isinstance(x, Array) or isinstance(x, Shaped[Array, "b _rows"])',
            'assert not isinstance(y, Array) or isinstance(y, Shaped[Array, "b _ _d"])',
        ],
    ),
    "comments that may all leave out the same leading axes": (
        """
        def f(x, y):
            a = g(x)  # shape: (t, d)
            b = h(a)  # shape: (t,)
            return b
        """,
        [
            "@jaxtyped(typechecker=None)",
            'assert not isinstance(a, Array) or isinstance(a, Shaped[Array, "... t d"])',
            'assert not isinstance(b, Array) or isinstance(b, Shaped[Array, "... t"])',
        ],
    ),
    "each of several values": (
        """
        def f(x: Float[Array, "b d"]):
            q, k = jnp.split(x, 2)  # (b, d) each
            return q, k
        """,
        [
            "@jaxtyped(typechecker=beartype)",
            'assert not isinstance(q, Array) or isinstance(q, Shaped[Array, "b d"])',
            'assert not isinstance(k, Array) or isinstance(k, Shaped[Array, "b d"])',
        ],
    ),
    "alternatives, dtypes, element by element, and docstrings": (
        '''
        def f(x: Float[Array, "b d"], y):
            """Doc.

            Args:
                y: i64 array of shape (b, 3).
            """
            a = g(x)  # (b, d) or (b,)
            c, e = h(x)  # (b, d), f32[b]
            return a, c, e
        ''',
        [
            "@jaxtyped(typechecker=beartype)",
            'assert not isinstance(y, Array) or isinstance(y, Shaped[Array, "b 3"])',
            'assert not isinstance(a, Array) or isinstance(a, (Shaped[Array, "b d"], Shaped[Array, "b"]))',
            'assert not isinstance(c, Array) or isinstance(c, Shaped[Array, "b d"])',
            'assert not isinstance(e, Array) or isinstance(e, Float32[Array, "b"])',
        ],
    ),
    "what is returned under a name, before it is": (
        """
        def f(x: Float[Array, "b d"]):
            y = g(x)
            return y  # (b, d)
        """,
        [
            "@jaxtyped(typechecker=beartype)",
            'assert not isinstance(y, Array) or isinstance(y, Shaped[Array, "b d"])',
        ],
    ),
    "a function that is jaxtyped already gets no second decorator": (
        """
        @jaxtyping.jaxtyped(typechecker=typechecker)
        def f(x: Float[Array, "b d"]):
            y = g(x)  # (b, d)
            return y
        """,
        ['assert not isinstance(y, Array) or isinstance(y, Shaped[Array, "b d"])'],
    ),
    "methods, properties and nested functions: under their other decorators": (
        """
        class M:
            @property
            def w(self) -> Float[Array, "n n"]:
                @jax.checkpoint
                def inner(a: Float[Array, "n"]):
                    return a
                return inner(self.a)
            @staticmethod
            # why
            def s(x: Float[Array, "n"]): return x
        """,
        ["@jaxtyped(typechecker=beartype)"] * 3,
    ),
}


@pytest.mark.parametrize("name", INSERTED)
def test_claims_become_code(name: str, inserted: Callable[[str], list[str]]) -> None:
    source, expected = INSERTED[name]
    assert inserted(HEAD + source.replace("\n        ", "\n")) == expected


LEFT = {
    "y = point(x)  # (x, y)": "tentative",
    "x = [g(a) for a in x]\n    # shape: (b, d)\n    y = x": "several values",
    "y = h(g(x) +  # shape: (b, d)\n        x)": "several values",
    "return g(x)  # shape: (b, d)": "no name",
    "cache['k'] = g(x)  # shape: (b, d)": "no name",
    "a = 1; y = g(x)  # shape: (b, d)": "shares its line",
    "if x: y = g(x)  # shape: (b, d)": "shares its line",
    "q, k = g(x)  # shape: (b, d)": "each element",
    "y = g(x)  # shape: (b, d) or (d, b)": "alternatives",
    "y: tuple[Float[Array, 'b']] = g(x)": "isinstance",
    "y: 'Float[Array, \"b\"]' = g(x)": "isinstance",
    "y: Float[Array, '2*k'] = g(x)": "needs the size of k",
    "y = g(x)  # shape: (b, d)\n    yield y": "generator",
    "h = jax.vmap(lambda a: a)(x)\n    def inner(b):\n        c = g(b)  # shape: (m, d)\n": "vmap",
}


@pytest.mark.parametrize("body", LEFT)
def test_what_has_several_readings_or_no_name_is_left_and_told(
    body: str, outcome: Callable[[str], RewriteOutcome], inserted: Callable[[str], list[str]]
) -> None:
    source = f"{HEAD}\ndef f(x, m=1):\n    {body}\n"
    assert inserted(source) == []
    reasons = {left.reason for left in outcome(source).left if left.line > 6}
    assert len(reasons) == 1
    assert LEFT[body] in reasons.pop()


DECLARATIONS = {
    "async": 'async def f(x: Float[Array, "b"]):\n    return x',
    "overload": '@overload\ndef f(x: Float[Array, "b"]): ...',
    "abstract": '@abc.abstractmethod\ndef f(x: Float[Array, "b"]):\n    return x',
    "stub": 'def f(x: Float[Array, "b"]) -> Float[Array, "b"]:\n    """Doc."""\n    raise NotImplementedError',
    "unbound arithmetic": 'def f(x: Float[Array, "2*b"]) -> Float[Array, "b"]:\n    return x',
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_functions_whose_calls_jaxtyping_cannot_judge_are_left(
    name: str, outcome: Callable[[str], RewriteOutcome], inserted: Callable[[str], list[str]]
) -> None:
    source = f"{HEAD}\n{DECLARATIONS[name]}\n"
    assert inserted(source) == []
    assert outcome(source).checked == 0
    assert outcome(source).left


def test_claims_are_counted_each_once(outcome: Callable[[str], RewriteOutcome]) -> None:
    source = """
    from jaxtyping import Array, Float, jaxtyped
    def f(x: Float[Array, "b d"]) -> Float[Array, "b"]:
        y = g(x)  # (b, d//2)
        return h(y)  # (b,)
    @jaxtyped(typechecker=None)
    def g(x: Float[Array, "b d"]):
        return x
    """
    found = outcome(source)
    assert (found.checked, found.partly, found.already, len(found.left)) == (3, 1, 1, 1)


def test_imports_are_made_once_under_names_that_the_file_does_not_use(inserted: Callable[..., list[str]]) -> None:
    source = """
    from jaxtyping import Float
    import jax

    Array = jax.numpy.ndarray

    def jaxtyped(x):
        return x

    def f(x: Float[jax.Array, "b"], beartype: Float[jax.Array, "b"]):
        y = g(x)  # (b,)
        return y
    """
    assert inserted(source) == [
        "@_jaxtyped(typechecker=_beartype)",
        'assert not isinstance(y, _Array) or isinstance(y, Shaped[_Array, "b"])',
    ]


IMPORTS = [
    ('"""Doc."""\nfrom __future__ import annotations\n\nimport os\nos.environ["A"] = "1"\n\nimport jax\n', 6),
    ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n", 2),
    ("#!/usr/bin/env python\n# coding: latin-1\nimport os\n", 2),
    ("import os\n\n# first of all\nimport jax\nfrom a import (\n    b,\n)\n", 2),
    ("import os; x = (\n    1)\n", 0),
    ('"""Doc."""\n', 1),
    ("def before():\n    import os\n\nimport jax\n", 0),
]


@pytest.mark.parametrize(("head", "line"), IMPORTS)
def test_imports_go_to_the_head_of_the_last_paragraph_of_imports(head: str, line: int) -> None:
    source = f"{head}def f(x):\n    y = x\n    y = g(x)  # shape: (b, s)\n    return y\n"
    lines = insert("m.py", source.encode(), RewriteOptions(shapes=True)).data.decode().splitlines()
    assert [number for number, text in enumerate(lines) if "isort: skip" in text] == [line]
    assert ("noqa: E402" in lines[line]) == ("environ" in head)
