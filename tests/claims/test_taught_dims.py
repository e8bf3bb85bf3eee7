"""Names that are no usual words for axes: texts that show them to be some teach the reader to read the others."""

from __future__ import annotations

import textwrap

import pytest

from shapecheck.claims import read_module


def shapes(text: str) -> list[str]:
    """The shapes that are read in a module, in order."""
    return [claim.text for claim in read_module("m.py", textwrap.dedent(text).encode()).claims]


UNKNOWN = """
    def step(alpha, trans):
        # alpha: (tags,)
        table = alpha[:, None] + trans  # (tags, tags)
        return table.max(0)
"""
DOCUMENTED = '''
    def best(trans, scores):
        """Args:
        trans: (tags, tags)
        scores: (time, tags)
        """
'''


@pytest.mark.parametrize("text", [UNKNOWN, DOCUMENTED])
def test_alone_such_names_may_list_anything(text: str) -> None:
    assert shapes(text) == []


@pytest.mark.parametrize(
    "lesson",
    [
        '''
    def emit(x):
        """Args:
        x: scores of shape (batch, time, tags).
        """
''',
        """
    def emit(x):
        y = x * 2  # (batch, time, tags)
        return y
""",
        """
    def emit(x):
        y = x * 2  # shape: (tags, 3)
        return y
""",
        """
    def emit(x):
        y = x * 2  # (time, tags)
        return y + 1  # (time, tags)
""",
    ],
)
@pytest.mark.parametrize(
    ("text", "read"), [(UNKNOWN, ["(tags,)", "(tags, tags)"]), (DOCUMENTED, ["(tags, tags)", "(time, tags)"])]
)
def test_elsewhere_in_the_file_they_are_shown_to_be_axes(lesson: str, text: str, read: list[str]) -> None:
    assert shapes(lesson + text)[-len(read) :] == read


@pytest.mark.parametrize(
    "lesson",
    [
        "y = f(x)  # (loss, aux)",  # nothing in it is an axis
        "y = f(x)  # the mean (batch, loss, aux) of all",  # in the middle of a sentence
        "y = f(x)  # (m, m, batch)",  # a letter is no more an axis for being one elsewhere
    ],
)
def test_what_may_be_no_shape_teaches_nothing(lesson: str) -> None:
    text = f"""
    {lesson}
    z = g(y)  # integral of order (m, m+1)
    w = h(z)  # (loss, aux)
    """
    assert not {"(m, m+1)", "(loss, aux)"} & {*shapes(text)}


@pytest.mark.parametrize(
    ("entries", "read"),
    [
        ("phi: (zetas, thetas)\n    theta: (thetas,) grid", ["(zetas, thetas)", "(thetas,)"]),
        ("phi (array): (zetas, thetas)\n    theta: (thetas,)", ["(zetas, thetas)", "(thetas,)"]),
        ("phi: (low, high)\n    theta: (thetas,) grid", ["(thetas,)"]),
        ("phi: (zetas, thetas)\n    theta: the thetas", []),
    ],
)
def test_a_tuple_of_one_name_in_a_docstring_shows_it_to_be_an_axis(entries: str, read: list[str]) -> None:
    assert shapes(f'def f(phi, theta):\n    """F.\n\n    Args:\n    {entries}\n    """\n') == read


@pytest.mark.parametrize(
    ("docstring", "read"),
    [
        ("Shuffle. gae and targets are (num_steps, num_envs).", ["(num_steps, num_envs)"] * 2),
        ("Mix. `gae`, `targets` and mask are all (batch, time), as the result is.", ["(batch, time)"] * 3),
        ("Here gae is (batch, time).", ["(batch, time)"]),
        ("Clip: gae and targets are (min, max) pairs.", []),
        ("gae and others are (batch, time).", []),  # others are no parameter
        ("gae is (batch, time) or (time,).", []),
        ("gae: (batch, time), targets: (time,) and more", ["(batch, time)", "(time,)"]),
        ("gae (batch, time); targets (time,)", ["(batch, time)", "(time,)"]),
        ("The loss. gae: (batch, time), targets: (time,).", ["(batch, time)", "(time,)"]),
        ("gae: (batch, time), others: (time,)", ["(batch, time)"]),
        ("What is given as gae: `(batch, time)`, `3` and so on.", []),  # the notations of it
    ],
)
def test_a_sentence_gives_the_shape_of_parameters_that_it_names(docstring: str, read: list[str]) -> None:
    assert shapes(f'def f(gae, targets, mask):\n    """{docstring}"""\n') == read
