"""A name may be that of a size which the code computes of others: who calls it gives arrays that fit."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    "products.py": """
def tokens(image: Float[Array, "h w c"], pos: Float[Array, "n c"]) -> Float[Array, "n c"]:
    return image.reshape(-1, image.shape[-1]) + pos

def summed(image: Float[Array, "h w c"], pos: Float[Array, "n c"]) -> Float[Array, "n"]: ~SC203
    return image.reshape(-1, image.shape[-1]) + pos

def mixed(image: Float[Array, "h w c"], pos: Float[Array, "n d"]): ~unreached
    return image.reshape(-1, image.shape[-1]) + pos ~SC305

def flat(image: Float[Array, "b h w c"], w: Float[Array, "f o"]) -> Float[Array, "b o"]:
    return image.reshape(image.shape[0], -1) @ w

def merged(x: Float[Array, "t h k"], w: Float[Array, "hk d"]) -> Float[Array, "t d"]:
    return x.reshape(x.shape[0], -1) @ w

def kron(x: Float[Array, "n n"], y: Float[Array, "m m"], v: Float[Array, "k"]) -> Float[Array, "k"]:
    return jnp.kron(x, y) @ v
""",
    "sums.py": """
def joined(x: Float[Array, "n d"], z: Float[Array, "k d"], pos: Float[Array, "m d"]) -> Float[Array, "m d"]:
    return jnp.concatenate([x, z]) + pos

def prompted(image: Float[Array, "h w d"], z: Float[Array, "k d"], pos: Float[Array, "m d"]) -> Float[Array, "m d"]:
    return jnp.concatenate([z, image.reshape(-1, image.shape[-1])]) + pos

def convolved(x: Float[Array, "t"], k: Float[Array, "j"], bias: Float[Array, "s"]) -> Float[Array, "s"]:
    return jnp.convolve(x, k, mode="valid") + bias
""",
    # an axis beside it has one of the sizes already, or it follows from its own
    "beside.py": """
def scored(x: Float[Array, "n d"], y: Float[Array, "m d"]): ~unreached
    return (x[:, None] - y).sum(-1) + x.reshape(-1) ~SC301

def halved(x: Float[Array, "n d"], y: Float[Array, "n d"]): ~unreached
    return jnp.concatenate([x, x]) + y ~SC301
""",
    # what follows from one other size may be a slip: it is told, with what it would have to be
    "of_one.py": """
def pairs(x: Float[Array, "n n"], v: Float[Array, "k"]): ~unreached
    return x[jnp.triu_indices(x.shape[0])] * v ~SC305

def filtered(x: Float[Array, "t"], w: Float[Array, "f"]): ~unreached
    return jnp.fft.irfft(jnp.fft.rfft(x) * w, n=x.shape[0]) ~SC305
""",
    # nobody knows how: that proves nothing
    "unknown.py": """
def strided(x: Float[Array, "t"], w: Float[Array, "f"]): ~unreached
    return x[: int(x.shape[0] ** 0.5)] * w ~SC302
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_follow_from_others_are_no_errors(folder, name):
    assert folder.cases[name].as_marked()


def test_the_relation_of_one_size_to_another_is_told(folder):
    told = {finding.message: finding.severity for finding in folder.report.findings if finding.code == "SC305"}
    for relation in ("k = n*(n+1)//2", "f = t//2+1"):
        assert [severity for message, severity in told.items() if relation in message] == ["note"], told
