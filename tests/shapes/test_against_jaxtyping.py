"""Parsing, matching and dtypes agree with jaxtyping itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jaxtyping
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from jaxtyping import PyTree, Shaped, jaxtyped

from shapecheck.shapes import (
    DTYPES,
    Bindings,
    Spec,
    SpecError,
    UnsupportedSpec,
    comment_dtype,
    dtype_matches,
    match,
    parse_spec,
)

NAMES = st.sampled_from(["a", "b", "c"])
SIZES = st.integers(0, 5)


def expressions(depth: int = 2) -> st.SearchStrategy[str]:
    """Expressions without spaces. Exponents are literals, as jaxtyping computes whatever it is given."""
    atoms = st.one_of(NAMES, st.integers(0, 4).map(str))
    if depth == 0:
        return atoms
    inner = expressions(depth - 1)
    operators = st.sampled_from([*["+", "-", "*", "//", "/", "%"] * 2, "<<", ">>", "&", "|", "^"])
    return st.one_of(
        st.builds("{}{}{}{}{}".format, NAMES, operators, atoms, operators, atoms),
        st.builds("{}{}{}{}{}".format, NAMES, operators, atoms, operators, atoms),
        st.builds("{}{}{}".format, inner, operators, inner),
        st.builds("({}){}({})".format, inner, operators, inner),
        st.builds("-{}".format, inner),
        st.builds("({})".format, inner),
        st.builds("{}**{}".format, inner, st.integers(0, 3)),
        st.builds("{}({},{})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "int", "round", "~", "+"]), inner),
    )


def single_axes() -> st.SearchStrategy[str]:
    """Axes of one dim each, as people write them."""
    named = st.builds("{}{}".format, st.sampled_from(["", "", "", "#", "_", "n="]), NAMES)
    fixed = st.builds("{}{}".format, st.sampled_from(["", "", "#", "n=", "#n=", "n=#", "+"]), SIZES)
    symbolic = st.builds("{}{}".format, st.sampled_from(["", "", "", "#", "n="]), expressions())
    return st.one_of(named, named, fixed, symbolic, symbolic, symbolic, st.sampled_from(["_", "_", "(a)", "(b)", "-1"]))


def odd_axes() -> st.SearchStrategy[str]:
    """Heaps of prefixes and what may stand behind them, most of them wrong."""
    pieces = st.sampled_from(
        ["#", "*", "_", "?", "=", "a", "b1", "4", "...", "+", "(", ")", ",", "n=", "-", "a.b", "é"]
    )
    return st.lists(pieces, min_size=1, max_size=5).map("".join)


# Built once: hypothesis spends longer on a new strategy than on a draw.
SINGLES = st.lists(single_axes(), max_size=2)
VARIADIC = st.sampled_from(["", "", "...", "*_r", "*", "*s", "*s", "*t", "*#s", "#*s", "*#t", "n=*#s"])
ODD_TEXTS = st.lists(odd_axes(), min_size=1, max_size=2).map(" ".join)
WORLDS = st.fixed_dictionaries({name: st.integers(1, 5) for name in "abc"})
SPREADS = st.fixed_dictionaries({name: st.lists(st.integers(1, 3), max_size=2).map(tuple) for name in "st"})
CHANCES = st.integers(0, 23)


@dataclass(frozen=True)
class Trial:
    """A spec, and the shape of an array (or, for the leaves of a tree, several) that is held against it."""

    spec: str
    shapes: tuple[tuple[int, ...], ...]
    tree: bool


@dataclass(frozen=True)
class World:
    """Sizes that all names have: most shapes are made from them, so that several arrays of a sequence agree."""

    sizes: dict[str, int]
    spreads: dict[str, tuple[int, ...]]

    def size(self, draw: st.DrawFn, axis: str) -> int:
        """A size for a single axis: mostly the right one, sometimes 1, sometimes any."""
        chance = draw(CHANCES)
        if chance == 0:
            return draw(SIZES)
        if chance == 1 or (chance < 10 and "#" in axis):
            return 1
        body = axis.lstrip("#?_").rpartition("=")[2].lstrip("#")
        try:
            size = eval(body, dict(self.sizes))  # noqa: S307 - the text was made above
        except (ArithmeticError, TypeError, ValueError, SyntaxError):
            return draw(SIZES)
        return int(size) if 0 <= size < 100 else 1

    def spread(self, draw: st.DrawFn, axis: str) -> tuple[int, ...]:
        """Sizes for a variadic axis: mostly the right ones, or what broadcasts to them."""
        sizes = list(self.spreads.get(axis[-1], (2,)))
        chance = draw(CHANCES)
        if chance < 8:
            sizes = [1 if draw(CHANCES) < 12 else size for size in sizes]
        elif chance < 12:
            sizes = sizes[1:]
        elif chance == 12:
            sizes = [draw(SIZES), *sizes]
        return tuple(sizes)


@st.composite
def sequences(draw: st.DrawFn) -> list[Trial]:
    """Several specs and arrays for one context, of which the first binds names more often than not."""
    world = World(draw(WORLDS), draw(SPREADS))
    first = [Trial("a b c", (tuple(world.sizes.values()),), tree=False)] if draw(CHANCES) > 4 else []
    return [*first, *(draw(trials(world)) for _ in range(1 + draw(CHANCES) // 4))]


@st.composite
def trials(draw: st.DrawFn, world: World) -> Trial:
    """A spec with at most one variadic axis, and shapes that often fit."""
    tree = draw(CHANCES) < 4
    before, variadic, after = draw(SINGLES), draw(VARIADIC), draw(SINGLES)
    if tree:
        before = [f"?{axis}" if axis.lstrip("#").isalpha() and draw(CHANCES) < 16 else axis for axis in before]
        variadic = (
            f"?{variadic}" if variadic[-1:].isalpha() and "_" not in variadic and draw(CHANCES) < 12 else variadic
        )
    shapes = []
    for _ in range(1 + draw(CHANCES) // 8 if tree else 1):
        spread = world.spread(draw, variadic) if variadic else ()
        sizes = [world.size(draw, axis) for axis in before], [world.size(draw, axis) for axis in after]
        shapes.append((*sizes[0], *spread, *sizes[1], *([1] if draw(CHANCES) == 0 else [])))
    return Trial(" ".join([*before, *([variadic] if variadic else []), *after]), tuple(shapes), tree=tree)


def judged_by_jaxtyping(trial: Trial) -> str:
    """What jaxtyping says, in the context that is open: "fits", "misfit", or "unbound"."""
    arrays = [np.broadcast_to(np.int8(0), shape) for shape in trial.shapes]  # takes no memory
    try:
        annotation = Shaped[np.ndarray, trial.spec]
        fits = is_instance(arrays, PyTree[annotation, "T"]) if trial.tree else is_instance(arrays[0], annotation)
    except jaxtyping.AnnotationError:
        return "unbound"
    except (ArithmeticError, TypeError, ValueError):  # an expression has no value: Python's own complaint
        return "misfit"
    return "fits" if fits else "misfit"


def is_instance(value: object, annotation: Any) -> bool:
    return isinstance(value, annotation)


def judged_by_us(trial: Trial, spec: Spec, bindings: Bindings) -> tuple[str, Bindings]:
    current = bindings
    if trial.tree:  # a structure name is bound to the first structure that it sees
        structure = str(len(trial.shapes))
        if current.structures.get("T", structure) != structure:
            return "misfit", bindings
        current = current.with_structure("T", structure)
    for index, shape in enumerate(trial.shapes):
        leaf = f"{index} of T" if trial.tree else ""
        outcome = match(spec, tuple((size,) for size in shape), current, leaf=leaf)
        if not outcome.ok:
            assert outcome.bindings is current
            return ("unbound" if outcome.reason == "unbound" else "misfit"), bindings
        current = outcome.bindings
    return "fits", current


# Each example is up to seven arrays, and each run of the suite tries others.
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sequences())
@example([Trial("0<<128", ((0,),), tree=False)])
def test_matching_agrees_over_several_arrays(sequence: list[Trial]) -> None:
    bindings = Bindings()
    with jaxtyped("context"):
        for trial in sequence:
            expected = judged_by_jaxtyping(trial)
            found, bindings = judged_by_us(trial, parse_spec(trial.spec, strict=True), bindings)
            event(expected)
            assert found == expected, (trial, bindings)


@settings(max_examples=750, deadline=None)
@given(ODD_TEXTS, st.lists(SIZES, max_size=3))
def test_malformed_specs_are_those_that_jaxtyping_refuses(text: str, shape: list[int]) -> None:
    try:
        Shaped[np.ndarray, text]
    except ValueError:
        with pytest.raises(SpecError):
            parse_spec(text, strict=True)
        return
    try:
        spec = parse_spec(text, strict=True)
    except UnsupportedSpec:
        return  # nothing is claimed about these
    except SpecError:
        # jaxtyping finds out late: an axis that is no expression is evaluated once an array gets that far.
        bad = [axis for axis in text.split() if _is_malformed(axis)]
        assert bad
        for axis in bad:
            with jaxtyped("context"), pytest.raises((SyntaxError, jaxtyping.AnnotationError)):
                is_instance(np.empty((3,)), Shaped[np.ndarray, axis])
        return
    trial = Trial(text, (tuple(shape),), tree=False)
    with jaxtyped("context"):
        assert judged_by_us(trial, spec, Bindings())[0] == judged_by_jaxtyping(trial)


def _is_malformed(axis: str) -> bool:
    try:
        parse_spec(axis, strict=True)
    except UnsupportedSpec:
        return False
    except SpecError:
        return True
    return False


@pytest.mark.parametrize(
    "spec", ["{self.n}", "{self.n}*2 d", "{self.w.shape[0]}", "{self.w.ndim}+1 _", "{len(self.w)}-1"]
)
def test_braces_are_the_arguments_of_the_call(spec: str) -> None:
    class CommentOwner:
        def __init__(self) -> None:
            self.n = 3
            self.w = np.empty((4, 5))

    accepted: list[tuple[int, ...]] = []
    shapes = [(n,) for n in range(8)] + [(n, 2) for n in range(8)]

    @jaxtyped(typechecker=None)
    def called(self: CommentOwner) -> None:
        accepted.extend(s for s in shapes if is_instance(np.empty(s), Shaped[np.ndarray, spec]))

    called(CommentOwner())
    env = {"self.n": (3,), "self.w.shape[0]": (4,), "self.w.ndim": (2,), "len(self.w)": (4,)}
    parsed = parse_spec(spec, strict=True)
    assert len(accepted) > 0
    assert [s for s in shapes if match(parsed, tuple((n,) for n in s), Bindings(), env=env).ok] == accepted


ACTUAL = sorted(
    {np.dtype(code).name for code in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"}
    | {name for name in dir(ml_dtypes) if isinstance(getattr(ml_dtypes, name), type) and name[-1].isalnum()}
    - {"finfo", "iinfo"}
)
CLASSES = sorted(DTYPES)


def test_every_class_of_jaxtyping_is_known() -> None:
    theirs = {
        name
        for name, value in vars(jaxtyping).items()
        if isinstance(value, type)
        and issubclass(value, jaxtyping.AbstractDtype)
        and value is not jaxtyping.AbstractDtype
    }
    assert theirs == set(CLASSES)


@pytest.mark.parametrize("actual", ACTUAL)
def test_dtypes_agree(actual: str) -> None:
    array = np.empty((), getattr(ml_dtypes, actual, actual))
    expected = [name for name in CLASSES if isinstance(array, getattr(jaxtyping, name)[np.ndarray, ""])]
    assert [name for name in CLASSES if dtype_matches(name, actual)] == expected
    assert dtype_matches("", actual)


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_keys_agree(implementation: str) -> None:
    key = jax.eval_shape(lambda: jax.random.key(0, impl=implementation))
    expected = [name for name in CLASSES if isinstance(key, getattr(jaxtyping, name)[jax.ShapeDtypeStruct, ""])]
    assert [name for name in CLASSES if dtype_matches(name, str(key.dtype))] == expected == ["Key", "Shaped"]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("f32", "Float32"),
        ("bf16", "BFloat16"),
        ("float", "Float"),
        ("float64", "Float64"),
        ("jnp.int32", "Int32"),
        ("int", "Int"),
        ("i8", "Int8"),
        ("u8", "UInt8"),
        ("uint16", "UInt16"),
        ("c64", "Complex64"),
        ("complex128", "Complex128"),
        ("bool", "Bool"),
        ("Float32", "Float32"),
        ("Shaped", "Shaped"),
        ("f8_e4m3fn", "Float8e4m3fn"),
        ("x", None),
        ("f", None),
        ("f31", None),
        ("jnp.", None),
        ("", None),
    ],
)
def test_dtype_words(word: str, name: str | None) -> None:
    assert comment_dtype(word) == name


def test_an_unknown_class_is_an_error() -> None:
    with pytest.raises(KeyError):
        dtype_matches("Floaty", "float32")
