"""Lines that `instrument` wrote are not evaluated: they would stop at the first mismatch."""

from __future__ import annotations

import ast

from shapecheck.evaluate.probes import ast_probes
from shapecheck.rewrite import RewriteOptions, instrument

MODEL = """import jax.numpy as jnp
from jaxtyping import Array, Float


@decorated
def f(x: Float[Array, "b d"], n: int = 1):
    y: Float[Array, "b d"] = x.T
    for z in y:
        z = jnp.sum(z)  # shape: ()
    return z
"""


def test_the_worker_compiles_what_the_user_wrote() -> None:
    wanted = RewriteOptions(shapes=True, numerics=True, breakpoint=True, prints=("*",))
    written = instrument("m.py", MODEL.encode(), wanted).data
    assert written.count(b"inserted") > 10
    plain, probed = (ast_probes.instrument(data, "m.py", (), ()) for data in (MODEL.encode(), written))
    assert ast.dump(probed) == ast.dump(plain)


def test_line_numbers_stay_those_of_the_file() -> None:
    written = instrument("m.py", MODEL.encode(), RewriteOptions(shapes=True)).data
    (function,) = (n for n in ast_probes.instrument(written, "m.py", (), ()).body if isinstance(n, ast.FunctionDef))
    assert written.splitlines()[function.lineno - 1].startswith(b"def f")
