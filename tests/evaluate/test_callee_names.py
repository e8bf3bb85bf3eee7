"""Functions that only hand their parameters on, to functions which have other words for the same axes."""

from __future__ import annotations

import pytest

HEAD = """
import jax
import jax.numpy as jnp

def linear(w, b, x):
    # w: (d_in, d_out)
    # b: (d_out,)
    # x: (batch, d_in)
    return x @ w + b  # (batch, d_out)

def dense(params, x):
    # x: (batch, d_in)
    w = params["kernel"]  # (d_in, d_out)
    b = params["bias"]  # (d_out,)
    return x @ w + b  # (batch, d_out)

"""

CASES = {
    # the second layer takes what the first one gives: neither its names nor its sizes are those of the first
    "layers.py": """
def two(w1, b1, w2, b2, x):
    # x: (n, d)
    y = jax.nn.relu(linear(w1, b1, x))  # (n, h)
    z = linear(w2, b2, y)  # (n, k)
    return z.T  # (n, k)  ~SC201

def of_entries(params, x):
    # x: (batch, d_in)
    y = dense(params["first"], x)  # (batch, h)
    return dense(params["second"], y).T  # (batch, k)  ~SC201

def three(params, x):
    # x: (n, d)
    y = of_entries(params["front"], x)  # (k, n)
    return dense(params["back"], y.T).T  # (n, m)  ~SC201
""",
    # with as many steps as a window is long there is one window, as there need not be; but none where one is made
    "windows.py": """
def slide(y, h):
    \"\"\"y: array of shape (n_steps,), h: how long a window is.\"\"\"
    starts = jnp.arange(len(y) - h + 1)
    return jax.vmap(lambda i: y[i + jnp.arange(h)])(starts)

def spread(spans, y):
    \"\"\"spans: shape (n_samples, n_windows, h).\"\"\"
    h = spans.shape[-1]
    slides = slide(y, h=h)[None]  # (1, n_windows, h)  ~unreached
    return spans - slides

def centred(spans):
    \"\"\"spans: shape (n_samples, n_windows, h).\"\"\"
    means = spans.mean(1, keepdims=True)  # (n_samples, n_windows, h)  ~SC201
    return spans - means
""",
    # what the caller says of the one argument says what the callee's names are in another
    "words.py": """
def one(params, x):
    # x: (n, d)
    y = dense(params["first"], x)  # (n, h)
    w = params["first"]["kernel"]  # (d, h)
    return w.T  # (d, h)  ~SC201

def swapped(w, b, x):
    # x: (d_out, d_in)
    y = linear(w, b, x)  # (d_out, h)
    return y + 1.0  # (h, d_out)  ~SC201

def mapped(w, b, x):
    # x: (n, t, d)
    y = jax.vmap(linear, in_axes=(None, None, 0))(w, b, x)  # (n, t, h)
    return y.sum(axis=1)  # (n, t)  ~SC201
""",
    # what a layer gives, only the caller's comment says
    "results.py": """
def conv(kernel, x):
    # kernel: (kh, kw, c_in, c_out)
    # x: (n, h, w, c_in)
    dims = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dims)  # (n, h, w, c_out)

def residual(p, x):
    # x: (n, h, w, c)
    y = jax.nn.relu(conv(p["conv1"], x))  # (n, h, w, c)  ~unreached
    y = conv(p["conv2"], y)  # (n, h, w, c)
    return x + y  # (n, h, c, w)  ~SC201

def wider(p, x):
    # x: (n, h, w, c)
    return conv(p["conv"], x)  # (n, h, w, 2 * c)  ~unreached

def named(p, x):
    # x: (n, h, w, c)
    y = conv(p["conv"], x)  # (n, h, w, k)
    return y * 2  # (n, h, w, c)  ~SC201
""",
    # what a called function alone names is held against nothing that it is given, one shape or another
    "alternatives.py": """
def scale(w, x):
    '''Scale.

    Args:
        w: array of shape (n,) or (n, k)
        x: (n, m)
    '''
    return x

def twice(v, w, y):
    # y: (rows, cols)
    a = scale(v, y)  # (rows, cols)
    b = scale(w, a.T)  # (cols, rows)
    return b.T  # (cols, rows)  ~SC201
""",
    # a caller that hands on what cannot fit any sizes
    "mistakes.py": """
def strict(w, x):
    # w: (d_in, d_out)
    # x: (batch, d_in)  ~SC201
    return x @ w  # ~SC301

def shared(w, x):
    # x: (n, d)  ~unreached
    y = strict(w, x)  # (n, h)  ~unreached
    return y + strict(w, jnp.concatenate([x, x], axis=1))
""",
    # arguments were made as the docstring says, whatever comments further on make of its names
    "outvoted.py": """
def twice(x):
    '''Twice.

    Args:
        x: (n, d)
    '''
    y = x * 2  # (d, n)  ~SC201
    z = x + 1  # (d, n)  ~SC201
    return y + z

def tentative(features, w):
    '''features: [b, s, c] flattened feature map of the backbone.'''
    # w: [c, d]
    b = features.shape[0]
    memory = features @ w  # [b, s, c]  ~SC201
    return memory.sum()
""",
}


@pytest.fixture(scope="module")
def folder(check_folder):
    return check_folder({name: HEAD + text for name, text in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_names_of_callees_are_those_of_their_calls(folder, name: str) -> None:
    assert folder.cases[name].as_marked()
