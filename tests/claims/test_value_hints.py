"""What docstrings say of parameters beside shapes: plain types where there is no annotation, and texts."""

from __future__ import annotations

import pytest

from shapecheck.claims import read_module
from shapecheck.claims.value_hints import texts_of, type_of


@pytest.mark.parametrize(
    ("description", "name"),
    [
        (": bool. Whether to.", "bool"),
        (" (float, optional): a factor", "float"),
        ("(`integer`) of them", "int"),
        (" an int", "int"),
        (": string, one of two", "str"),
        (": An array with the kind of each", "array"),
        ("\n        The array of all kinds.", "array"),
        (" (jnp.ndarray): points", "array"),
        (": jax.Array", "array"),
        (" (jnp.ndarray | float): a point", "array or number"),
        (": float or jax.Array", "array or number"),
        (" (np.ndarray, float): points", "array"),  # a dtype
        (": 0, 1, or 2 for the first, second or third", "int"),
        (": 0, 1 or 2 for each of them", ""),
        (": 0, 1", ""),
        (": as an array", ""),
        (": list of np.ndarray", ""),
        # What holds such numbers is none, nor what only mentions them.
        (": float array", ""),
        (": list of int", ""),
        (" (int or None): how many", ""),
        ("how many, int", ""),
    ],
)
def test_the_type_that_a_description_begins_with(description: str, name: str) -> None:
    assert type_of(description) == name


GOOGLE = """
    Args:
        a: int. How many.
        b (bool): whether.
        c: float array.
"""
NUMPY = """
    Parameters
    ----------
    a : int
        How many.
    b : bool, optional
    c : array of float
"""
SPHINX = """
    :param int a: how many
    :param b: whether
    :type b: bool
    :param c: float array
"""
LIST = """
    - a: int, how many.
    b: bool
    c: float array
"""


@pytest.mark.parametrize("style", [GOOGLE, NUMPY, SPHINX, LIST])
@pytest.mark.parametrize("of_class", [False, True])
def test_each_style_gives_parameters_their_types(style: str, of_class: bool) -> None:
    text = f'class C:\n    """Do it.\n{style}    """\n    def __init__(self, a, b, c): ...\n'
    if not of_class:
        text = f'def f(a, b, c):\n    """Do it.\n{style}    """\n'
    module = read_module("a.py", text.encode())
    hints = {(module.scopes[each.scope].qualname, each.parameter, each.type) for each in module.hints}
    owner = "C.__init__" if of_class else "f"
    assert hints == {(owner, "a", "int"), (owner, "b", "bool")}


@pytest.mark.parametrize(
    ("description", "texts"),
    [
        (": one of 'first', 'last'", ("first", "last")),
        (" : {'mean', 'sum'}, optional", ("mean", "sum")),
        (": either `causal` or None", ("causal",)),
        (": either of `mode`", ()),  # its own name
        (": called 'first' elsewhere", ()),
    ],
)
def test_the_texts_that_a_description_lists(description: str, texts: tuple[str, ...]) -> None:
    assert texts_of(description, ("mode",)) == texts


def test_texts_stand_in_docstrings_of_annotated_parameters() -> None:
    text = """
class C:
    '''Do it.

    Args:
        how: one of 'up',
            'down'.
        why: 'because'.
    '''
    def __init__(self, how: str, why: str): ...
"""
    (hint,) = read_module("a.py", text.encode()).hints
    assert (hint.parameter, hint.texts) == ("how", ("up", "down"))


def test_annotated_parameters_need_no_docstring() -> None:
    text = f'def f(a: int, b: bool, c: float):\n    """Do it.\n{GOOGLE}    """\n'
    assert read_module("a.py", text.encode()).hints == ()
