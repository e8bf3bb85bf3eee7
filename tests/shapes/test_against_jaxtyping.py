"""Parsing, matching and dtypes agree with jaxtyping itself."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jaxtyping
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
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
    operators = st.sampled_from(["+", "-", "*", "//", "/", "%", "<<", ">>", "&", "|", "^"])
    return st.one_of(
        atoms,
        st.builds("{}{}{}".format, inner, operators, inner),
        st.builds("({}){}({})".format, inner, operators, inner),
        st.builds("-{}".format, inner),
        st.builds("({})".format, inner),
        st.builds("{}**{}".format, inner, st.integers(0, 3)),
        st.builds("{}({},{})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "int", "round", "~", "+"]), inner),
    )


def axes() -> st.SearchStrategy[str]:
    """Axes as people write them."""
    named = st.builds("{}{}".format, st.sampled_from(["", "", "", "#", "*", "*#", "#*", "_", "*_"]), NAMES)
    fixed = st.builds("{}{}".format, st.sampled_from(["", "", "#", "n=", "#n=", "n=#", "+"]), SIZES)
    symbolic = st.builds("{}{}".format, st.sampled_from(["", "", "#", "n="]), expressions())
    return st.one_of(named, named, fixed, symbolic, st.sampled_from(["...", "_", "n=a", "n=*b", "(a)", "*", "-1"]))


def odd_axes() -> st.SearchStrategy[str]:
    """Heaps of prefixes and what may stand behind them, most of them wrong."""
    pieces = st.sampled_from(
        ["#", "*", "_", "?", "=", "a", "b1", "4", "...", "+", "(", ")", ",", "n=", "-", "a.b", "é"]
    )
    return st.lists(pieces, min_size=1, max_size=5).map("".join)


# Built once: hypothesis spends longer on a new strategy than on a draw.
AXES = st.lists(axes(), max_size=4)
ODD_TEXTS = st.lists(odd_axes(), min_size=1, max_size=2).map(" ".join)
POOLS = st.lists(SIZES, min_size=1, max_size=2)
EXTRA = st.integers(0, 2)
MISTAKES = st.sampled_from([0, 0, 0, 0, 1])
ONE_TO_THREE = st.integers(1, 3)
ZERO_TO_THREE = st.integers(0, 3)


@dataclass(frozen=True)
class Trial:
    """A spec, and the shape of an array (or, for the leaves of a tree, several) that is held against it."""

    spec: str
    shapes: tuple[tuple[int, ...], ...]
    tree: bool


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    """A spec with at most one variadic axis, and shapes that often have a fitting rank."""
    written = draw(AXES)
    seen = [sum(map(_is_variadic, written[:index])) for index in range(len(written))]
    kept = [axis for axis, before in zip(written, seen, strict=True) if before == 0 or not _is_variadic(axis)]
    tree = draw(ZERO_TO_THREE) == 0
    if tree:
        kept = [f"?{axis}" if axis.lstrip("#*").isalpha() and draw(ZERO_TO_THREE) else axis for axis in kept]
    singles = sum(not _is_variadic(axis) for axis in kept)
    spare = EXTRA if len(kept) > singles else MISTAKES
    # Few sizes in each trial, so that names agree often enough to be bound by several arrays.
    pool = [*draw(POOLS), 1]
    count = draw(ONE_TO_THREE) if tree else 1
    ranks = [singles + draw(spare) for _ in range(count)]
    shapes = tuple(tuple(pool[draw(ZERO_TO_THREE) % len(pool)] for _ in range(rank)) for rank in ranks)
    return Trial(" ".join(kept), shapes, tree)


def _is_variadic(axis: str) -> bool:
    return axis == "..." or axis.lstrip("#n=").startswith("*")


def judged_by_jaxtyping(trial: Trial) -> bool:
    """What jaxtyping says, in the context that is open. Whatever it raises is no match."""
    arrays = [np.empty(shape, np.int8) for shape in trial.shapes]
    annotation = Shaped[np.ndarray, trial.spec]
    try:
        if trial.tree:
            return isinstance(arrays, PyTree[annotation, "T"])
        return isinstance(arrays[0], annotation)
    except (jaxtyping.AnnotationError, ArithmeticError, TypeError, ValueError, SyntaxError):
        return False


def judged_by_us(trial: Trial, spec: Spec, bindings: Bindings) -> tuple[bool, Bindings]:
    current = bindings
    if trial.tree:  # a structure name is bound to the first structure that it sees
        structure = str(len(trial.shapes))
        if current.structures.get("T", structure) != structure:
            return False, bindings
        current = current.with_structure("T", structure)
    for index, shape in enumerate(trial.shapes):
        leaf = f"{index} of T" if trial.tree else ""
        outcome = match(spec, tuple((size,) for size in shape), current, leaf=leaf)
        if not outcome.ok:
            assert outcome.reason in {"rank", "dim", "unbound"}
            assert outcome.bindings is current
            return False, bindings
        current = outcome.bindings
    return True, current


@settings(max_examples=2500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(trials(), min_size=1, max_size=5))
def test_matching_agrees_over_several_arrays(sequence: list[Trial]) -> None:
    bindings = Bindings()
    with jaxtyped("context"):
        for trial in sequence:
            expected = judged_by_jaxtyping(trial)
            found, bindings = judged_by_us(trial, parse_spec(trial.spec, strict=True), bindings)
            event(f"matches: {expected}")
            assert found == expected, (trial, bindings)


@settings(max_examples=1500, deadline=None)
@given(ODD_TEXTS, st.lists(SIZES, max_size=3))
def test_malformed_specs_are_those_that_jaxtyping_refuses(text: str, shape: list[int]) -> None:
    try:
        annotation = Shaped[np.ndarray, text]
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
                isinstance(np.empty((3,)), Shaped[np.ndarray, axis])
        return
    with jaxtyped("context"):
        expected = judged_by_jaxtyping(Trial(text, (tuple(shape),), tree=False))
    assert annotation is not None
    assert match(spec, tuple((size,) for size in shape), Bindings()).ok == expected


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
    class Owner:
        def __init__(self) -> None:
            self.n = 3
            self.w = np.empty((4, 5))

    accepted: list[tuple[int, ...]] = []
    shapes = [(n,) for n in range(8)] + [(n, 2) for n in range(8)]

    @jaxtyped(typechecker=None)
    def called(self: Owner) -> None:
        accepted.extend(s for s in shapes if isinstance(np.empty(s), Shaped[np.ndarray, spec]))

    called(Owner())
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
