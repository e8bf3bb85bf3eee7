"""A size may follow from others as the file writes it, and be named otherwise where it is taken: that is no error."""

from __future__ import annotations

import pytest

HEAD = """
from typing import NamedTuple
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

"""

CASES = {
    # what is joined along its features, by an annotation of the file, or by nobody's word
    "joined.py": """
class Normalizer(NamedTuple):
    mean: Float[Array, " xu"]
    std: Float[Array, " xu"]

def join(obs: Float[Array, "*batch x"], act: Float[Array, "*batch u"]) -> Float[Array, "*batch x+u"]:
    return jnp.concatenate([obs, act], axis=-1)

def normalised(norm: Normalizer, obs: Float[Array, "b x"], act: Float[Array, "b u"]) -> Float[Array, "b xu"]:
    z: Float[Array, "b xu"] = (join(obs, act) - norm.mean) / norm.std
    return z

def transposed(norm: Normalizer, obs: Float[Array, "b x"], act: Float[Array, "b u"]) -> Float[Array, "b xu"]: ~SC203
    return ((join(obs, act) - norm.mean) / norm.std).T
""",
    "alone.py": """
def shifted(mean: Float[Array, "z"], obs: Float[Array, "b x"], act: Float[Array, "b u"]) -> Float[Array, "b z"]:
    return jnp.concatenate([obs, act], axis=-1) - mean

def mixed(mean: Float[Array, "z"], obs: Float[Array, "b x"], act: Float[Array, "b x"]): ~unreached
    return jnp.concatenate([obs, act], axis=0) - mean[:, None] ~SC305
""",
    # in words of a docstring, and in the annotation of another function
    "words.py": """
def upsampled(mel, hop: int):
    '''mel: [B, F, M]'''
    return jnp.repeat(mel, hop, axis=1)  # [B, F * hop, M]

def conditioned(x, mel, hop: int):
    '''Adds the frames to the samples.

    Args:
      x: [B, T, M], where T = F * hop.
      mel: [B, F, M].
    '''
    return x + upsampled(mel, hop)  # [B, T, M]
""",
    "annotated.py": """
class Chain(NamedTuple):
    ends: Float[Array, "2 bond"]
    cores: Float[Array, "mid bond bond"]

def make(key, sites: int, bond: int) -> Chain:
    cores: Float[Array, "sites-2 bond bond"] = jax.random.normal(key, (sites - 2, bond, bond))
    return Chain(jnp.zeros((2, bond)), cores)

def weighted(chain: Chain, phi: Float[Array, "sites"]) -> Float[Array, "mid bond bond"]:
    return chain.cores * phi[1:-1, None, None]
""",
    # a record's sizes are the integers that are called as they are
    "records.py": """
class Head(NamedTuple):
    cls_w: Float[Array, "ch a*cls"]
    box_w: Float[Array, "ch a*4"]

def apply(
    head: Head, feat: Float[Array, "b m ch"], num_classes: int
) -> tuple[Float[Array, "b n cls"], Float[Array, "b n 4"]]:
    logits = feat @ head.cls_w
    return logits.reshape(feat.shape[0], -1, num_classes), (feat @ head.box_w).reshape(feat.shape[0], -1, 4)

def folded(
    head: Head, feat: Float[Array, "b m ch"], num_classes: int
) -> tuple[Float[Array, "b n cls"], Float[Array, "b n 4"]]: ~SC203
    logits = feat @ head.cls_w
    return logits.reshape(feat.shape[0], -1, num_classes), (feat @ head.box_w).reshape(-1, feat.shape[0], 4)
""",
    # a product of a model's integers, that its own code computes; no axis that counts data follows it
    "fused.py": """
import equinox as eqx

class Fused(eqx.Module):
    weight: Float[Array, "rows width"]
    heads: int
    size: int

    def __init__(self, width: int, heads: int, size: int, key):
        self.heads, self.size = heads, size
        self.weight = jax.random.normal(key, (3 * heads * size, width))

    def load(self, loaded):
        '''Args:
            loaded: weights [proj_size, width]
        '''
        end = self.heads * self.size
        rows = self.weight.at[:end, :].set(loaded)  # [rows, width]
        return loaded * 2  # [proj_size, width]

    def turned(self, frames):
        '''Args:
            frames: [seq_len, width]  ~unreached
        '''
        end = self.heads * self.size
        return self.weight.at[:end, :].set(frames)  ~SC305
""",
    # a quotient that is written is one of sizes that can be divided
    "quotients.py": """
def grouped(q, k):
    '''
    q (B, T, H, K): queries
    k (B, S, G, K): keys, each shared by H // G query heads
    '''
    B, T, H, K = q.shape
    G = k.shape[2]
    q = q.reshape(B, T, G, H // G, K)  # (B, T, G, H // G, K)
    return jnp.einsum("btgrk,bsgk->bgrts", q, k)  # (B, G, H // G, T, S)

def wrong(q, k):
    '''
    q (B, T, H, K): queries
    k (B, S, G, K): keys, each shared by H // G query heads
    '''
    B, T, H, K = q.shape
    G = k.shape[2]
    q = q.reshape(B, T, G, H // G, K)  # (B, T, G, H // G, K)
    return jnp.einsum("btgrk,bsgk->bgrts", q, k)  # (B, G, H // G, S, T)  ~SC201
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_relations_that_are_written_are_no_errors(folder, name):
    assert folder.cases[name].as_marked()
