"""What claims mean: source text and observed values in, verdicts out; nothing is evaluated."""

from __future__ import annotations

import itertools
import textwrap
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest

from shapecheck import claims
from shapecheck.model import (
    ArrayValue,
    Assumption,
    Call,
    Evaluation,
    Module,
    NamedSize,
    Observation,
    OtherValue,
    TreeValue,
    Value,
)
from shapecheck.verdicts import judge as judging
from shapecheck.verdicts.claim_outcome import dtype_fits
from shapecheck.verdicts.judge import judge

HEAD = "from jaxtyping import Array, Float, Int, PyTree, Shaped\n"


def evaluation_of(*calls: Call) -> Evaluation:
    """A test that ran to its end."""
    return Evaluation(
        target="m:f", origin="test", path="m.py", line=1, mode="sized", status="ok", reason="", calls=calls
    )


def array(*shape: str, dtype: str = "float32", mapped: tuple[str, ...] = ()) -> ArrayValue:
    return ArrayValue(dtype, shape, mapped)


def tree(kind: str, *children: Value) -> TreeValue:
    return TreeValue(kind, kind, tuple(map(str, range(len(children)))), children)


def source_module(text: str) -> Module:
    return claims.read_module("m.py", (HEAD + textwrap.dedent(text)).encode())


def read(
    text: str,
    seen: list[tuple[str, Value]],
    *,
    names: Mapping[str, str] | None = None,
    parents: Mapping[str, str] | None = None,
    loosely: bool = False,
) -> dict[str, str]:
    """What became of each claim: "good", "bad dim", "unknown", ...; `seen` has what was observed, in order.

    `names` are visible integers; `parents` maps a function to the one around it. With `loosely` those that are good
    but for names that nothing else binds are "loose".
    """
    module = claims.read_module("m.py", (HEAD + text).encode())
    by_text = {f"{c.target} {c.text}": c for c in module.claims}
    found = tuple(NamedSize(n, s, f"self.{n}") for n, s in (names or {}).items())
    observations: dict[int, list[Observation]] = {}
    for label, value in seen:
        claim = by_text[label]
        site = module.sites[claim.sites[0]]
        observations.setdefault(site.scope, []).append(Observation(site.index, value, found))
    numbers = {module.scopes[scope].qualname: number for number, scope in enumerate(sorted(observations))}
    calls = []
    for scope in sorted(observations):
        name = module.scopes[scope].qualname
        outer = numbers[(parents or {})[name]] if name in (parents or {}) else None
        calls.append(
            Call(path="m.py", scope=scope, number=numbers[name], parent=outer, observations=tuple(observations[scope]))
        )
    evaluation = Evaluation(
        target="m:f",
        origin="test",
        path="m.py",
        line=1,
        mode="symbolic",
        status="ok",
        reason="",
        calls=tuple(calls),
    )
    verdicts = judge({"m.py": module}, [[evaluation]])
    result = {}
    for index, claim in enumerate(module.claims):
        key, label = ("m.py", index), f"{claim.target} {claim.text}"
        if key in verdicts.bad:
            result[label] = f"bad {verdicts.bad[key].mismatch.reason}"
        elif loosely and key in verdicts.loose:
            result[label] = "loose"
        elif key in verdicts.good:
            result[label] = "good"
        elif key in verdicts.unknown:
            result[label] = "unknown"
    return result


def test_the_comment_that_contradicts_most_others_is_the_stale_one_even_if_it_comes_first() -> None:
    text = "def f(x):\n    a = x.T  # (b, t)\n    c = a + 1  # (t, b)\n    d = a + 2  # (t, b)\n"
    shape = array("n", "m")
    assert read(text, [("a (b, t)", shape), ("c (t, b)", shape), ("d (t, b)", shape)]) == {
        "a (b, t)": "bad dim",
        "c (t, b)": "good",
        "d (t, b)": "good",
    }


def test_what_two_comments_agree_on_outweighs_what_follows_on_a_mistake() -> None:
    text = (
        "def f(x):\n    a = x.T  # (b, t)\n    c = a[None]  # (h, b, t)\n"
        "    d = g(c)  # (h, t, t)\n    e = d + 1  # (b, h, t)\n    o = e[0]  # (h, t)\n"
    )
    before = [("a (b, t)", array("n", "m")), ("c (h, b, t)", array("2", "n", "m"))]
    after = [
        ("d (h, t, t)", array("2", "3", "3")),
        ("e (b, h, t)", array("n", "2", "3")),
        ("o (h, t)", array("2", "3")),
    ]
    assert read(text, before + after) == {
        "a (b, t)": "good",
        "c (h, b, t)": "good",
        "d (h, t, t)": "bad dim",
        "e (b, h, t)": "bad dim",
        "o (h, t)": "bad dim",
    }


def test_an_axis_of_one_is_what_most_comments_say_it_is() -> None:
    text = "def f(x):\n    a = g(x)  # (b, t, s)\n    c = h(a)  # (b, t, s)\n    d = h(c)  # (b, t, s)\n"
    stale, right = array("8", "6", "1"), array("8", "1", "6")
    seen = [("a (b, t, s)", stale), ("c (b, t, s)", right), ("d (b, t, s)", right)]
    assert read(text, seen) == {"a (b, t, s)": "bad dim", "c (b, t, s)": "good", "d (b, t, s)": "good"}
    seen = [("a (b, t, s)", array("8", "1", "6")), ("c (b, t, s)", array("8", "5", "6"))]
    assert read(text, seen) == {"a (b, t, s)": "bad dim", "c (b, t, s)": "good"}


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("[2, w, h]", tree("list", array("3", "5"), array("3", "5")), "good"),
        ("[w, h]", tree("list", array("3", "5"), array("3", "5")), "good"),
        ("[2, h, w]", tree("list", array("3", "5"), array("3", "5")), "bad rank"),
        ("[3, w, h]", tree("list", array("3", "5"), array("3", "5")), "bad rank"),
        ("[2, w, h]", tree("list", array("3", "5"), array("5", "3")), "bad rank"),
        ("[2, w]", tree("list", array("3"), array("5")), "bad rank"),
        ("(2,)", tree("tuple", array("3"), array("5")), "good"),
        ("(3,)", tree("tuple", array("4"), array("5")), "bad dim"),
        ("(2,)", tree("tuple", array("3"), array("3")), "bad dim"),
        ("[2, w, h]", tree("tuple", array("3", "5"), array("3", "5")), "good"),
        ("[k, w, h]", tree("tuple", array("3", "5"), array("3", "5")), "bad rank"),
        ("[k, w, h]", tree("list", array("3", "5"), array("3", "5")), "good"),
    ],
)
def test_a_list_may_be_described_as_the_array_that_it_would_be_stacked(text: str, value: Value, verdict: str) -> None:
    source = f'def f(x: Float[Array, "w"], y: Float[Array, "h"]):\n    grid = g(x, y)  # {text}\n'
    seen = [('x Float[Array, "w"]', array("3")), ('y Float[Array, "h"]', array("5")), (f"grid {text}", value)]
    assert read(source, seen)[f"grid {text}"] == verdict


@pytest.mark.parametrize(
    ("name", "dtype", "verdict"),
    [("keys", "uint32", "good"), ("words", "uint32", "bad rank"), ("keys", "float32", "bad rank")],
)
def test_the_words_of_raw_keys_may_be_left_out(name: str, dtype: str, verdict: str) -> None:
    text = f'def f(x: Float[Array, "n"]):\n    {name} = g(x)  # (n,)\n'
    seen = [('x Float[Array, "n"]', array("n")), (f"{name} (n,)", array("n", "2", dtype=dtype))]
    assert read(text, seen)[f"{name} (n,)"] == verdict


def test_a_name_that_each_turn_of_a_loop_binds_afresh_is_no_contradiction() -> None:
    text = (
        "def f(x):\n    for _ in y:\n        a = x.T  # (b, t)\n        c = a.T  # (t, b)\n        d = a.T  # (b, t)\n"
    )
    turns = [("a (b, t)", array("n", "4")), ("c (t, b)", array("4", "n")), ("d (b, t)", array("4", "n"))]
    turns += [("a (b, t)", array("n", "8")), ("c (t, b)", array("8", "n")), ("d (b, t)", array("8", "n"))]
    assert read(text, turns) == {"a (b, t)": "good", "c (t, b)": "good", "d (b, t)": "bad dim"}


def test_a_name_may_mean_one_size_before_a_loop_and_others_inside() -> None:
    text = (
        "def f(x):\n    a = x + 1  # (b, t)\n    for _ in y:\n        c = g(a)  # (b, t)\n        d = c.T  # (t, b)\n"
    )
    turns = [("a (b, t)", array("n", "2")), ("c (b, t)", array("n", "4")), ("d (t, b)", array("4", "n"))]
    turns += [("c (b, t)", array("n", "8")), ("d (t, b)", array("8", "n"))]
    assert read(text, turns) == {"a (b, t)": "good", "c (b, t)": "good", "d (t, b)": "good"}


@pytest.mark.parametrize(
    ("spec", "shape", "verdict"),
    [
        ("(batch_shape, n, m)", array("4", "5", "n", "m"), "good"),
        ("(batch_shape, n, m)", array("n", "m"), "good"),
        ("(batch_shape, n, m)", array("4", "5", "m", "n"), "bad rank"),
        ("(prefix, n, m)", array("4", "5", "n", "m"), "good"),
        ("(prefix, n, m)", array("n"), "bad rank"),
        ("(n, prefix, m)", array("n", "m"), "bad rank"),  # where axes may not be left open, it is one
        ("(n, grid)", array("n", "4", "5"), "good"),
        ("(n, lead)", array("n", "4", "5"), "bad rank"),
        ("(n, grid)", array("m", "4", "5"), "bad rank"),
    ],
)
def test_the_name_of_a_whole_shape_stands_for_all_its_axes(spec: str, shape: ArrayValue, verdict: str) -> None:
    text = f'grid = tuple(map(len, axes))\ndef f(x: Float[Array, "n m"]):\n    y = g(x)  # {spec}\n'
    seen = [('x Float[Array, "n m"]', array("n", "m")), (f"y {spec}", shape)]
    assert read(text, seen)[f"y {spec}"] == verdict


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("x.shape[:-1]", "good"),
        ("z.shape", "good"),
        ("(4,) + x.shape[1:]", "good"),
        ("x.shape[0]", "bad rank"),
        ("size(x)", "bad rank"),
    ],
)
def test_a_variable_is_a_whole_shape_where_the_file_sets_it_to_several_sizes(value: str, verdict: str) -> None:
    text = f'def f(x: Float[Array, "n m"]):\n    grid = {value}\n    y = g(x)  # (n, grid)\n'
    seen = [('x Float[Array, "n m"]', array("n", "m")), ("y (n, grid)", array("n", "4", "5"))]
    assert read(text, seen)["y (n, grid)"] == verdict


AGAIN = """
def f(load):
    data = load(7)
    a = data.x  # (b, t)
    c = data.y  # (t, b)
    data = {second}
    d = data.z  # (b, t)
    e = data.w  # (t, b)
"""


@pytest.mark.parametrize(("second", "verdict"), [("load(5)", "unknown"), ("data.half(c)", "bad dim")])
def test_names_may_mean_other_sizes_where_other_data_come_and_not_where_they_follow(second: str, verdict: str) -> None:
    seen = [("a (b, t)", array("7", "t")), ("c (t, b)", array("t", "7"))]
    seen += [("d (b, t)", array("5", "t")), ("e (t, b)", array("t", "5"))]
    assert read(AGAIN.format(second=second), seen) == {
        "a (b, t)": "good",
        "c (t, b)": "good",
        "d (b, t)": verdict,
        "e (t, b)": verdict,
    }


LEAVING_OUT = 'def f(x: Float[Array, "{dims}"]):\n    a = x + 1  # (t, h)\n    c = a.T  # (h, t)\n'


def test_leading_axes_may_be_left_out_by_all_comments_alike() -> None:
    seen = [("a (t, h)", array("b", "t", "h")), ("c (h, t)", array("b", "h", "t"))]
    assert read(LEAVING_OUT.format(dims="..."), seen) == {"a (t, h)": "good", "c (h, t)": "good"}


def test_leading_axes_that_an_annotation_names_may_not_be_left_out() -> None:
    x = ('x Float[Array, "b t h"]', array("b", "t", "h"))
    seen = [x, ("a (t, h)", array("b", "t", "h")), ("c (h, t)", array("b", "h", "t"))]
    result = read(LEAVING_OUT.format(dims="b t h"), seen)
    assert (result["a (t, h)"], result["c (h, t)"]) == ("bad rank", "bad rank")


def test_leading_axes_that_one_comment_names_may_not_be_left_out_by_another() -> None:
    text = "def f(x):\n    a = x + 1  # (b, t, h)\n    c = a.T  # (h, t)\n    d = a.T  # (h, t)\n"
    seen = [("a (b, t, h)", array("b", "t", "h")), ("c (h, t)", array("b", "h", "t"))]
    assert read(text, seen) == {"a (b, t, h)": "good", "c (h, t)": "bad rank"}


def test_under_vmap_exactly_the_mapped_axes_may_stand_in_front() -> None:
    text = 'def f(x: Float[Array, "b d"], w):\n    def g(r):\n        y = r @ w  # (b, m)\n        z = r @ w  # (m,)\n'
    x = ('x Float[Array, "b d"]', array("b", "d"))
    inner = [("y (b, m)", array("m", mapped=("b",))), ("z (m,)", array("m", mapped=("b",)))]
    result = read(text, [x, *inner], parents={"f.g": "f"})
    assert (result["y (b, m)"], result["z (m,)"]) == ("good", "good")


ONE = 'def f(x: Float[Array, "b d"], w):\n    def g(r{}):\n        y = r @ w  # (n, m)\n        z = r @ w  # {}\n'
ROWS = ('x Float[Array, "b d"]', array("b", "d"))
EACH = array("m", mapped=("b",))


@pytest.mark.parametrize("comment", ["(m,)", "(b, m)", "(n, m)", "..."])
def test_names_that_may_be_those_of_mapped_axes_are_no_finding_unless_another_comment_leaves_these_out(
    comment: str,
) -> None:
    seen = [("y (n, m)", EACH), *([] if comment == "..." else [(f"z {comment}", EACH)])]
    result = read(ONE.format("", comment), [ROWS, *seen], parents={"f.g": "f"})
    assert result["y (n, m)"] == ("bad rank" if comment == "(m,)" else "unknown")


def test_the_axes_of_vmap_may_have_the_names_of_integers_around() -> None:
    text = "def f(x):\n    y = x @ x  # (n, m)\n    def g(r):\n        z = r @ r  # {}\n"
    for comment, verdict in [("(n, d)", "good"), ("(m, d)", "bad rank")]:
        seen = [("y (n, m)", array("4", "5")), (f"z {comment}", array("7", mapped=("4",)))]
        result = read(text.format(comment), seen, names={"n": "4", "m": "5"}, parents={"f.g": "f"})
        assert result[f"z {comment}"] == verdict


@pytest.mark.parametrize(
    ("comment", "of_r", "verdict"),
    [
        ("(m,)", "the row", "unknown"),  # the comment speaks of one example, and the docstring to who calls with all
        ("(n, m)", "the row", "unknown"),
        ("(m,)", "of shape (d,)", "bad rank"),  # the docstring leaves them out itself
    ],
)
def test_a_docstring_may_name_the_axes_of_vmap_that_comments_leave_out(comment: str, of_r: str, verdict: str) -> None:
    text = (
        "def f(x):\n    def g(r):\n"
        f'        """\n        Args:\n            r: {of_r}.\n\n'
        f'        Returns:\n            of shape (n, m).\n        """\n'
        f"        y = r @ r  # {comment}\n        return y\n"
    )
    seen = [("the returned value (n, m)", EACH), (f"y {comment}", EACH)]
    seen += [("r (d,)", array("d", mapped=("b",)))] if "(d,)" in of_r else []
    assert read(text, seen)["the returned value (n, m)"] == verdict


def test_nor_where_an_annotation_leaves_them_out() -> None:
    seen = [('r Float[Array, "d"]', array("d", mapped=("b",))), ("y (n, m)", EACH)]
    result = read(ONE.format(': Float[Array, "d"]', "m"), [ROWS, *seen], parents={"f.g": "f"})
    assert result["y (n, m)"] == "bad rank"


HEADS = "def f(x):\n    b, s, d = x.shape\n    y = g(x)  # (b, h, s, s)\n    z = g(x)  # {}\n"


@pytest.mark.parametrize(
    ("within", "comment", "verdict"),
    [
        (True, "(b, h, s, d)", "unknown"),  # the caller has heads behind the sequence: nothing tells their place here
        (True, "(b, s, d)", "bad rank"),  # it is for one head, as this says
        (False, "(b, h, s, d)", "bad rank"),  # mapped over the front, which is where a text has that axis
    ],
)
def test_an_axis_that_was_mapped_from_within_may_stand_anywhere(within: bool, comment: str, verdict: str) -> None:
    def one_head(*dims: str) -> ArrayValue:
        return replace(array(*dims, mapped=("n",)), within=within)

    seen = [("y (b, h, s, s)", one_head("b", "s", "s")), (f"z {comment}", one_head("b", "s", "d"))]
    result = read(HEADS.format(comment), seen, names={"b": "b", "s": "s", "d": "d"})
    assert result["y (b, h, s, s)"] == verdict


def test_but_not_in_place_of_another() -> None:
    seen = [("y (b, h, s, s)", replace(array("b", "s", mapped=("n",)), within=True))]
    assert read(HEADS.format("..."), seen, names={"b": "b", "s": "s"})["y (b, h, s, s)"] == "bad rank"


def test_what_fits_neither_one_example_nor_all_of_them_is_false() -> None:
    assert read(ONE.format("", ""), [ROWS, ("y (n, m)", array("k", "m", mapped=("b", "c")))])["y (n, m)"] == "good"
    assert read(ONE.format("", ""), [ROWS, ("y (n, m)", array("m", mapped=("b", "c")))])["y (n, m)"] == "bad rank"


def test_names_beside_roles_may_be_roles() -> None:
    text = "def f(x, w):\n    c, h, w = x.shape\n    y = g(w)  # {}\n"
    for comment, shape, verdict in [
        ("(h, w, i=1, o=c)", ("3", "3", "1", "8"), "unknown"),
        ("(h, w, i=1, o=c)", ("3", "3", "1", "7"), "bad dim"),
        ("(h, w, i=1, o=c)", ("16", "20", "1", "8"), "good"),
        ("(h, w, i=1, o=8)", ("3", "3", "1", "8"), "bad dim"),  # sizes for example, and no roles
    ]:
        sizes = {"c": "8", "h": "16", "w": "20"}
        assert read(text.format(comment), [(f"y {comment}", array(*shape))], names=sizes)[f"y {comment}"] == verdict


@pytest.mark.parametrize(
    ("comment", "size", "verdict"),
    [
        ("[s, _, s, _]", "4", "unknown"),
        ("[s, _, s, _]", "5", "bad rank"),
        ("shape: (s, n)", "2", "bad rank"),  # it says what it means
    ],
)
def test_as_many_names_as_a_value_has_elements_may_be_those_of_the_elements(comment, size, verdict) -> None:
    text = f"def f(s: int):\n    y = g(s)  # {comment}\n"
    bracket = comment.removeprefix("shape: ")
    assert read(text, [(f"y {bracket}", array(size))], names={"s": "7"}) == {f"y {bracket}": verdict}


def test_a_nested_function_reads_the_names_around_it() -> None:
    text = 'def f(x: Float[Array, "b d"]):\n    def g(r):\n        y = r.T  # (d, b)\n        z = r.T  # (b, d)\n'
    x = ('x Float[Array, "b d"]', array("b", "d"))
    inner = [("y (d, b)", array("d", "b")), ("z (b, d)", array("d", "b"))]
    result = read(text, [x, *inner], parents={"f.g": "f"})
    assert (result["y (d, b)"], result["z (b, d)"]) == ("good", "bad dim")
    # called from elsewhere, nothing binds the names but the comments themselves
    assert read(text, inner[:1])["y (d, b)"] == "good"


def test_a_union_holds_if_one_member_does_and_is_false_if_none_does() -> None:
    text = 'def f(x: Float[Array, "n"] | Float[Array, "n d"]):\n    pass\n'
    members = ('x Float[Array, "n"]', 'x Float[Array, "n d"]')
    for shape in (("n",), ("n", "d")):
        assert read(text, [(members[0], array(*shape))]) == dict.fromkeys(members, "good")
    assert set(read(text, [(members[0], array("a", "b", "c"))]).values()) == {"bad rank"}


def test_names_bind_at_the_first_annotation_and_hold_for_the_later_ones() -> None:
    text = 'def f(x: Float[Array, "n d"], y: Float[Array, "d"]) -> Float[Array, "n"]:\n    pass\n'
    x, y = 'x Float[Array, "n d"]', 'y Float[Array, "d"]'
    assert read(text, [(x, array("n", "d")), (y, array("n"))])[y] == "bad dim"
    assert read(text, [(x, array("n", "d")), (y, array("d"))])[y] == "good"
    # `n` and `2*n` are equal for no size that counts; `n` and `n + 0` always
    assert read(text, [(x, array("n", "2*d")), (y, array("d + d"))])[y] == "good"


@pytest.mark.parametrize(("sizes", "verdict"), [((), "bad dim"), (("n",), "bad dim"), (("n", "m"), "good")])
def test_a_value_may_have_fewer_axes_than_a_whole_shape_was_bound_to(sizes: tuple[str, ...], verdict: str) -> None:
    text = 'def f(x: Float[Array, "*s"], y: Float[Array, "*s"]):\n    pass\n'
    x, y = 'x Float[Array, "*s"]', 'y Float[Array, "*s"]'
    assert read(text, [(x, array("n", "m")), (y, array(*sizes))])[y] == verdict


def test_a_comment_behind_a_tuple_leaves_out_a_dict_in_it() -> None:
    text = "def f(x):\n    return g(x), aux  # (b, t)\n"
    losses = tree("dict", array(), array())
    claim = "the returned value (b, t)"
    assert read(text, [(claim, tree("tuple", array("b", "t"), losses))]) == {claim: "good"}
    assert read(text, [(claim, tree("tuple", array("b"), losses))]) == {claim: "bad rank"}


def test_several_comments_that_agree_show_the_annotation_of_the_result_to_be_wrong() -> None:
    text = (
        'def f(x: Float[Array, "b t d"]) -> Float[Array, "b h"]:\n'
        "    a = g(x)  # (b, t, h)\n    c = a + 1  # (b, t, h)\n    return c.sum(2)\n"
    )
    x, result = 'x Float[Array, "b t d"]', 'the returned value Float[Array, "b h"]'
    shown = [(x, array("b", "t", "d")), ("a (b, t, h)", array("b", "t", "k")), (result, array("b", "t"))]
    assert read(text, [*shown, ("c (b, t, h)", array("b", "t", "k"))]) == {
        x: "good",
        "a (b, t, h)": "good",
        "c (b, t, h)": "good",
        result: "bad dim",
    }
    # one alone is not more than the annotation
    alone = read(text, shown)
    assert (alone["a (b, t, h)"], alone[result]) == ("bad dim", "good")


def test_pytrees_of_one_structure_name_have_one_structure() -> None:
    text = 'def f(a: PyTree[Float[Array, "d"], "T"], b: PyTree[Float[Array, "d"], "T"]):\n    pass\n'
    module = claims.read_module("m.py", (HEAD + text).encode())
    a, b = (f"{c.target} {c.text}" for c in module.claims)
    pair = (array("d"), array("d"))
    assert read(text, [(a, tree("list", *pair)), (b, tree("list", *pair))])[b] == "good"
    assert read(text, [(a, tree("list", *pair)), (b, tree("tuple", *pair))])[b] == "bad structure"
    assert read(text, [(a, tree("list", *pair)), (b, tree("list", *pair, array("d")))])[b] == "bad structure"
    # every leaf must fit, and the first binds for the others
    assert read(text, [(a, tree("list", array("d"), array("e")))])[a] == "bad dim"


def test_a_structure_name_within_a_container_is_that_of_each_item() -> None:
    text = 'State = PyTree[Shaped[Array, "n ?*state"], "S"]\ndef f(a: list[State]) -> tuple[State, None]:\n    pass\n'
    module = claims.read_module("m.py", (HEAD + text).encode())
    given, result = (f"{c.target} {c.text}" for c in module.claims)
    one, two = tree("tuple", array("n"), array("n", "k")), tree("tuple", array("n"), array("n", "k"))
    none = OtherValue("NoneType")
    good = read(text, [(given, tree("list", one, two)), (result, tree("tuple", one, none))])
    assert (good[given], good[result]) == ("good", "good")
    assert read(text, [(given, tree("list", one, array("n")))])[given] == "bad structure"
    # what stands at one place of the structure has the same axes in each item
    assert read(text, [(given, tree("list", one, tree("tuple", array("n"), array("n"))))])[given] != "good"
    bad = read(text, [(given, tree("list", one)), (result, tree("tuple", array("n"), none))])
    assert (bad[given], bad[result]) == ("good", "bad structure")


X = array("n", "d")


@pytest.mark.parametrize(
    ("result", "values", "wrong"),
    [
        ('tuple[Float[Array, "n d"], int]', [tree("tuple", X, X)], [tree("tuple", X, X, X), X, tree("dict", X, X)]),
        ('tuple[Float[Array, "n d"], int] | None', [tree("tuple", X, X)], [tree("tuple", X, X, X), X]),
        ('tuple[Float[Array, "n d"], int]', [tree("list", X, X)], [tree("list", X, X, X)]),
        ('Float[Array, "n d"]', [X], [tree("tuple", X, X)]),
        ('Float[Array, "n d"] | None', [X], [tree("tuple", X, X)]),
        ('Float[Array, "n d"] | tuple[Float[Array, "n"], int]', [X], [tree("tuple", X), tree("tuple", X, X, X)]),
        ('tuple[int, tuple[Float[Array, "n d"], int]]', [tree("tuple", X, tree("tuple", X, X))], [tree("tuple", X, X)]),
    ],
)
def test_an_annotation_is_false_of_a_value_of_another_structure(result, values, wrong) -> None:
    text = f"def f(x) -> {result}:\n    pass\n"
    claim = 'the returned value Float[Array, "n d"]'
    assert [read(text, [(claim, value)])[claim] for value in values] == ["good"] * len(values)
    assert [read(text, [(claim, value)])[claim] for value in wrong] == ["bad structure"] * len(wrong)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ('Float[Array, "n d"]', tree("tuple", X, X)),  # `jnp.asarray` takes it
        ('Float[Array, "n d"] | tuple[Float[Array, "n"], int] | Box', tree("tuple", X, X, X)),  # a `Box` may be one
        ('list[Float[Array, "n d"]] | tuple[Float[Array, "n"], int]', X),  # as good as a list
    ],
)
def test_nothing_is_said_of_a_value_that_may_stand_for_what_is_annotated(annotation, value) -> None:
    text = f"def f(x: {annotation}):\n    pass\n"
    claim = 'x Float[Array, "n d"]'
    assert read(text, [(claim, value)])[claim] not in ("good", "bad structure")


def test_visible_integers_give_names_their_sizes() -> None:
    text = "def f(x):\n    y = x  # (b, heads)\n"
    assert read(text, [("y (b, heads)", array("b", "4"))], names={"heads": "4"}) == {"y (b, heads)": "good"}
    assert read(text, [("y (b, heads)", array("b", "8"))], names={"heads": "4"}) == {"y (b, heads)": "bad dim"}


@pytest.mark.parametrize(
    ("name", "origin", "size", "verdicts"),
    [
        ("seq_len", "self.config.seq_len", "10", ["good", "good"]),
        ("seq_len", "seq_len", "10", ["bad dim", "bad dim"]),  # a parameter of that name
        ("dim", "self.dim", "10", ["bad dim", "bad dim"]),
        ("n", "n", "1", ["good", "good"]),
        ("n", "n", "2", ["bad dim", "bad dim"]),
    ],
)
def test_an_integer_may_be_something_else_than_the_axis_that_a_docstring_tells_of(name, origin, size, verdicts) -> None:
    text = f"""
        def f(self, x, mask):
            \"\"\"Mask.

            Args:
                x: Embeddings of shape [batch, {name}, width].
                mask: Mask of shape [batch, {name}].
            \"\"\"
    """
    module = source_module(text)
    x, mask = (claim.sites[0] for claim in module.claims)
    named = (NamedSize(name, size, origin),)
    seen = (Observation(x, array("2", "8", "5"), named), Observation(mask, array("2", "8"), named))
    call = Call(path="m.py", scope=module.sites[x].scope, number=1, parent=None, observations=seen)
    found = judge({"m.py": module}, [[evaluation_of(call)]])
    bad = {key: f"bad {false.mismatch.reason}" for key, false in found.bad.items()}
    assert [{**bad, **dict.fromkeys(found.good, "good")}["m.py", index] for index in (0, 1)] == verdicts


def test_divisions_are_held_for_sizes_that_they_divide() -> None:
    text = 'def f(x: Float[Array, "h"]):\n    y = x  # (h//2,)\n    z = x  # (h//2 + 1,)\n'
    x = ('x Float[Array, "h"]', array("h"))
    halves = [("y (h//2,)", array("floordiv(h - 1, 2) + 1")), ("z (h//2 + 1,)", array("floordiv(h - 1, 2) + 1"))]
    result = read(text, [x, *halves])
    assert (result["y (h//2,)"], result["z (h//2 + 1,)"]) == ("good", "bad dim")


def test_a_pytree_is_described_by_the_shape_that_all_its_leaves_share() -> None:
    text = "def f(x):\n    y = g(x)  # (n, d)\n    z = x  # (d, n)\n"
    same, other = (array("n", "d"), array("n", "d")), (array("n", "d"), array("d", "n"))
    anchor = ("z (d, n)", array("d", "n"))
    assert read(text, [anchor, ("y (n, d)", tree("list", *same))])["y (n, d)"] == "good"
    assert read(text, [anchor, ("y (n, d)", tree("list", *other))])["y (n, d)"] == "bad dim"


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        (tree("dict", array()), "good"),  # metrics
        (tree("dict", array("n")), "good"),
        (array(), "good"),  # a loss
        (array("n", "d"), "good"),
        (array("d", "n"), "bad dim"),
    ],
)
def test_one_shape_for_several_variables_leaves_out_what_is_no_array_with_axes(second, verdict) -> None:
    text = "def f(x):\n    z = x  # (n, d)\n    y, other = g(x)  # (n, d)\n"
    observed = [("z (n, d)", array("n", "d")), ("y, other (n, d)", tree("tuple", array("n", "d"), second))]
    assert read(text, observed)["y, other (n, d)"] == verdict


def test_a_value_that_is_no_array_makes_no_finding_of_a_comment() -> None:
    text = "def f(x):\n    y = g(x)  # (n, d)\n"
    assert read(text, [("y (n, d)", OtherValue("int", "3"))]) == {"y (n, d)": "unknown"}


def test_over_entries_one_failure_is_enough_but_within_an_entry_all_must_fail() -> None:
    module = claims.read_module("m.py", (HEAD + 'def f(x: Float[Array, "n n"]):\n    pass\n').encode())

    def run(*shape: str) -> Evaluation:
        call = Call(
            path="m.py",
            scope=1,
            number=1,
            parent=None,
            observations=(Observation(module.claims[0].sites[0], array(*shape)),),
        )
        return Evaluation(
            target="m:f", origin="function", path="m.py", line=1, mode="sized", status="ok", reason="", calls=(call,)
        )

    holds, fails = run("4", "4"), run("4", "5")
    assert not judge({"m.py": module}, [[holds, fails]]).bad
    assert judge({"m.py": module}, [[holds], [fails]]).bad.keys() == {("m.py", 0)}


HALVES = '''
def halves(u):
    """Split.

    Args:
        u: numbers of shape ({},)

    Returns:
        one half, of shape (n,)
    """
    n = u.size
    return g(u)
'''


@pytest.mark.parametrize(
    ("given", "size", "verdict"),
    [
        ("2*n", "68", "good"),
        ("2*n", "136", "good"),  # what the variable says
        ("2*n", "45", "bad dim"),
        ("k", "68", "bad dim"),  # nothing but the variable says what n is
    ],
)
def test_a_docstring_may_mean_by_a_name_what_it_says_of_parameters(given: str, size: str, verdict: str) -> None:
    module = claims.read_module("m.py", HALVES.format(given).encode())
    shapes = {"u": array("136"), "the returned value": array(size)}
    local = (NamedSize("n", "136", "n"),)
    observed = tuple(
        Observation(claim.sites[0], shapes[claim.target], local if claim.target != "u" else ())
        for claim in sorted(module.claims, key=lambda each: each.target, reverse=True)
    )
    call = Call(path="m.py", scope=module.claims[0].scope, number=1, parent=None, observations=observed)
    found = judge({"m.py": module}, [[evaluation_of(call)]])
    index = next(i for i, claim in enumerate(module.claims) if claim.target != "u")
    bad = found.bad.get(("m.py", index))
    assert ("good" if bad is None else f"bad {bad.mismatch.reason}") == verdict


@pytest.mark.parametrize(
    ("text", "label", "n", "verdict"),
    [
        ("    # table: (n, d)\n    y = x * table[d]\n", "table (n, d)", "8", "unknown"),  # the one that is taken
        ("    # table: (n, d)\n    y = x * table[d]\n", "table (n, d)", "9", "bad dim"),
        ("    table = g(x)  # (n, d)\n", "table (n, d)", "8", "bad dim"),  # all that g gives
    ],
)
def test_a_label_may_tell_of_one_entry_of_a_dict(text: str, label: str, n: str, verdict: str) -> None:
    seen = [(label, tree("dict", array("4", "2"), array("8", "3")))]
    assert read(f"def f(x, d, table=None):\n    x = -x\n{text}", seen, names={"n": n, "d": "3"}) == {label: verdict}


@pytest.mark.parametrize(
    ("text", "is_false"),
    [
        ("def f(x):\n    y = x[..., None]  # (..., n, 1)\n", False),  # of one vector there is no n
        ('def f(x) -> Float[Array, "... n 1"]:\n    y = x[..., None]\n    return y\n', True),
    ],
)
def test_a_comment_need_not_hold_where_nothing_was_chosen_for_dots(text: str, is_false: bool) -> None:
    module = claims.read_module("m.py", (HEAD + text).encode())

    def run(rank: int, *shape: str) -> Evaluation:
        observed = Observation(module.claims[0].sites[0], array(*shape))
        call = Call(path="m.py", scope=1, number=1, parent=None, observations=(observed,))
        return replace(evaluation_of(call), rank=rank)

    verdicts = judge({"m.py": module}, [[run(1, "4", "1"), run(0, "1")]])
    assert bool(verdicts.bad) == is_false
    assert judge({"m.py": module}, [[run(1, "4", "2"), run(0, "2")]]).bad  # false of all that was chosen


@pytest.mark.parametrize(
    ("shapes", "verdict"),
    [
        ([("40", "2"), ("40",)], "unknown"),
        ([("40", "2"), ("40", "2")], "good"),
        ([("40",), ("40",)], "bad"),
    ],
)
def test_a_class_may_describe_one_kind_of_its_instances(shapes, verdict) -> None:
    text = """
        class State:
            \"\"\"A state.

            Attributes:
                position: An array of shape `[n, spatial_dimension]`.
            \"\"\"

            position: Array
    """
    module = claims.read_module("m.py", (HEAD + textwrap.dedent(text)).encode())
    (claim,) = module.claims
    scope = module.sites[claim.sites[0]].scope
    calls = tuple(
        Call(
            path="m.py",
            scope=scope,
            number=number,
            parent=None,
            observations=(Observation(claim.sites[0], array(*shape)),),
        )
        for number, shape in enumerate(shapes)
    )
    verdicts = judge({"m.py": module}, [[evaluation_of(*calls)]])
    named = {"good": verdicts.good, "bad": verdicts.bad, "unknown": verdicts.unknown}
    assert [name for name, keys in named.items() if ("m.py", 0) in keys] == [verdict]


@pytest.mark.parametrize(
    ("claimed", "observed", "fits"),
    [
        ("Float", "float32", True),
        ("Float", "bfloat16", True),
        ("Float", "int32", False),
        ("Int", "uint8", False),
        ("Integer", "uint8", True),
        ("Int", "bool", False),
        ("", "bool", True),
        ("Shaped", "bool", True),
        ("Num", "bool", False),
        ("Complex", "float32", False),
        ("Inexact", "complex64", True),
        # with 64 bits switched off, JAX narrows: not the claim's fault; other widths are
        ("Float64", "float32", True),
        ("Int64", "int32", True),
        ("Float32", "float64", False),
        ("Float64", "bfloat16", False),
        ("Float16", "float32", False),
        ("Key", "key<fry>", True),
    ],
)
def test_dtypes(claimed: str, observed: str, fits: bool) -> None:
    assert dtype_fits(claimed, array(dtype=observed)) is fits


@pytest.mark.parametrize(
    ("comments", "shapes", "loose"),
    [
        (("(n, d)", "(d, m)"), (("4", "6"), ("6", "3")), (True, True)),
        (("(n, d)", "(d, n)"), (("4", "6"), ("6", "4")), (False, False)),
        (("(n, n)", "(3,)"), (("4", "4"), ("3",)), (False, False)),
        (("(3 * n,)", "(6,)"), (("10",), ("6",)), (True, False)),
        (("(3 * n, 5 * n)", "(6,)"), (("10", "7"), ("6",)), (True, False)),  # no axis says what n is
        (("(3 * n,)", "(5 * n,)"), (("10",), ("7",)), (True, True)),
        (("(3 * n,)", "(n,)"), (("12",), ("4",)), (False, False)),
        (("(3 * n + k,)", "(n,)"), (("12",), ("4",)), (True, True)),
        (("(3 * n,)", "(3 * n, k)"), (("10",), ("10", "2")), (False, True)),
        (("(n - 1, n)", "(6,)"), (("3", "4"), ("6",)), (False, False)),
        (("(h, 3)", "(h // 2,)"), (("4", "3"), ("2",)), (False, False)),
    ],
)
def test_a_name_whose_size_no_other_axis_says_is_loose(comments, shapes, loose) -> None:
    text = f"def f(x):\n    a = g(x)  # {comments[0]}\n    c = g(a)  # {comments[1]}\n"
    seen = [(f"a {comments[0]}", array(*shapes[0])), (f"c {comments[1]}", array(*shapes[1]))]
    assert [*read(text, seen, loosely=True).values()] == ["loose" if each else "good" for each in loose]


@pytest.mark.parametrize(
    ("output", "ended"),
    [
        (("9", "8"), "unknown"),  # `heads` fits one of them
        (("8", "9"), "bad dim"),  # neither of the two stands there
        (("9", "7"), "bad dim"),
    ],
)
def test_a_general_word_may_mean_any_of_the_names_that_have_it(output, ended) -> None:
    text = (
        "def f(q, k):\n    q = q * 2  # (seq, num_heads)\n    k = k * 2  # (seq, kv_heads)\n"
        "    a = g(k)  # (seq, heads)\n    b = g(k)  # (seq, heads)\n    c = g(q)  # (seq, heads)\n"
    )
    seen = [("q (seq, num_heads)", array("9", "8")), ("k (seq, kv_heads)", array("9", "2"))]
    seen += [(f"{name} (seq, heads)", array("9", "2")) for name in "ab"]
    found = read(text, [*seen, ("c (seq, heads)", array(*output))])
    assert found["c (seq, heads)"] == ended


def test_constructors_of_several_instances_are_readings_beside_each_other_but_not_beside_an_annotation() -> None:
    sizes = tuple(NamedSize("n", size, "n in A.__init__") for size in ("4", "5"))
    for annotation, expected in (("k", True), ("n", False)):
        text = HEAD + f'def f(x: Float[Array, "{annotation}"], w):\n    y = g(x)  # (n,)\n'
        module = claims.read_module("m.py", text.encode())
        param, value = (claim.sites[0] for claim in module.claims)
        seen = (Observation(param, array("3")), Observation(value, array("5"), sizes))
        run = Evaluation(
            target="m:f",
            origin="function",
            path="m.py",
            line=1,
            mode="sized",
            status="ok",
            reason="",
            calls=(Call(path="m.py", scope=1, number=0, parent=None, observations=seen),),
        )
        assert (("m.py", 1) in judge({"m.py": module}, [[run]]).good) is expected


def test_an_expression_that_nothing_evaluates_is_one_size_wherever_it_is_written() -> None:
    text = "def f(x):\n    a = g(x)  # (c, h/2, w/2)\n    b = g(x)  # (c, h/2, w/2)\n    d = g(x)  # (4*c, h/2, w/2)\n"
    a, b, d = "a (c, h/2, w/2)", "b (c, h/2, w/2)", "d (4*c, h/2, w/2)"
    good = [(a, array("6", "7", "5")), (b, array("6", "7", "5")), (d, array("24", "7", "5"))]
    assert set(read(text, good, loosely=True).values()) == {"good"}
    assert read(text, [*good[:2], (d, array("24", "5", "7"))]) == {a: "good", b: "good", d: "bad dim"}
    # what an integer says goes before
    assert read(text, good, names={"h": "14", "w": "10"})[d] == "good"
    assert set(read(text, good, names={"h": "16", "w": "12"}).values()) == {"bad dim"}


def test_two_comments_of_one_value_do_not_bind_each_others_names() -> None:
    text = "def f(x):\n    # shape: (n, d)\n    a = g(x)  # (n, d)\n    c = g(a)  # (d,)\n"
    module = claims.read_module("m.py", text.encode())
    assert module.claims[0].sites == module.claims[1].sites
    sites = [claim.sites[0] for claim in module.claims]
    seen = [Observation(sites[0], array("4", "6")), Observation(sites[2], array("6"))]
    evaluation = Evaluation(
        target="m:f",
        origin="function",
        path="m.py",
        line=1,
        mode="sized",
        status="ok",
        reason="",
        calls=(Call(path="m.py", scope=1, number=0, parent=None, observations=tuple(seen)),),
    )
    verdicts = judge({"m.py": module}, [[evaluation]])
    assert verdicts.loose == {("m.py", 0): ("n",), ("m.py", 1): ("n",)}


def test_what_stands_in_an_if_is_counted_with_the_turn_that_it_belongs_to() -> None:
    text = "def f(x):\n    for i in x:\n        a = g(i)  # (n, d)\n        if i:\n            c = g(a)  # (n, d)\n"
    first, second, third = array("4", "6"), array("5", "7"), array("8", "9")
    a, c = "a (n, d)", "c (n, d)"
    assert read(text, [(a, first), (a, second), (c, second), (a, third)]) == {a: "good", c: "good"}
    assert read(text, [(a, first), (a, second), (c, array("7", "5")), (a, third)]) == {a: "good", c: "bad dim"}
    assert read(text, [(a, first), (a, second), (c, first), (a, third)]) == {a: "good", c: "bad dim"}


def test_two_loops_do_not_share_the_turns_of_a_name() -> None:
    loop = "    for i in x:\n        {0} = g(i)  # (n,)\n        {1} = g(i)  # (n,)\n"
    text = "def f(x):\n" + loop.format("a", "c") + loop.format("d", "e")
    seen = [(f"{name} (n,)", array(size)) for size in ("4", "5") for name in "ac"]
    seen += [(f"{name} (n,)", array(size)) for size in ("6", "7") for name in "de"]
    assert set(read(text, seen).values()) == {"good"}
    seen[-1] = ("e (n,)", array("6"))
    assert read(text, seen)["e (n,)"] == "bad dim"


@pytest.mark.parametrize(
    ("dims", "sizes", "verdicts"),
    [
        (("(length,)", "(length,)", "(length,)"), (("5",), ("9",), ("13",)), ("good", "good", "good")),
        (("(length,)", "(length,)", "(length,)"), (("5",), ("5",), ("5",)), ("good", "good", "good")),
        (("(length,)", "(length,)", "(length,)"), (("5",), ("5",), ("6",)), ("good", "good", "bad dim")),
        (("(length,)", "(length,)", "(length,)"), (("5",), ("9", "2"), ("5",)), ("good", "bad rank", "good")),
        (("(length, d)", "(length,)", "(length,)"), (("5", "3"), ("9",), ("5",)), ("good", "bad dim", "good")),
        (("(N,)", "(N,)", "(N,)"), (("5",), ("9",), ("5",)), ("good", "bad dim", "good")),
        (("(height, width)",) * 3, (("5", "7"), ("3", "1"), ("8", "9")), ("good", "good", "good")),
        (("(height, width)",) * 3, (("5", "7"), ("5", "1"), ("5", "7")), ("good", "bad dim", "good")),
        (("(height, width)",) * 3, (("5", "7"), ("7", "5"), ("5", "7")), ("good", "bad dim", "good")),
        (("(height, width)",) * 3, (("5", "7"), ("5", "7"), ("7", "5")), ("good", "good", "bad dim")),
        (("(height, width)",) * 3, (("5", "7"), ("3",), ("5", "7")), ("good", "bad rank", "good")),
        (("(batch, dim)",) * 3, (("5", "7"), ("3", "1"), ("5", "7")), ("good", "bad dim", "good")),
        (("(N, D)", "(N,)", "(D,)"), (("5", "3"), ("5",), ("3",)), ("good", "good", "good")),
        (("(N, D)", "(N,)", "(D,)"), (("5", "3"), ("5",), ("5",)), ("good", "good", "bad dim")),
    ],
)
def test_a_word_for_any_extent_does_not_make_two_arguments_equal(dims, sizes, verdicts) -> None:
    lines = ["F.", "", "Args:", "    a: {}", "    b: {}", "", "Returns:", "    {}"]
    docstring = "\n".join(lines).format(*(f"array of shape {each}." for each in dims))
    text = "def f(a, b):\n" + textwrap.indent(f'"""{docstring}\n"""\n', "    ")
    seen = zip(("a", "b", "the returned value"), dims, sizes, strict=True)
    result = read(text, [(f"{name} {spec}", array(*shape)) for name, spec, shape in seen])
    assert tuple(result.values()) == verdicts


@pytest.mark.parametrize(
    ("parameter", "shape", "ended"),
    [
        ("[D, T+1]", ("d", "t + 1"), "bad dim"),
        ("[D, 1+T]", ("d", "t + 1"), "bad dim"),
        ("[D, T-1]", ("d", "t - 1"), "bad dim"),
        ("[D, 2*T]", ("d", "2*t"), "bad dim"),
        ("[D+1, T]", ("d", "t"), "bad dim"),
        ("[T, D+1]", ("d", "t + 1"), "good"),
        ("[D, T//2]", ("d", "t"), "good"),
    ],
)
def test_a_sum_or_product_of_one_parameter_says_what_the_name_of_the_result_is(parameter, shape, ended) -> None:
    """Else the result binds the names afresh, and outvotes the parameter; what can say nothing does not."""
    text = f'def f(w):\n    """F.\n\n    Args:\n        w: array of shape {parameter}.\n\n'
    text += '    Returns:\n        array of shape [D, T].\n    """\n'
    result = read(text, [(f"w {parameter}", array(*shape)), ("the returned value [D, T]", array("t", "d"))])
    assert result["the returned value [D, T]"] == ended


RATIO = """
def f(cost: Float[Array, "n m"]):
    pairs = g(cost)  # (2, n/m)
    return pairs
"""


@pytest.mark.parametrize(
    ("axes", "size", "ended"),
    [("n m", "68", "good"), ("n m", "76", "good"), ("n m", "92", "bad dim"), ("n", "68", "bad dim")],
)
def test_two_axes_of_one_array_with_a_slash_between_them_are_either(axes, size, ended) -> None:
    sizes = {"n": "68", "m": "76"}
    cost = array(*(sizes[name] for name in axes.split()))
    text = RATIO.replace("n m", axes)
    result = read(
        text, [(f'cost Float[Array, "{axes}"]', cost), ("pairs (2, n/m)", array("2", size))], names={"m": "76"}
    )
    assert result["pairs (2, n/m)"] == ended


RESULT = """
def f(model, x: Float[Array, "b d"]) -> Float[Array, "code code"]:
    z = model(x)  # (b, code)
    cov = z.T @ z  # (code, code)
    return cov
"""


@pytest.mark.parametrize(
    ("cov", "ended"),
    [(("48", "48"), "good"), (("b", "b"), "bad dim")],
    ids=["an attribute of the model", "the axis of the result here, and the attribute there"],
)
def test_a_name_that_the_result_alone_binds_means_one_size_in_all_comments(cov, ended) -> None:
    seen = [('x Float[Array, "b d"]', array("b", "d")), ("z (b, code)", array("b", "48"))]
    seen += [("cov (code, code)", array(*cov)), ('the returned value Float[Array, "code code"]', array(*cov))]
    result = read(RESULT, seen, names={"code": "48"})
    assert (result["z (b, code)"], result["cov (code, code)"]) == ("good", ended)
    assert result['the returned value Float[Array, "code code"]'] == "good"


def test_a_name_that_the_result_alone_binds_need_not_be_the_attribute_of_that_name() -> None:
    seen = [('x Float[Array, "b d"]', array("b", "d")), ("z (b, code)", array("b", "n"))]
    seen += [("cov (code, code)", array("n", "n")), ('the returned value Float[Array, "code code"]', array("n", "n"))]
    assert set(read(RESULT, seen, names={"code": "48"}).values()) == {"good"}


@pytest.mark.parametrize(
    ("leaves", "names", "ended"),
    [
        ([("3", "5"), ("1", "5")], {}, "unknown"),
        ([("5", "5"), ("3", "5")], {}, "unknown"),
        ([("3", "5"), ("3", "5")], {}, "good"),
        ([("3", "5"), ("3",)], {}, "bad rank"),
        ([("3", "5"), ("1", "5")], {"count": "3"}, "bad dim"),
        ([("3", "5"), ("1", "7")], {}, "bad dim"),
        ([("n", "w"), ("w", "n")], {}, "bad dim"),
        ([("n", "w"), ("w", "w")], {}, "bad dim"),
        ([("1", "16"), ("16", "16")], {}, "unknown"),
    ],
    ids=["apart", "the first's", "alike", "ranks", "an integer", "an array's too", "a transpose", "a mix-up", "chance"],
)
def test_the_arrays_of_a_container_may_each_have_a_size_of_their_own_for_a_name(leaves, names, ended) -> None:
    text = "def f(groups):\n    first = groups[0] * 2  # (width,)\n    values = split(groups)  # (count, width)\n"
    value = tree("tuple", *(array(*each) for each in leaves))
    seen = [("first (width,)", array(leaves[0][1])), ("values (count, width)", value)]
    assert read(text, seen, names=names)["values (count, width)"] == ended


def test_fields_that_contradict_each_other_confirm_no_name() -> None:
    fields = {"mean": ("(d,)", array("7")), "parts": ("(d, k)", array("4", "7")), "scale": ("(k,)", array("4"))}
    for order in itertools.permutations(fields):
        lines = "".join(f"    {name}: Array  # {fields[name][0]}\n" for name in order)
        seen = [(f"{name} {fields[name][0]}", fields[name][1]) for name in order]
        found = read(f"class Fit(NamedTuple):\n{lines}", seen, loosely=True)
        assert set(found.values()) == {"loose", "unknown"}


def test_a_claim_whose_two_names_a_tie_made_one_is_not_verified_by_it() -> None:
    module = claims.read_module("m.py", (HEAD + "def f(x):\n    y = g(x)  # (m, d)\n    z = h(x)  # (m, 3)\n").encode())
    y, z = (claim.sites[0] for claim in module.claims)
    seen = (Observation(y, array("8", "8")), Observation(z, array("8", "3")))
    run = evaluation_of(Call(path="m.py", scope=1, number=0, parent=None, observations=seen))
    for provenance in ("namesake", "alias"):
        tied = replace(run, assumptions=(Assumption("tie", "m", "params.width", provenance),))
        verdicts = judge({"m.py": module}, [[tied]])
        assert (verdicts.good, set(verdicts.unknown)) == ({("m.py", 1)}, {("m.py", 0)})
    assert judge({"m.py": module}, [[run]]).good == {("m.py", 0), ("m.py", 1)}


def test_what_is_one_number_may_be_the_product_that_a_comment_writes() -> None:
    text = "def f(x):\n    a = g(x)  # N x D x K\n    flops = h(a)  # N x D x K\n    b = h(a)  # (N, D, K)\n"
    seen = [("a N x D x K", array("2", "3", "4")), ("flops N x D x K", array()), ("b (N, D, K)", array())]
    assert [*read(text, seen).values()] == ["good", "unknown", "bad rank"]


def test_an_equation_excuses_only_what_would_hold_with_it() -> None:
    text = '# F = 4 * D hidden units\ndef f(x: Float[Array, "D"]):\n    a = g(x)  # (F,)\n    b = h(a)  # (F,)\n'
    for size, ended in (("12", "unknown"), ("3", "bad dim")):
        found = read(text, [('x Float[Array, "D"]', array("3")), ("a (F,)", array("7")), ("b (F,)", array(size))])
        assert found["b (F,)"] == ended


def test_what_cannot_be_judged_takes_nothing_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(x):\n    y = x  # (2, n)\n    return y\n\ndef g(x):\n    y = x.T  # (3, n)\n    return y\n"
    module = claims.read_module("m.py", text.encode())

    def run(index: int, *shape: str) -> Evaluation:
        site = module.claims[index].sites[0]
        observed = (Observation(site, array(*shape)),)
        return evaluation_of(
            Call(path="m.py", scope=module.sites[site].scope, number=1, parent=None, observations=observed)
        )

    usual = judging.evaluate

    def evaluate(modules: Mapping[str, Module], evaluation: Evaluation) -> object:
        if evaluation.calls[0].scope == module.claims[0].scope:
            raise RuntimeError("ours")
        return usual(modules, evaluation)

    monkeypatch.setattr(judging, "evaluate", evaluate)
    verdicts = judge({"m.py": module}, [[run(0, "2", "5")], [run(1, "4", "5")]])
    assert [bug.rstrip().endswith("RuntimeError: ours") for bug in verdicts.bugs] == [True]
    assert verdicts.unknown == {("m.py", 0): judging.BUG}
    assert verdicts.bad.keys() == {("m.py", 1)}


def test_an_entry_without_arrays_says_nothing_of_a_claim() -> None:
    text = "def f(x):\n    state = g(x)  # loss: (n,)\n    return state\n"
    module = claims.read_module("m.py", text.encode())
    holder = TreeValue("dict", "dict", ("loss", "w"), (OtherValue("float"), array("3")))
    site = module.claims[0].sites[0]
    call = Call(
        path="m.py",
        scope=module.sites[site].scope,
        number=1,
        parent=None,
        observations=(Observation(site, holder),),
    )
    verdicts = judge({"m.py": module}, [[evaluation_of(call)]])
    assert not verdicts.bugs
    assert "without an array 'loss'" in verdicts.unknown["m.py", 0]


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (TreeValue("node", "Masked", ("values", "mask"), (array("3", "4"), array("3"))), "good"),
        (TreeValue("node", "Masked", ("values", "mask"), (array("3"), array("3"))), "bad rank"),
        (tree("list", tree("list", array(), array()), tree("list", array(), array())), "good"),
        (tree("list", tree("list", array(), array()), tree("list", array())), "bad rank"),
    ],
)
def test_a_record_with_a_mask_and_a_list_of_lists_stand_for_one_array(value: Value, outcome: str) -> None:
    text = "def f(x):\n    y = g(x)  # (n_tokens, width)\n    return y\n"
    assert read(text, [("y (n_tokens, width)", value)]) == {"y (n_tokens, width)": outcome}


def test_a_loop_of_many_turns_is_judged_in_time_that_grows_with_their_number() -> None:
    module = source_module("""
        def f(x):
            n = x.shape[0]
            for _ in range(4000):
                y = x[1:]  # (n - 1,)
            return y
        """)
    site = module.claims[0].sites[0]
    scope = next(each.index for each in module.scopes if each.qualname == "f")

    def seconds(turns: int) -> float:
        one = Observation(site, array("6"), names=(NamedSize("n", "7", "n"),))
        call = Call(path="m.py", scope=scope, number=1, parent=None, observations=(one,) * turns, complete=True)
        start = time.perf_counter()
        verdicts = judge({"m.py": module}, [[evaluation_of(call)]])
        assert verdicts.good == {("m.py", 0)}
        return time.perf_counter() - start

    assert seconds(4000) < 24 * min(seconds(500) for _ in range(3))  # 8 if each takes as long, 64 if as all before
