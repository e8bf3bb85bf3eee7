"""The Python in texts: which blocks there are, and on which lines they stand."""

from __future__ import annotations

import ast
import textwrap

import pytest

from shapecheck.files.code_blocks import blocks_of_docstrings, blocks_of_document, main_blocks


def pairs(text: str) -> list[tuple[int, str]]:
    return [(block.line, block.text.strip()) for block in blocks_of_document(textwrap.dedent(text))]


@pytest.mark.parametrize(
    "info", ["python", "py", "Python", "python title='x.py'", "{code-cell} ipython3", "{.python}", "pycon"]
)
def test_a_fence_of_python_is_a_block(info: str) -> None:
    assert pairs(f"# Title\n\n```{info}\nx = 1\n```\n") == [(4, "x = 1")]


@pytest.mark.parametrize("info", ["", "bash", "yaml", "output", "json"])
def test_a_fence_of_anything_else_is_none(info: str) -> None:
    assert pairs(f"```{info}\nx = 1\n```\n") == []


def test_fences_may_be_indented_and_hold_others() -> None:
    text = """\
        !!! example

            ````python
            x = '''
            ```
            '''
            ````
        """
    assert pairs(text) == [(4, "x = '''\n```\n'''")]


def test_directives_of_restructured_text() -> None:
    text = """\
        .. code-block:: python
           :linenos:

           x = 1

           y = 2

        .. code-block:: bash

           ls

        Prose.
        """
    assert pairs(text) == [(4, "x = 1\n\ny = 2")]


def test_doctests_stand_where_they_stand_without_what_they_print() -> None:
    text = """\
        Prose.

        >>> x = (1,
        ...      2)
        >>> x
        (1, 2)

        ```python
        >>> y = 3
        ```
        >>> broken(  # doctest: +SKIP
        """
    assert pairs(text) == [(3, "x = (1,\n     2)"), (5, "x"), (9, "y = 3")]


def test_what_a_doctest_says_to_raise_is_known() -> None:
    text = ">>> f(1)\nTraceback (most recent call last):\nValueError: no\n>>> f(2)\n2\n"
    assert [block.raises for block in blocks_of_document(text)] == [True, False]


def test_what_is_no_python_is_no_block() -> None:
    assert pairs("```python\nmodel = Model(...\n```\n```python\n...\n!pip install x\n```\n") == [(5, "...\npass")]


def test_docstrings_of_all_that_has_one() -> None:
    text = textwrap.dedent('''\
        """Module.

        >>> a
        """
        class C:
            """Without."""
            def f(self):
                """Method.

                    >>> b
                    1
                """
        text = """
        >>> c
        """
        ''')
    found = [[(block.line, block.text) for block in blocks] for blocks in blocks_of_docstrings(ast.parse(text))]
    assert found == [[(3, "a\n")], [(10, "b\n")]]


def test_the_body_under_main() -> None:
    text = 'import x\nif __name__ == "__main__":\n    y = 1\n\n    z = y\nif __name__ == "other":\n    w = 1\n'
    found = main_blocks(ast.parse(text), text)
    assert [(block.line, block.text) for block in found] == [(3, "y = 1\n\nz = y")]
