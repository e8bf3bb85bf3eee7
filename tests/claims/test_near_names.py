"""Which dims are slips of the pen, and which names mean themselves."""

from __future__ import annotations

import pytest

SLIPS = {
    "two letters of a short name swapped": ("def f(x, dim):\n    y = g(x)  # (dmi, h, w)", ["dmi -> dim"]),
    "a letter that a short part lacks": (
        "def f(x, max_len):\n    y = g(x)  # (batch, max_ln, heads)",
        ["max_ln -> max_len"],
    ),
    "alone, of two claims": (
        "def f(x):\n    y = g(x)  # (max_len, heads)\n    z = g(y)  # (max_len, heads)\n    m = h(z)  # (max_ln,)",
        ["max_ln -> max_len"],
    ),
    "of a parameter": ("def f(x, n_classes):\n    y = g(x)  # (batch, n_clases)", ["n_clases -> n_classes"]),
    "of a parameter, beside unknown names": (
        "def f(x, embed_size):\n    y = g(x)  # (time, embd_size)",
        ["embd_size -> embed_size"],
    ),
    "of what is unpacked": (
        "def f(x):\n    B, channels = x.shape\n    y = g(x)  # (B, chanels)",
        ["chanels -> channels"],
    ),
    "of the function around": (
        "def f(x, hidden_size):\n    def g(x):\n        y = h(x)  # (batch, hidden_szie)\n        return y",
        ["hidden_szie -> hidden_size"],
    ),
    "of the constructor": (
        "class A:\n    def __init__(self, n_levels): ...\n    def f(self, x):\n        y = g(x)  # (batch, n_levls)",
        ["n_levls -> n_levels"],
    ),
    "of an attribute": (
        "class A:\n    def f(self, x):\n        y = g(x, self.cfg.n_levels)  # (batch, n_levls)",
        ["n_levls -> n_levels"],
    ),
    "of another claim": (
        "def f(x):\n    y = g(x)  # shape: (batch, hidden)\n    z = g(x)  # shape: (batch, hiden)",
        ["hiden -> hidden"],
    ),
}

NONE = {
    "short names that are no variables": "def f(x):\n    y = g(x)  # (bhw, d)\n    z = g(x)  # (bwh, d)",
    "a letter that a part lacks at its end": "def f(x, num_keys):\n    y = g(x)  # (batch, num_key)",
    "a word of the trade": "def f(x, batch):\n    y = g(x)  # (patch, batch)\n    z = g(x)  # (patch_size, dim)",
    "lengths": "def f(x, q_len):\n    y = g(x)  # (batch, k_len)",
    "a plural": "def f(x, n_expert):\n    y = g(x)  # (batch, n_experts)",
    "numbers": "def f(x, features1):\n    y = g(x)  # (batch, features2)",
    "a first letter": "def f(x, xcoord_size, heads):\n    y = g(x)  # (ycoord_size, nheads)",
    "a name that is bound": "def f(x, embed_size):\n    embd_size = 3\n    y = g(x)  # (time, embd_size)",
    "a name that stands twice": (
        "def f(x, embed_size):\n    y = g(x)  # (time, embd_size)\n    z = g(x)  # (embd_size,)"
    ),
    "a name beside": "def f(x):\n    y = g(x)  # (n_levels, n_levals)",
    "no size": "def f(x, scaled):\n    y = g(x)  # (batch, scale)",
    "no size, for it has elements": "def f(x, n_pos):\n    y = g(x, n_pos[0])  # (n_pts, batch)",
    "words joined otherwise": "def f(x, qlen):\n    y = g(x)  # (batch, q_len)",
    "another function's": "def f(x, n_classes): ...\ndef h(x):\n    y = g(x)  # (batch, n_clases)",
}


@pytest.mark.parametrize(("source", "expected"), SLIPS.values(), ids=SLIPS)
def test_slips(read, source, expected):
    assert [f"{near.name} -> {near.nearest}" for near in read(source).near_names] == expected


@pytest.mark.parametrize("source", NONE.values(), ids=NONE)
def test_names_that_mean_themselves(read, source):
    assert read(source).claims
    assert not read(source).near_names
