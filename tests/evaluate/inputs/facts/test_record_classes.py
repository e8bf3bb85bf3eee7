"""What a function reads off a parameter of which nothing is said tells of which record it is."""

from __future__ import annotations

import pytest

HEAD = """
import dataclasses
from typing import NamedTuple
import equinox as eqx
import jax
import jax.numpy as jnp
"""

CASES = {
    # also where it is only handed on
    "records.py": """
class Graph(NamedTuple):
    nodes: jax.Array  # (n, d)
    senders: jax.Array  # (e,) int

@dataclasses.dataclass(frozen=True)
class Config:
    hidden: int = 32
    heads: int = 4
def sent(g):
    return g.nodes[g.senders]  # (e, d)

def wrong(g):
    return g.nodes[g.senders]  # shape: (e,)  ~SC201

def handed(g):
    return sent(g).sum(-1)  # (e,)

def settings(cfg, x):
    '''x: (n, hidden)'''
    q = x.reshape(-1, cfg.heads, cfg.hidden // cfg.heads)  # (n, heads, hidden // heads)
    return q.transpose(1, 0, 2)  # (n, heads, hidden // heads)  ~SC201

class Factors(NamedTuple):
    items: jax.Array  # (m, k)

def gram(f):
    return f.items.T @ f.items  # shape: (k,)  ~SC201

def unknown(other):
    return other.edges * 2  # (e, d)  ~unreached

def array(x):
    return x.T.shape
""",
    # a dict in a record has what is looked up in it, as numbers
    "tables.py": """
class Inducing(NamedTuple):
    points: jax.Array  # (m, d)
    likelihood: dict
    jitter: float = 1e-6

def energy(phi, x):
    '''x: (n, d)'''
    noise = jnp.asarray(phi.likelihood["noise_var"])
    k = x @ phi.points.T + phi.jitter  # (n, m)
    wrong = k.T  # (n, m)  ~SC201
    return k * noise  # (n, m)
""",
    # of two that have it, the one that the parameter is called by
    "several.py": """
class Graph(NamedTuple):
    nodes: jax.Array  # (n, d)
    senders: jax.Array  # (e,) int

class Other(NamedTuple):
    nodes: jax.Array
    senders: jax.Array

def named(graph):
    return graph.nodes[graph.senders]  # (e, d)

def of_none(x):
    return x.nodes[x.senders]  # (e, d)  ~unreached
""",
    # a constructor's list of widths, which it lengthens
    "widths.py": """
class Net(eqx.Module):
    layers: list
    last: eqx.nn.Linear

    def __init__(self, inputs, channels, *, key):
        k_out, *keys = jax.random.split(key, len(channels) + 1)
        sizes = [2 * inputs] + list(channels)
        pairs = zip(sizes[:-1], sizes[1:], keys)
        self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in pairs]
        self.last = eqx.nn.Linear(channels[-1], 3, key=k_out)

    def __call__(self, x):
        '''x: (2*inputs,)'''
        for layer in self.layers:
            x = layer(x)
        return self.last(x)  # shape: (inputs,)  ~SC201
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_records_of_the_file_are_what_code_reads_off_them(folder, name):
    assert folder.cases[name].as_marked()


def test_a_record_of_another_module_is_known_by_what_is_read_off_it(check_folder) -> None:
    cases = {
        "pkg/__init__.py": "",
        "pkg/state.py": HEAD
        + """
class Inducing(NamedTuple):
    points: jax.Array  # (m, d)
    weights: jax.Array  # (m,)

class Other(NamedTuple):
    points: jax.Array
    jitter: jax.Array
""",
        "pkg/energy.py": HEAD
        + """
def mean(phi):
    return phi.weights @ phi.points  # (d,)

def wrong(phi):
    return phi.points.T @ phi.weights  # shape: (m, d)  ~SC201

def too_little(phi):
    return phi.points * 2  # (m, d)  ~unreached

def of_none(phi):
    return phi.weights @ phi.missing  # (d,)  ~unreached
""",
    }
    assert check_folder(cases).cases["pkg/energy.py"].as_marked()
