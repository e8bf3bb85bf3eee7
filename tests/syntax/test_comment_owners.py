"""What a comment hangs on, whatever stands around it."""

from __future__ import annotations

import ast
import textwrap

import pytest

from shapecheck.syntax.comment_owners import comment_owners
from shapecheck.syntax.owners import Behind, Between, CommentOwner, UnreadableError
from shapecheck.syntax.source_text import SourceText, parse_text


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
    read = parse_text("module.py", textwrap.dedent(source).lstrip("\n"))
    owners = comment_owners(read, read.comments).owners
    return {comment.text.lstrip("# "): _sentence(owners.get(comment)) for comment in read.comments}


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
    source = parse_text("module.py", text)
    owners = comment_owners(source, source.comments[2:3]).owners
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
    read = parse_text("module.py", f"{source}\nz = g(x)  # (n,)\n")
    owned = comment_owners(read, read.comments)
    assert [(comment.text, _sentence(owner)) for comment, owner in owned.owners.items()] == [
        ("# (n,)", "behind z = g(x)")
    ]
    assert [(comment.text, reason) for comment, reason in owned.unread.items()] == [
        (
            "# (b, t)",
            "the shape comments of this statement are not checked: the statement on line 1 nests too deeply for libcst",
        )
    ]


def test_a_long_table_is_not_deep():
    source = "y = [\n" + "    [1, 2, 3],\n" * 3000 + "    f(x),  # (b, t)\n]\n"
    assert _owners(source) == {"(b, t)": "in " + _code(ast.parse(source).body[0].value) + ", behind f(x)"}


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("y = f('\udc80')  # (b, t)", "y = f('')"),  # a lone surrogate, as some codecs give
        (text := "y = [a async\n  for b in c]  # (b, t)", text),  # a bug of libcst 1.9
    ],
    ids=["surrogate", "async"],
)
def test_text_that_libcst_cannot_take_is_refused(text, like):
    source = SourceText("module.py", text, ast.parse(like))
    owned = comment_owners(source, source.comments)
    (reason,) = owned.unread.values()
    assert (owned.owners, "libcst cannot parse it" in reason) == ({}, True), reason


BUG = "[a async\n for b in c]"
"""What libcst 1.9 cannot parse: a word of two lines."""


def test_what_libcst_cannot_parse_hides_the_smallest_statements():
    read = parse_text(
        "module.py",
        f"""\
x = f(a)  # one
class A:
    y: int  # two

    @decorator  # three
    def g(self):  # four
        z = {BUG}  # five
        return z  # six

    # seven
    def h(self):
        if z:  # eight
            return ({BUG},  # nine
                0)
        # ten
        return 0
""",
    )
    owned = comment_owners(read, read.comments)
    assert {comment.text[2:]: _sentence(owner) for comment, owner in owned.owners.items()} == {
        "one": "behind x = f(a)",
        "two": "behind y: int",
        "four": "behind @decorator",
        "six": "behind return z",
        "seven": "below @decorator, a blank line; above def h(self):",
        "eight": "behind if z:",
        "ten": "below if z:; above return 0",
    }
    assert [comment.text[2:] for comment in owned.unread] == ["five", "nine"]


def test_what_shares_a_line_with_a_statement_that_libcst_cannot_parse_is_hidden_with_it():
    read = parse_text("module.py", f"if x: y = {BUG}\nelse: y = f(x)  # (n,)\nz = g(x)  # (m,)\n")
    owned = comment_owners(read, read.comments)
    assert [comment.text for comment in owned.owners] == ["# (m,)"]
    assert [comment.text for comment in owned.unread] == ["# (n,)"]
    with pytest.raises(UnreadableError, match="libcst cannot parse it"):  # behind a semicolon
        read = parse_text("module.py", f"x = {BUG}; y = f(x)  # (n,)\n")
        comment_owners(read, read.comments)


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
    source = SourceText("module.py", "y = f(\n    x,  # (b, t)\n)", ast.parse("y = (\n    x  ,    \n)"))
    with pytest.raises(UnreadableError, match="libcst reads it in another way"):
        comment_owners(source, source.comments)
