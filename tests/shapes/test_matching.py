"""Matching beyond what jaxtyping knows: several samples, outer names, several variadic dims, and what a misfit says."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from shapecheck.shapes import Bindings, Match, Size, leaf_name, match, parse_comment_dims, parse_spec

N3 = (3,)


def run(text: str, *shape: int, bindings: Bindings | None = None, env: Mapping[str, Size] | None = None) -> Match:
    sizes = tuple((size,) for size in shape)
    return match(parse_spec(text), sizes, bindings or Bindings(), env=env or {})


def test_a_match_gives_new_bindings_and_leaves_the_old_alone() -> None:
    old = Bindings({"a": (2,)}, {"r": (False, ((7,),))}, {"T": "list of 2"})
    outcome = run("a b *s", 2, 3, 4, 5, bindings=old)
    assert outcome.ok
    assert outcome.bindings.single == {"a": (2,), "b": (3,)}
    assert outcome.bindings.variadic == {"r": (False, ((7,),)), "s": (False, ((4,), (5,)))}
    assert outcome.bindings.structures == {"T": "list of 2"}
    assert old.single == {"a": (2,)}


@pytest.mark.parametrize(
    ("text", "shape", "reason", "axis", "detail"),
    [
        ("a b", (2,), "rank", None, "1 dims, not 2"),
        ("a b ...", (2,), "rank", None, "1 dims, not 2 or more"),
        ("a a", (2, 3), "dim", 1, "3, not a=2"),
        ("a 4", (2, 3), "dim", 1, "3, not 4"),
        ("... n=4 _", (1, 1, 3, 1), "dim", 2, "3, not n=4"),
        ("a 2*a", (2, 3), "dim", 1, "3, not 2*a=4"),
        ("a a/2", (3, 1), "dim", 1, "a/2 is not a whole number"),
        ("a 2*b", (2, 3), "unbound", 1, "the size of b is not known"),
        ("a ?b", (2, 3), "unbound", 1, "tree"),
        ("2*a a", (4, 2), "unbound", 0, "the size of a is not known"),
    ],
)
def test_a_misfit_says_where_and_why(
    text: str, shape: tuple[int, ...], reason: str, axis: int | None, detail: str
) -> None:
    old = Bindings()
    outcome = run(text, *shape, bindings=old)
    assert (outcome.ok, outcome.reason, outcome.dim) == (False, reason, axis)
    assert detail in outcome.detail
    assert outcome.bindings is old


def test_the_misfit_of_a_variadic_dim_is_at_its_first_axis() -> None:
    bound = run("*s", 2, 3).bindings
    assert run("a *s b", 9, 2, 4, 9, bindings=bound).dim == 1


def test_variadic_dims_are_looked_at_last() -> None:
    bound = run("*s", 2, 3).bindings
    assert run("*s b+1", 4, 5, bindings=bound).reason == "unbound"
    assert run("*s b+1 b", 4, 5, 4, bindings=bound.with_single("b", (4,))).reason == "dim"


def test_a_size_is_compared_under_all_samples() -> None:
    spec = parse_spec("b #c 4")
    b, one_once, four = (5, 7), (1, 3), (4, 4)
    outcome = match(spec, (b, one_once, four), Bindings(), count=2)
    assert outcome.ok
    assert outcome.bindings.single == {"b": b, "c": one_once}  # it is 1 in one sample only, so it does not broadcast
    assert match(spec, (b, (1, 1), four), Bindings(), count=2).bindings.single == {"b": b}
    assert match(spec, (b, b, (4, 5)), Bindings(), count=2).dim == 2
    assert match(spec, ((5, 8), b, four), outcome.bindings, count=2).dim == 0


def test_broadcasting_needs_ones_in_every_sample() -> None:
    bound = match(parse_spec("*#s"), ((5, 7), (1, 1)), Bindings(), count=2).bindings
    assert match(parse_spec("*#s"), ((5, 7), (2, 3)), bound, count=2).bindings.variadic["s"] == (True, ((5, 7), (2, 3)))
    assert not match(parse_spec("*#s"), ((1, 2), (2, 3)), bound, count=2).ok


def test_expressions_know_bound_names_before_outer_ones() -> None:
    env = {"n": (3,), "self.k": (5,), "x.shape[0]": (2,)}
    assert run("2*n", 6, env=env).ok
    assert run("n 2*n", 4, 8, env=env).ok
    assert run("{n}+1", 4, bindings=Bindings({"n": (9,)}), env=env).ok
    assert run("self.k x.shape[0]+1", 5, 3, env=env).ok
    assert run("n", 4, env=env).ok  # a name that stands alone binds


def test_names_in_braces_are_never_dims() -> None:
    assert run("n {n}", 3, 3).reason == "unbound"


def test_leaves_have_sizes_of_their_own() -> None:
    spec = parse_spec("?n n")
    first = match(spec, ((2,), (9,)), Bindings(), leaf="0 of T")
    second = match(spec, ((4,), (9,)), first.bindings, leaf="1 of T")
    assert second.ok
    assert second.bindings.single == {leaf_name("0 of T", "n"): (2,), leaf_name("1 of T", "n"): (4,), "n": (9,)}
    assert not match(spec, ((4,), (9,)), second.bindings, leaf="0 of T").ok


def test_expressions_may_wait_for_names_behind_them() -> None:
    spec = parse_comment_dims("2n, n, *rest")
    assert spec is not None
    assert match(spec, ((6,), N3), Bindings(), defer=True).ok
    assert match(spec, ((5,), N3), Bindings(), defer=True).reason == "dim"
    assert match(spec, ((6,), N3), Bindings()).reason == "unbound"


def test_a_size_that_is_not_known_does_not_excuse_the_axes_behind_it() -> None:
    spec = parse_spec("t+1 n+1")
    assert match(spec, ((9,), (4,)), Bindings({"n": N3}), defer=True).reason == "unbound"
    assert match(spec, ((9,), (5,)), Bindings({"n": N3}), defer=True).reason == "dim"


def test_what_may_fit_with_an_unknown_size_does_not_fail_for_another_way_to_lay_it() -> None:
    known = Bindings({"n": N3})
    assert run("... n 3*m ...", 2, 3, 6, 2, bindings=known).reason == "unbound"
    assert run("... n 3*m ...", 2, 4, 6, 2, bindings=known).reason == "dim"


def test_several_variadic_dims_try_every_split() -> None:
    assert run("*a 3 *b", 2, 3, 4).bindings.variadic == {"a": (False, ((2,),)), "b": (False, ((4,),))}
    assert not run("... 3 ... 5", 2, 3, 4).ok
    assert run("b ... 3 ...", 2, 3).ok


def test_a_repeated_dim_is_one_axis_or_more_of_one_size() -> None:
    assert run("d: out", 4, 7).ok
    assert run("d: out", 4, 4, 4, 7).bindings.single == {"d": (4,), "out": (7,)}
    assert run("d: out", 4, 5, 7).reason == "dim"
    assert run("d: out", 7).reason == "rank"


def test_a_repeated_dim_may_say_how_often() -> None:
    env = {"order": (3,)}
    assert run("c d:order-1 out", 2, 5, 5, 7, env=env).ok
    assert run("c d:order-1 out", 2, 7, env={"order": (1,)}).ok
    assert run("c d:order-1 out", 2, 5, 5, 5, 7, env=env).reason == "rank"
    assert run("c d:order-1 out", 2, 5, 6, 7, env=env).reason == "dim"
    assert run("c d:order-1 out", 2, 5, 5, 7).reason == "unbound"


def test_what_several_splits_bind_differently_stays_open() -> None:
    outcome = run("n *a k *b", 2, 3, 4)
    assert outcome.ok
    assert outcome.bindings.single == {"n": (2,)}
    assert outcome.bindings.variadic == {}
    assert run("*a *b", 2, bindings=Bindings(variadic={"a": (False, ((2,),))})).bindings.variadic["b"] == (False, ())


def test_many_axes_and_variadic_dims_end_quickly() -> None:
    spec, shape = parse_spec("*a *b *c 7"), tuple((size,) for size in range(2, 64))
    started = time.perf_counter()
    assert not match(spec, shape, Bindings()).ok
    assert time.perf_counter() - started < 2


def test_sizes_of_another_number_of_samples_are_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="samples"):
        match(parse_spec("a+1"), ((2, 3),), Bindings({"a": (1,)}), count=2)
