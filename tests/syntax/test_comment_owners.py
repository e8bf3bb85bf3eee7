"""What a comment hangs on, whatever stands around it."""

from __future__ import annotations

import ast
import textwrap

import pytest

from shapecheck.syntax.comment_owners import comment_owners
from shapecheck.syntax.comment_tokens import find_comments
from shapecheck.syntax.owners import Behind, Between, CommentOwner, UnreadableError


def _code(node: ast.AST | None) -> str:
    return "nothing" if node is None else ast.unparse(node).partition("\n")[0]


def _sentence(owner: CommentOwner | None) -> str:
    if owner is None:
        return "nothing"
    if isinstance(owner, Behind):
        return f"behind {_code(owner.statement)}"
    if isinstance(owner, Between):
        above = f"below {_code(owner.above)}{', a blank line' * owner.blank_above}; "
        below = " / ".join(map(_code, owner.paragraph)) or "nothing"
        return (
            f"{above}above {'a blank line, ' * owner.blank_below}{below}{'' if owner.aligned else '; indented apart'}"
        )
    if owner.parameter:
        return f"parameter {owner.parameter}"
    if owner.opened is not None:
        return f"opens {_code(owner.opened)}"
    words = [f"in {_code(owner.enclosing[-1])}"] if owner.enclosing else []
    words += [f"behind {_code(owner.before[-1])}"] if owner.before else []
    words += [f"before {_code(owner.after[0])}"] if owner.after else []
    return ", ".join(words) or "no expression"


def _owners(source: str) -> dict[str, str]:
    text = textwrap.dedent(source).lstrip("\n")
    tree = ast.parse(text)
    comments = find_comments(text, tree)
    owners = comment_owners(text, tree, comments, set(comments))
    return {comment.text.lstrip("# "): _sentence(owners.get(comment)) for comment in comments}


def test_behind_statements():
    assert _owners(
        """
        x = f(a); y = g(a)  # the last on the line
        z = h(
            a,
        )  # the whole
        if a:  # header
            pass
        elif b:  # another
            pass
        else:  # no statement
            pass
        def k(a): return a  # inner
        match x:  # subject
            case 1:  # no statement of its own
                pass
        try:  # begins
            pass
        except ValueError:  # none
            pass
        finally:  # none either
            pass
        """
    ) == {
        "the last on the line": "behind y = g(a)",
        "the whole": "behind z = h(a)",
        "header": "behind if a:",
        "another": "behind if b:",
        "no statement": "nothing",
        "inner": "behind return a",
        "subject": "behind match x:",
        "no statement of its own": "nothing",
        "begins": "behind try:",
        "none": "nothing",
        "none either": "nothing",
    }


def test_between_statements():
    assert _owners(
        '''
        # first
        """A docstring."""

        # heads three
        a = 1
        b = 2; c = 3
        # parts them
        d = 4

        if a:
            # inner

            e = 5
            # ends the branch
        else:
            # begins the other
            f = 6
        # behind it all

        @wraps  # decorator
        # between decorator and function
        def g():
            h = 7

            # ends the body

        # the last
        '''
    ) == {
        "first": "below nothing; above 'A docstring.'",
        "heads three": "below 'A docstring.', a blank line; above a = 1 / b = 2 / c = 3",
        "parts them": "below c = 3; above d = 4",
        "inner": "below nothing; above a blank line, e = 5",
        "ends the branch": "below e = 5; above nothing",
        "begins the other": "below nothing; above f = 6",
        "behind it all": "below if a:; above a blank line, @wraps",
        "decorator": "nothing",
        "between decorator and function": "below nothing; above @wraps",
        "ends the body": "below h = 7, a blank line; above nothing",
        "the last": "below @wraps, a blank line; above nothing",
    }


def test_a_comment_is_indented_as_the_statements_of_its_block_are():
    assert _owners(
        """
        def f():
        # too little
            a = 1
              # too much
            b = 2
            # just so
            c = 3
        """
    ) == {
        "too little": "below nothing; above a = 1; indented apart",
        "too much": "below a = 1; above b = 2; indented apart",
        "just so": "below b = 2; above c = 3",
    }


def test_inside_expressions():
    assert _owners(
        """
        y = f(  # opens
            a,  # argument
            # above a keyword
            key=g(b),  # keyword
            other=  # value to come
            c,
            **{
                # above an entry
                "k": d,  # entry
                "l":  # value behind the colon
                e,
            },
        )
        z = (  # group
            x.sum(0)  # link
            # above a link
            .mean(1)
            + w[
                i,  # index
                j:k,
            ]
        )  # whole
        v = [
            p(q)  # element
            for q in (  # where from
                r
            )
            if q  # condition
        ]
        u = (s or t  # of three
             or o)
        """
    ) == {
        "opens": "opens f(a, key=g(b), other=c, **{'k': d, 'l': e})",
        "argument": "in f(a, key=g(b), other=c, **{'k': d, 'l': e}), behind a, before g(b)",
        "above a keyword": "in f(a, key=g(b), other=c, **{'k': d, 'l': e}), behind a, before g(b)",
        "keyword": "in f(a, key=g(b), other=c, **{'k': d, 'l': e}), behind g(b), before c",
        "value to come": "in f(a, key=g(b), other=c, **{'k': d, 'l': e}), before c",
        "above an entry": "in {'k': d, 'l': e}, before d",
        "entry": "in {'k': d, 'l': e}, behind d, before e",
        "value behind the colon": "in {'k': d, 'l': e}, before e",
        "group": "opens x.sum(0).mean(1) + w[i, j:k]",
        "link": "in x.sum(0).mean, behind x.sum(0)",
        "above a link": "in x.sum(0).mean, behind x.sum(0)",
        "index": "in w[i, j:k], behind i, before j",
        "whole": "behind z = x.sum(0).mean(1) + w[i, j:k]",
        "element": "in [p(q) for q in r if q], behind p(q), before q",
        "where from": "opens r",
        "condition": "in [p(q) for q in r if q], behind q",
        "of three": "in s or t or o, behind t, before o",
    }


def test_inside_headers():
    assert _owners(
        """
        @dec(
            a,  # decorator
        )
        def f(  # nothing yet
            x,  # first
            # above the second
            y: int = 3,
            *,  # star
            z=lambda q,  # inside a default
            r: q,
        ):  # the end
            pass
        class A(
            B,  # base
        ):
            pass
        for i in g(
            x,  # argument
        ):
            pass
        from m import (
            n,  # import
        )
        """
    ) == {
        "decorator": "nothing",
        "nothing yet": "before int",
        "first": "parameter x",
        "above the second": "parameter y",
        "star": "behind 3, before lambda q, r: q",
        "inside a default": "parameter z",
        "the end": "behind @dec(a)",
        "base": "behind B",
        "argument": "in g(x), behind x",
        "import": "no expression",
    }


def test_only_what_is_wanted_is_told():
    text = "x = f(\n    a,  # one\n)\n# two\ny = g(\n    b,  # three\n)\n"
    tree = ast.parse(text)
    comments = find_comments(text, tree)
    owners = comment_owners(text, tree, comments, {comments[2]})
    assert [(comment.text, _sentence(owner)) for comment, owner in owners.items()] == [("# three", "in g(b), behind b")]


def test_wide_characters_and_tabs():
    assert _owners('if a:\n\tx = "日本"; y = f(\n\t\t"é", b,  # inner\n\t)  # whole\n\t# below\n') == {
        "inner": "in f('é', b), behind b",
        "whole": "behind y = f('é', b)",
        "below": "below y = f('é', b); above nothing",
    }


def test_an_elif_chain_of_any_length():
    source = "if a:\n    x = 0\n" + "".join(f"elif b:\n    x = {n}  # {n}\n" for n in range(900))
    assert _owners(source)["899"] == "behind x = 899"


@pytest.mark.parametrize(
    "source",
    [
        "y = a" + " + a" * 2000 + "  # (b, t)",
        "y = " + "not " * 2000 + "a  # (b, t)",
        "y = " + "lambda: " * 2000 + "a  # (b, t)",
        "if a" + ".b" * 2000 + ":\n    y = f(x)  # (b, t)",
    ],
    ids=["sum", "not", "lambda", "header"],
)
def test_what_would_take_libcst_minutes_is_refused(source):
    # libcst takes 10 seconds for 2,900 operands, and dies of 5,000 lambdas.
    text, tree = source, ast.parse(source)
    with pytest.raises(UnreadableError, match="line 1 nests too deeply"):
        comment_owners(text, tree, find_comments(text, tree), ())


def test_a_long_table_is_not_deep():
    source = "y = [\n" + "    [1, 2, 3],\n" * 3000 + "    f(x),  # (b, t)\n]\n"
    assert _owners(source) == {"(b, t)": "in " + _code(ast.parse(source).body[0].value) + ", behind f(x)"}


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("y = f('\udc80')  # (b, t)", "y = f('')"),  # a lone surrogate, as some codecs give
        ("y = [a async\n  for b in c]  # (b, t)", "y = [a async for b in c]"),  # a bug of libcst 1.9
    ],
    ids=["surrogate", "async"],
)
def test_text_that_libcst_cannot_take_is_refused(text, like):
    with pytest.raises(UnreadableError, match="libcst cannot parse it"):
        comment_owners(text, ast.parse(like), find_comments(text, None), ())


def test_a_generator_shares_the_brackets_of_its_call():
    assert _owners(
        """
        y = sum(  # opens
            # above the element
            f(x)  # element
            for x in xs  # iterable
        )
        """
    ) == {
        "opens": "opens sum((f(x) for x in xs))",
        "above the element": "in (f(x) for x in xs), before f(x)",
        "element": "in (f(x) for x in xs), behind f(x), before x",
        "iterable": "in sum((f(x) for x in xs)), behind xs",
    }


def test_trees_that_do_not_correspond_are_refused():
    text = "y = f(\n    x,  # (b, t)\n)"
    comments = find_comments(text, None)
    with pytest.raises(UnreadableError, match="libcst reads it in another way"):
        comment_owners(text, ast.parse("y = (\n    x  ,    \n)"), comments, set(comments))
