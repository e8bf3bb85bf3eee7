"""Specs are read, printed, and read back; what is hostile or no spec ends quickly and cleanly."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import jax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import export

from shapecheck.shapes import (
    AnyDim,
    AnyDims,
    FixedDim,
    NamedDim,
    RepeatedDim,
    Size,
    Spec,
    SpecError,
    SymbolicDim,
    UnboundName,
    UndefinedSizeError,
    UnsupportedSpec,
    VariadicDim,
    evaluate,
    parse_comment_dims,
    parse_dim,
    parse_spec,
    print_spec,
)
from shapecheck.shapes.expressions import Binary, BracedExpression, Expression, FunctionCall, Int, Name, Unary

IDENTIFIERS = st.sampled_from(["a", "B", "d_model", "α", "x1", "in", "T'", "k''"])
PATHS = st.sampled_from(["self.n", "x.shape[0]", "x.shape[-1]", "len(x)", "len(self.layers)", "x.ndim", "_p.n"])
PLAIN = st.one_of(st.integers(0, 99).map(Int), st.sampled_from(["a", "n1"]).map(Name))
OPERATORS = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"])


def expressions(
    leaves: st.SearchStrategy[Expression],
    functions: tuple[str, ...] = ("abs", "ceil", "floor", "int", "round"),
    most_leaves: int = 8,
) -> st.SearchStrategy[Expression]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Binary, OPERATORS, inner, inner),
            st.builds(Unary, st.sampled_from(["-", "+", "~"]), inner),
            st.builds(FunctionCall, st.sampled_from(["min", "max"]), st.tuples(inner, inner)),
            st.builds(FunctionCall, st.sampled_from(functions), st.tuples(inner)),
        ),
        max_leaves=most_leaves,
    )


IN_BRACES = st.one_of(st.integers(0, 9).map(Int), st.sampled_from(["n", "self.n", "len(x)", "x.shape[0]"]).map(Name))
# Of few leaves, as these are leaves themselves: what has more tokens than a reader takes is no round trip.
BRACED = st.builds(BracedExpression, expressions(IN_BRACES, ("abs", "int", "round"), most_leaves=2))
ANY_EXPRESSION = expressions(st.one_of(PLAIN, IDENTIFIERS.map(Name), PATHS.map(Name), BRACED))


def is_computed(expression: Expression) -> bool:
    """Whether the expression is more than a number with at most one sign, which is read as a fixed size."""
    unsigned = expression.operand if isinstance(expression, Unary) and expression.operator != "~" else expression
    return not isinstance(unsigned, Int)


LABELS = st.sampled_from([None, "n", "time_steps"])
WORDS = st.sampled_from(["", "a", "batch"])
SINGLE = st.one_of(
    st.builds(AnyDim, WORDS),
    st.builds(FixedDim, st.integers(-1, 999), st.booleans(), LABELS),
    st.builds(NamedDim, IDENTIFIERS, st.booleans(), st.booleans(), LABELS),
    st.builds(SymbolicDim, ANY_EXPRESSION.filter(is_computed), st.booleans(), LABELS),
)
VARIADIC = st.one_of(
    st.builds(AnyDims, WORDS), st.builds(VariadicDim, IDENTIFIERS, st.booleans(), st.booleans(), LABELS)
)
SPECS = st.builds(
    lambda first, variadic, last: Spec((*first, *variadic, *last)),
    st.lists(SINGLE, max_size=3),
    st.lists(VARIADIC, max_size=3),
    st.lists(SINGLE, max_size=2),
)


@settings(max_examples=1000, deadline=None)
@given(SPECS)
def test_reading_what_is_printed_gives_an_equal_spec(spec: Spec) -> None:
    assert parse_spec(print_spec(spec)) == spec == parse_spec(f"  {spec}  ")


@pytest.mark.parametrize("text", ["d: out", "c d:order-1 out", "3:n", "2*d:", "b d:(n-1)*2 ..."])
def test_repeated_dims_are_printed_as_they_are_read(text: str) -> None:
    spec = parse_spec(text)
    assert any(isinstance(dim, RepeatedDim) for dim in spec.dims)
    assert parse_spec(print_spec(spec)) == spec
    assert str(parse_spec(print_spec(spec))) == print_spec(spec)
    with pytest.raises(SpecError):
        parse_spec(text, strict=True)


@pytest.mark.parametrize("text", ["...:", "*d:", "_:n", "d:+"])
def test_only_a_single_axis_is_repeated(text: str) -> None:
    with pytest.raises(SpecError):
        parse_spec(text)


@settings(max_examples=500, deadline=None)
@given(expressions(PLAIN))
def test_printed_expressions_mean_in_python_what_they_mean_here(expression: Expression) -> None:
    try:
        value = evaluate(expression, {"a": (7,), "n1": (3,)}, 1)
    except UndefinedSizeError:
        return
    known = {"a": 7, "n1": 3, "ceil": math.ceil, "floor": math.floor}
    assert eval(str(expression), known) == value[0]  # noqa: S307


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b s 4*d", "b s 4*d"),
        ("  b\ts ", "b s"),
        ("", ""),
        ("#*b ?#c *?d", "*#b #?c *?d"),
        ("_batch *_rest", "_batch *_rest"),
        ("*_", "..."),
        ("#* ?", "#* ?"),
        ("name=4 name=#4", "name=4 #name=4"),
        ("(N//2)+1 (a*b)*c a*(b*c)", "N//2+1 a*b*c a*(b*c)"),
        ("(d)", "(d)"),
        ("(4) -(3)", "4 -3"),
        ("{self.n} {x.shape[0]}*2", "{self.n} {x.shape[0]}*2"),
        ("(a**b)**c a**b**c -a**2 (-a)**2", "(a**b)**c a**b**c -a**2 (-a)**2"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(parse_spec(text)) == canonical
    assert parse_spec(canonical) == parse_spec(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b", "commas"),
        ("a#", "in front"),
        ("##a", "twice"),
        ("**a", "twice"),
        ("_4", "fixed size cannot be anonymous"),
        ("*a+1", "expression cannot be variadic"),
        ("?3", "fixed size cannot be dependent"),
        ("#_", "anonymous and broadcastable"),
        ("b...", "alone"),
        ("(a", "missing"),
        ("2d", "unexpected 'd'"),
        ("a+*b", "unexpected"),
        ("a+", "too early"),
        ("True+1", "Python's own"),
        ("max(a)", "arguments"),
        ("*a ... b *c *d", "more than one variadic"),
        ("9" * 19 + "+1", "too large"),
    ],
)
def test_malformed_specs_say_why(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message.replace("(", r"\(")):
        parse_spec(text)


@pytest.mark.parametrize(
    "text", ["{f(x)}", '{x["k"]}', "{n:d}", "{n!r}", "a{n}", "{a}{b}", "{x.shape[i]}", "a<b", "f(a)"]
)
def test_what_python_could_evaluate_is_told_from_what_is_malformed(text: str) -> None:
    with pytest.raises(UnsupportedSpec, match="not evaluated"):
        parse_spec(text)


@pytest.mark.parametrize("text", ["T'", "self.n", "x.shape[0]", "len(x)", "*a *b", "... b *c", "ceil(n)"])
def test_strict_reading_refuses_what_only_comments_say(text: str) -> None:
    assert str(parse_spec(text)) == text
    with pytest.raises(SpecError):
        parse_spec(text, strict=True)


def test_names_divisors_and_rank() -> None:
    spec = parse_spec("b *rest 2*d//6 {self.n}+b (h-s)//(2*k)//3 x.shape[0]/4 ?leaf label=5 _any e%7")
    assert spec.names() == ("b", "rest", "d", "self.n", "h", "s", "k", "x.shape[0]", "leaf", "e")
    assert spec.free_names() == ("b", "rest", "leaf")
    assert spec.variadic_names() == ("rest",)
    assert spec.divisors() == (6, 2, 3, 4)
    assert spec.rank() is None
    assert parse_spec("a a 3").rank() == 3
    assert parse_spec("a a 3").names() == ("a",)


COMMENTS = [
    ("B, T, C", "B T C"),
    ("batch,seq,", "batch seq"),
    ("H*W, T-1, H//2", "H*W T-1 H//2"),
    ("2 ** k, D", "2**k D"),
    ("2^k", "2**k"),
    ("(H - h + 1) // s1, 2", "(H-h+1)//s1 2"),
    ("2C, 2L-1, n/2m", "2*C 2*L-1 n/(2*m)"),
    ("4(p-1), 4q", "4*(p-1) 4*q"),
    ("n, xyz, RGB", "n 3 3"),
    ("D/2,", "D/2"),
    ("H×W, C", "H*W C"),
    ("H x W, C", "H*W C"),
    ("N−1, a·b", "N-1 a*b"),
    ("B x T x C", "B T C"),
    ("B×T×2C", "B T 2*C"),
    ("3x32x32", "3 32 32"),
    ("..., L, 1, d=D/2", "... L 1 d=D/2"),
    ("…, n", "... n"),
    ("channels, dim_1, dim_2, ...", "channels ..."),
    ("B, T ...", "B T ..."),
    ("trial, others..., time", "trial *others time"),
    ("tgt_len=1, b", "tgt_len=1 b"),
    ("num heads = 4, b", "num_heads=4 b"),
    ("time steps, units", "time_steps units"),
    ("T', D''", "T' D''"),
    ("len(x), self.n_basis", "len(x) self.n_basis"),
    ("x.shape[0], max(a, b), min(a,2)", "x.shape[0] max(a,b) min(a,2)"),
    ("-1, ?, _, _rest", "_ _ _ _rest"),
    ("*dims, *, d", "*dims ... d"),
    ("*x.shape[:-1], d", "... d"),
    ("bs, <spatial dims>, c", "bs *spatial_dims c"),
    ("bs, <non-spatial dims>, c", "bs *non_spatial_dims c"),
    ("heads, len | 1", "heads _"),
    ("batch/1, len, 1", "_ len 1"),
    ("1/batch, len", "_ len"),
    ("(B*T), (D)", "B*T D"),
    ("β, n_α", "β n_α"),
    ("ceil(h/2), floor(w / 2)", "ceil(h/2) floor(w/2)"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "canonical"), COMMENTS)
def test_dims_of_comments(text: str, canonical: str) -> None:
    spec = parse_comment_dims(text)
    assert spec is not None
    assert str(spec) == canonical
    assert parse_spec(canonical) == spec


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("T B", "T B"),
        ("b s 4*d", "b s 4*d"),
        ("*b ah ad", "*b ah ad"),
        ("B x T", "B T"),
        ("a, b", "a b"),
        ("n", "n"),
        ("in out", "in out"),
    ],
)
def test_dims_between_spaces(text: str, canonical: str) -> None:
    assert str(parse_comment_dims(text, spaces=True)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "37(14)",
        "'a', b",
        '"a", "b"',
        "0.5, 1",
        "1e-3",
        "1e8, 2",
        "f(x), 2",
        "np.prod(s), 2",
        "0, 1, ..., n-1",
        "1, 2, ..., n",
        "0, ..., n",
        "x_0, ..., x_n",
        "e0, ..., eM",
        "see below",
        "for the batch",
        "T B",
        "e.g. heads",
        "None, 3",
        "x=True",
        "a=1=2",
        "a,,b",
        ",",
        "[B, T], C",
        "(B, T), C",
        "a)",
        "(a",
        "t[0], t[-1]",
        "{n}",
        "1/2",
        "-3, 4",
        "a == b",
        "a, b; c",
        "3D",
        "$N$",
        "T - 1 C",
        "x x",
        "*a, *b, *c, *d",
        "a|",
        "<>",
    ],
)
def test_what_is_no_list_of_dims(text: str) -> None:
    assert parse_comment_dims(text) is None


@pytest.mark.parametrize("text", ["T - 1 C", "which is empty", "index of tokens", "a, the b c", "T 0.5"])
def test_what_is_no_list_of_dims_between_spaces(text: str) -> None:
    assert parse_comment_dims(text, spaces=True) is None


def test_any_is_no_name() -> None:
    assert parse_comment_dims("Any, Any, 3") == Spec((AnyDim(), AnyDim(), FixedDim(3)))


def test_fixed_and_named_dims_keep_their_labels() -> None:
    assert parse_comment_dims("tgt=1, d=D/2, q=k, e=?") == Spec(
        (
            FixedDim(1, label="tgt"),
            SymbolicDim(Binary("/", Name("D"), Int(2)), label="d"),
            NamedDim("k", label="q"),
            AnyDim(),
        )
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("48", 48),
        ("b", 10),
        ("4*d", 12),
        ("floordiv(h - 1, 2) + 1", 4),
        ("mod(b, 4)", 2),
        ("max(b, h)", 10),
        ("2*d*min(b + 1, h)", 42),
        ("b^2*d - h^3", -43),
        ("- b + 3", -7),
        ("-1*b + 3", -7),
        ("- floordiv(- b, 4)", 3),
        ("d*floordiv(2*b, 3*h + 1) - floordiv(b, 2)^2", -25),
    ],
)
def test_dims_as_jax_prints_them(text: str, value: int) -> None:
    env = {"b": (10, 1), "d": (3, 1), "h": (7, 1)}
    assert evaluate(parse_dim(text), env, 2)[0] == value


DIMS: list[Callable[[Any, Any, Any], Any]] = [
    lambda b, h, d: b * h - 3 * d + 1,
    lambda b, h, d: (h - 1) // 2 + 1,
    lambda b, h, d: -(-b // 4) - h % 4,
    lambda b, h, d: b**3 - d - 7,
    lambda b, h, d: (-b) % 3 * d,
    lambda b, h, d: (2 * b + d) // (h + 1) * d**2,
    lambda b, h, d: -((b // 2) ** 2) * h + b // -3,
    lambda b, h, d: jax.core.max_dim(b, h + 2) * d - jax.core.min_dim(2 * b, 9),
    lambda b, h, d: (b // 2 + h) // 3 % (d + 1),
]


@pytest.mark.parametrize("compute", DIMS, ids=range(len(DIMS)))
def test_what_jax_prints_is_worth_what_jax_computes(compute: Callable[[Any, Any, Any], Any]) -> None:
    printed = parse_dim(str(compute(*export.symbolic_shape("b, h, d"))))
    env: dict[str, Size] = {"b": (11, 30, 2), "h": (6, 7, 40), "d": (5, 8, 3)}
    assert evaluate(printed, env, 3) == tuple(int(compute(*sizes)) for sizes in zip(*env.values(), strict=True))


@pytest.mark.parametrize("text", ["", "b +", "self.n", "f(b)", "b c", "{n}", "[b]", "a,b"])
def test_what_jax_never_prints(text: str) -> None:
    with pytest.raises(SpecError):
        parse_dim(text)


def test_a_name_without_a_size() -> None:
    with pytest.raises(UnboundName) as caught:
        evaluate(parse_dim("a*b"), {"a": (1, 2)}, 2)
    assert caught.value.name == "b"


@pytest.mark.parametrize(
    "text",
    ["a/2+0 ", "1//z", "1%z", "2**200", "a**a**a**a", "9**9**9**9", "1<<99999999", "10**18*10**18", "(0-8)**(1/2)"],
)
def test_what_is_no_size_is_undefined(text: str) -> None:
    (dim,) = parse_spec(text).dims
    assert isinstance(dim, SymbolicDim)
    started = time.perf_counter()
    with pytest.raises(UndefinedSizeError):
        evaluate(dim.expression, {"a": (333,), "z": (0,)}, 1)
    assert time.perf_counter() - started < 0.5


HOSTILE = [
    "(" * 50_000,
    "(" * 500 + "a" + ")" * 500,
    "-" * 50_000 + "a",
    "a" + "+a" * 50_000,
    "a" + "**a" * 50_000,
    "max(" * 10_000,
    "{" * 10_000,
    "{self" + ".a" * 5_000 + "}",
    "a" * 100_000,
    "9" * 100_000,
    "a," * 50_000,
    "a=" * 50_000,
    "a|" * 50_000,
    "a x " * 50_000,
    "... " * 50_000,
    "*a " * 50_000,
    "<" * 50_000,
    "'" * 50_000,
    "a'" * 50_000,
    "#*_?" * 20_000,
    " " * 100_000,
    "\x00\ud800\u202e",
    "a\u0301" * 50_000,
    "𝒳" * 50_000,
]


def _spec(text: str) -> object:
    return parse_spec.__wrapped__(text)


def _strict(text: str) -> object:
    return parse_spec.__wrapped__(text, strict=True)


def _words(text: str) -> object:
    return parse_comment_dims(text, spaces=True)


@pytest.mark.parametrize("read", [_spec, _strict, parse_dim.__wrapped__, parse_comment_dims, _words])
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text[:6]!a}")
def test_hostile_text_ends_quickly(read: Callable[[str], object], text: str) -> None:
    for cut in (len(text), 990, 190, 90):
        started = time.perf_counter()
        try:
            result = read(text[:cut])
        except SpecError:
            result = None
        if isinstance(result, Spec):
            assert parse_spec(str(result)) == result
        assert time.perf_counter() - started < 0.5


@settings(max_examples=1500, deadline=None)
@given(st.text(st.sampled_from([*"aB1_x ,.*()[]{}+-/%^|=#?<>'\"×…~&:", "\n", "é", "²", "\u0301"]), max_size=30))
def test_no_text_breaks_the_readers(text: str) -> None:
    for spaces in (False, True):
        spec = parse_comment_dims(text, spaces=spaces)
        if spec is not None:
            assert parse_spec(str(spec)) == spec
    try:
        spec = parse_spec(text)
    except SpecError:
        return
    assert parse_spec(str(spec)) == spec
