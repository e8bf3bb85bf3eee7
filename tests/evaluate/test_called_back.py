"""What a library calls back is held against its annotations, though the library then refuses what it gave."""

from __future__ import annotations

MODULE = """
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

class Layer(eqx.Module):
    attention: eqx.nn.MultiheadAttention

    def __init__(self, embed_size: int, num_heads: int, key: PRNGKeyArray):
        self.attention = eqx.nn.MultiheadAttention(num_heads, embed_size, key=key)

    def wrong(self, x: Float[Array, "length {self.attention.query_size}"]) -> Float[Array, "length width"]:
        def turned(
            q: Float[Array, "s h d"], k: Float[Array, "s h d"], v: Float[Array, "s h e"]
        ) -> tuple[Float[Array, "s h d"], Float[Array, "s h d"], Float[Array, "s h e"]]:  ~SC203
            return q.swapaxes(0, 1), k, v

        return self.attention(x, x, x, process_heads=turned)

    def right(self, x: Float[Array, "length {self.attention.query_size}"]) -> Float[Array, "length width"]:
        def doubled(
            q: Float[Array, "s h d"], k: Float[Array, "s h d"], v: Float[Array, "s h e"]
        ) -> tuple[Float[Array, "s h d"], Float[Array, "s h d"], Float[Array, "s h e"]]:
            return 2 * q, k, v

        return self.attention(x, x, x, process_heads=doubled)
"""


def test_a_false_result_of_what_is_called_back_is_found(check_folder) -> None:
    case = check_folder({"layer.py": MODULE}).cases["layer.py"]
    assert [mark for mark in case.actual if mark[1] != "unreached"] == case.expected, case.details
