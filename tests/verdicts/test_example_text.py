"""The example to paste fits the function or class that it names."""

from __future__ import annotations

import ast

import pytest

from shapecheck.claims import read_module
from shapecheck.verdicts.unreached import example_text

HEAD = "import equinox as eqx\nfrom jaxtyping import Array, Float, Int\n\n"


def returned(source: str) -> str:
    """What the example of the first claim's function returns; it is Python."""
    module = read_module("m.py", source.encode())
    text = example_text(module, module.claims[0].scope)
    ast.parse(text)
    return text.splitlines()[-1].strip().removeprefix("return ")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('def f(x: Float[Array, "b d"]): ...', 'f, Float[Array, "b d"]'),
        ("def f(x: 'Float[Array, \"b d\"]'): ...", 'f, Float[Array, "b d"]'),
        ('def f(x: Int[Array, "b"], n: int, m: int, scale=3): ...', 'f, Int[Array, "b"], 48, 80'),
        (
            'def f(x: Float[Array, "b"], *, key, cfg, eps: float = 0.1): ...',
            'functools.partial(f, key=jax.random.key(0), cfg=...), Float[Array, "b"]',
        ),
        ("def f(x):\n    y = x.T  # shape: (b, d)\n", "f, ..."),
        (
            'def f(x):\n    """Go.\n\n    Args:\n        x: array of shape (b, 2*d).\n    """',
            'f, Float[Array, "b 2*d"]',
        ),
        ("def outer(n: int):\n    def f(x: Float[Array, 'b']): ...\n", "outer, 48"),
        (
            "class Net(eqx.Module):\n    w: Float[Array, 'd k']\n    n: int\n    rate: float = 0.1\n"
            "    def __call__(self, x: Float[Array, 'd']): ...\n",
            'Net(w=Float[Array, "d k"], n=48), Float[Array, "d"]',
        ),
        (
            "class Net:\n    def __init__(self, width: int, *, key): ...\n"
            "    def forward(self, x: Float[Array, 'width'], mask: Float[Array, 'n'] | None): ...\n",
            'Net(width=48, key=jax.random.key(0)).forward, Float[Array, "width"], None',
        ),
        ("def f():\n    y = g()  # shape: (b, d)\n", "f,"),
    ],
)
def test_arguments_are_those_of_the_signature(source: str, expected: str) -> None:
    assert returned(HEAD + source) == expected


def test_it_imports_what_the_file_lacks() -> None:
    source = 'def f(x, key):\n    """Go.\n\n    Args:\n        x: array of shape (b,).\n    """\n'
    module = read_module("m.py", source.encode())
    lines = example_text(module, module.claims[0].scope).splitlines()
    assert {"import jax", "from jaxtyping import Array, Float", "from shapecheck import example"} <= set(lines)
    known = read_module("m.py", (HEAD + 'def f(x: Float[Array, "b"]): ...').encode())
    assert not any("jaxtyping" in line for line in example_text(known, known.claims[0].scope).splitlines())
