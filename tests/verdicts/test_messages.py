"""A message says what is wrong, what stands there, what the names mean and where that came from, and who called."""

from __future__ import annotations

import json

import pytest

FILES = {
    "model.py": """
import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray


class Attention(eqx.Module):
    wq: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, d_model: int, heads: int, *, key: PRNGKeyArray):
        self.wq = eqx.nn.Linear(d_model, d_model, key=key)
        self.heads = heads

    def __call__(self, x: Float[Array, "seq d_model"]) -> Float[Array, "seq d_model"]:
        q = jax.vmap(self.wq)(x)
        q = q.reshape(x.shape[0], self.heads, -1)  # (heads, seq, d_head)
        return q.reshape(x.shape)


class Block(eqx.Module):
    attn: Attention

    def __init__(self, d_model: int, heads: int, *, key: PRNGKeyArray):
        self.attn = Attention(d_model, heads, key=key)

    def __call__(self, x):
        return x + self.attn(x)


class Model(eqx.Module):
    blocks: list[Block]

    def __init__(self, d_model: int, heads: int, n_layers: int, *, key: PRNGKeyArray):
        self.blocks = [Block(d_model, heads, key=k) for k in jax.random.split(key, n_layers)]

    def __call__(self, x: Float[Array, "seq d_model"]) -> Float[Array, "seq d_model"]:
        for block in self.blocks:
            x = block(x)
        for block in self.blocks:
            x = block(x)
        return x
""",
    "parts.py": """
from typing import NamedTuple
from jaxtyping import Array, Float


class Part(NamedTuple):
    mean: Float[Array, "d"]
    weight: Float[Array, ""]


def split(x: Float[Array, "n d"]):
    \"\"\"Returns:
        parts (n, d): one for each row.
    \"\"\"
    both = {"whole": x, "turned": x.T}  # (n, d)
    return [Part(both["whole"][0], x.sum()), Part(both["whole"][1], x.sum())]
""",
    "broken.py": """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class Mlp(eqx.Module):
    up: Array
    down: Array

    def __init__(self, d_model: int, hidden: int, *, key: PRNGKeyArray):
        self.up = jax.random.normal(key, (d_model, hidden))
        self.down = jax.random.normal(key, (d_model, hidden))

    def __call__(self, x: Float[Array, "d_model"]) -> Float[Array, "d_model"]:
        h = jnp.maximum(x @ self.up, 0)
        return jnp.einsum(
            "h,hd->d",
            h,
            self.down,
        )


def subtract(x: Float[Array, "n d"], y: Float[Array, "m n d"]) -> Float[Array, "n d"]:
    mean = x.sum(axis=-1)
    return x - mean
""",
    "calls.py": """
from jaxtyping import Array, Float


def norm(x: Float[Array, "n d"], centre: Float[Array, "d"]) -> Float[Array, "n d"]:
    return x - centre.sum()


def first(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    for _ in range(3):
        x = norm(x, x[:, 0])
    return norm(x, x[:, 0])
""",
    "overloaded.py": """
from typing import overload
from jaxtyping import Array, Float


@overload
def head(x: Float[Array, "m n"]) -> Float[Array, "m"]: ...


def head(x: Float[Array, "m n"]) -> Float[Array, "m"]:
    return normalize(x[:, 0]) + 1


def normalize(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return x[:, None]
""",
    "handed.py": """
def update(mean, measured, weight):
    \"\"\"Update.

    Args:
        mean: shape (states,)
        measured: shape (measures,)
        weight: shape (measures, states)
    \"\"\"
    return mean + weight.T @ (measured - weight @ mean)


def step(mean, measured, weight):
    \"\"\"One step.

    Args:
        mean: shape (states,)
        measured: shape (states,)
        weight: shape (measures, states)
    \"\"\"
    return update(mean, measured, weight)
""",
    "twice.py": """
from jaxtyping import Array, Float


def trace(x: Float[Array, "n n"]) -> Float[Array, "1"]:
    \"\"\"The trace.

    Returns:
        Float[Array, "1"]: The trace.
    \"\"\"
    return x.trace()
""",
    "multiple.py": """
import jax.numpy as jnp


def init(d_in, d_hid):
    return {"wx": jnp.zeros((d_in, 3 * d_hid)), "wh": jnp.zeros((d_hid, 3 * d_hid))}


def gates(p, h, x):
    # h: (b, hidden), x: (b, features)
    y = x @ p["wx"]  # (b, 2*hidden)
    return h @ p["wh"] + y
""",
    "pair.py": """
def both(x, y):  # x: (n, m), y: (n, m)
    a = x + y  # (n, m)
    b = a.sum(axis=1)  # (n,)
    c = a.T  # (n, m)
    return b, c
""",
    "ended.py": """
import jax.numpy as jnp
from jaxtyping import Array, Float


def reported(x: Float[Array, "n d"]):
    y = x.T  # (n, d)
    return y, jnp.ones((3, 4)) @ jnp.ones((3, 4))


def explained(x: Float[Array, "n d"]):
    y = x.T  # (n, d)
    return y @ y
""",
    "halves.py": """
from jaxtyping import Array, Float


def halves(x: Float[Array, "n d"]):
    return x[::2, : x.shape[1] % 7]  # (n, d)
""",
    "ones.py": """
import jax.numpy as jnp


def doubled(x):
    \"\"\"x: (n,).

    Returns:
        Array of shape (m,).
    \"\"\"
    m = 1
    return jnp.zeros((m, 1))
""",
    "heads.py": """
def split(x, num_heads: int):
    \"\"\"x: (b, t, d).\"\"\"
    b, t, d = x.shape
    k = d // num_heads
    y = x.reshape(b, t, num_heads, k)  # (b, t, k, num_heads)
    z = x.swapaxes(1, 2)  # (b, t, d)
    return y, z
""",
    "square.py": """
import jax.numpy as jnp
from jaxtyping import Array, Float
from shapecheck import example


def triple(x: Float[Array, "height width"]):
    y = jnp.stack([x, x, x])  # (4, height, width)
    return y


@example
def square():
    return triple, jnp.ones((16, 16))


def last(x: Float[Array, "batch width"]):
    y = x.sum(-1, keepdims=True)  # (batch, width)
    return y


@example
def one():
    return last, jnp.ones((1, 16))
""",
}


@pytest.fixture(scope="module")
def findings(tmp_path_factory, command_line):
    """Findings of one run of the command line, by file."""
    folder = tmp_path_factory.mktemp("messages")
    for name, text in FILES.items():
        (folder / name).write_text(text.lstrip())
    outputs = [command_line(folder, "check", ".", "--output-format", form).stdout for form in ("json", "full")]
    found: dict[str, list] = {}
    for finding in json.loads(outputs[0])["findings"]:
        found.setdefault(finding["path"], []).append(finding)
    return found, outputs[1]


def block(text: str, start: str) -> str:
    """The paragraph of the full report that begins with `start`."""
    return next(p for p in text.split("\n\n") if p.startswith(start))


def test_bindings_their_origins_stage_and_caller(findings) -> None:
    found, text = findings
    (finding,) = found["model.py"]  # four calls, two layers: one finding
    assert (finding["code"], finding["line"], finding["column"]) == ("SC201", 16, 54)
    assert finding["message"] == "comment says (heads, seq, d_head), but q is (seq, heads=8, 6)"
    assert finding["bindings"]["heads"] == "8"
    assert finding["stage"] == "blocks[0].attn"
    details = block(text, "model.py:16:54")
    assert "heads=8 (self.heads)" in details
    assert 'seq from x: Float[Array, "seq d_model"] (model.py:14)' in details
    assert "in stage blocks[0].attn, called from Block.__call__ (model.py:27)" in details
    assert "        q = q.reshape(x.shape[0], self.heads, -1)  # (heads, seq, d_head)" in details


def test_a_fix_is_withheld_where_code_fails_which_is_an_error_only_if_it_is_reported(findings) -> None:
    found, _ = findings
    assert [(each["code"], each["line"]) for each in found["ended.py"]] == [("SC201", 6), ("SC301", 7), ("SC201", 11)]
    false = [each for each in found["ended.py"] if each["code"] == "SC201"]
    assert "line 7 raises a shape error" in false[0]["details"][-1]
    assert "line 12 does not run with everything that was tried" in false[1]["details"][-1]
    assert [each["fix"] for each in false] == [None, None]


def test_what_is_in_a_container_is_told_with_the_way_to_it(findings) -> None:
    found, _ = findings
    assert [each["message"] for each in found["parts.py"]] == [
        "docstring says (n, d), but the returned value[0].mean is (d,)",
        "comment says (n, d), but both['turned'] is (d, n)",
    ]


def test_a_shape_error_shows_the_users_line_the_operation_and_the_arrays(findings) -> None:
    found, text = findings
    error, narrow = found["broken.py"]
    assert (error["code"], error["severity"], error["line"]) == ("SC305", "error", 17)
    assert error["message"].startswith(
        "this runs only where hidden = d_model, which the claims leave open: einsum does not fit, Size of label"
    )
    assert error["observed"] == "h: float32[80], self.down: float32[48, 80]"
    assert "evaluated for broken:Mlp" in block(text, "broken.py:17")
    assert "where d_model = 48, hidden = 80" in block(text, "broken.py:17")  # which no size of a dim tells
    # it says what the code would need
    assert (narrow["code"], narrow["severity"], narrow["line"]) == ("SC305", "error", 26)
    assert narrow["message"].startswith(
        "this runs only where d = n, which the claims tell apart: subtract does not fit"
    )
    assert narrow["observed"] == "x: float32[n=68, d=76], mean: float32[n=68]"
    assert "evaluated for n=68, d=76" in block(text, "broken.py:26")
    assert "site-packages" not in text


def test_a_wrong_argument_is_one_finding_that_names_its_caller(findings) -> None:
    found, text = findings
    (finding,) = found["calls.py"]
    assert (finding["code"], finding["line"]) == ("SC202", 4)
    assert finding["message"] == 'annotation says Float[Array, "d"], but argument centre is (n,)'
    assert 'd from x: Float[Array, "n d"] (calls.py:4)' in block(text, "calls.py:4")
    assert "called from first (calls.py:10)" in block(text, "calls.py:4")


def test_what_a_caller_says_otherwise_of_an_argument_is_told(findings) -> None:
    found, text = findings
    (finding,) = found["handed.py"]
    assert (finding["code"], finding["line"]) == ("SC207", 7)
    assert "step (line 17) says (states,) of measured, and line 6 says (measures,)" in block(text, "handed.py:7")


def test_a_docstring_that_repeats_a_false_annotation_is_no_finding_of_its_own(findings) -> None:
    found, text = findings
    (finding,) = found["twice.py"]
    assert (finding["code"], finding["line"]) == ("SC203", 4)
    assert "the docstring says the same on line 8" in block(text, "twice.py:4")


def test_a_name_that_only_comments_know_points_to_the_comment_that_bound_it(findings) -> None:
    found, text = findings
    (finding,) = found["pair.py"]
    assert (finding["code"], finding["line"]) == ("SC201", 4)
    assert finding["message"] == "comment says (n, m), but c is (m, n)"
    assert "from comment (n, m) (pair.py:1)" in block(text, "pair.py:4")


def test_of_two_names_for_one_size_it_takes_the_one_that_the_claim_has_there(findings) -> None:
    found, _ = findings
    assert found["square.py"][0]["message"] == "comment says (4, height, width), but y is (3, height=16, width=16)"


def test_a_size_that_is_computed_reads_as_python_writes_it(findings) -> None:
    found, _ = findings
    assert found["halves.py"][0]["message"] == "comment says (n, d), but the returned value is ((n+1)//2, d%7)"


def test_an_axis_of_size_one_is_not_called_by_the_name_of_another(findings) -> None:
    found, _ = findings
    assert found["square.py"][1]["message"] == "comment says (batch, width), but y is (batch=1, 1)"


def test_of_two_names_that_a_size_is_a_multiple_of_it_takes_the_smaller_factor(findings) -> None:
    found, _ = findings
    assert found["multiple.py"][0]["message"].endswith("is (b, 3*hidden=240)")


def test_a_dim_that_the_code_divides_is_the_whole_size(findings) -> None:
    found, _ = findings
    first, second = found["heads.py"]
    assert first["message"] == "comment says (b, t, k, num_heads), but y is (b, t, num_heads=8, d//8)"
    assert first["bindings"]["k"] == "d//8"
    assert second["message"] == "comment says (b, t, d), but z is (b, d, t)"
    assert second["bindings"]["d"] == "d"


def test_an_axis_of_size_one_has_the_name_of_another_place_only_there(findings) -> None:
    found, _ = findings
    assert found["ones.py"][0]["message"] == "docstring says (m,), but the returned value is (1, 1)"


def test_what_an_overload_says_shows_in_no_code_and_hides_no_finding(findings) -> None:
    found, text = findings
    assert [(each["code"], each["line"]) for each in found["overloaded.py"]] == [("SC203", 9), ("SC203", 13)]
    assert "called from head (overloaded.py:10)" in block(text, "overloaded.py:13")
