"""Annotations: which are jaxtyping's, what they are put on, and the way from the value to the array."""

from __future__ import annotations

import textwrap

import pytest

PARAMETERS = {
    "imported as it is": ("from jaxtyping import Array, Float", 'Float[Array, "b s"]', ["Float[b s]"]),
    "renamed": ("from jaxtyping import Float as F", 'F[Array, "b s"]', ["Float[b s]"]),
    "from the module": ("import jaxtyping", 'jaxtyping.Int32[Array, "b"]', ["Int32[b]"]),
    "from the renamed module": ("import jaxtyping as jt", 'jt.Bool[jt.Array, "b"]', ["Bool[b]"]),
    "starred": ("from jaxtyping import *", 'Shaped[Array, "..."]', ["Shaped[...]"]),
    "through another module": ("import pkg.array_typing as at", 'at.Float[at.Array, "*b s"]', ["Float[*b s]"]),
    "without an array type": ("from kauldron.typing import Float", 'Float["B L D"]', ["Float[B L D]"]),
    "of all integers": ("from kauldron import ktyping as kt", 'kt.Int["B L"]', ["Integer[B L]"]),
    "of no dtype": ("from kauldron import kd", 'kd.typing.Array["*B"]', ["Shaped[*B]"]),
    "of all frameworks": ("from kauldron.ktyping import XFloat", 'XFloat["B"]', ["Float[B]"]),
    "of another framework": ("from kauldron.ktyping import TfFloat", 'TfFloat["B"]', []),
    "kauldron's choices": ("from kauldron.ktyping import Float", 'Float["b 3|4"]', ["Float[b 3]", "Float[b 4]"]),
    "kauldron's perhaps": ("from kauldron.ktyping import Float", 'Float["t? c"]', ["Float[t c]", "Float[c]"]),
    "kauldron's at least one": ("from kauldron.ktyping import Float", 'Float["+b c"]', ["Float[b__0 *b__rest c]"]),
    "as only kauldron has it": ("from kauldron.ktyping import Float", 'Float["prod(b)"]', ["Float[...] .?"]),
    "pyrefly's list": ("from jax import Array", "Array[[B, 3, *S, 2 * D]]", ["Shaped[B 3 *S 2*D]"]),
    "pyrefly's list with a dtype": ("import numpy as np", "np.ndarray[[M, N], T] | None", ["Shaped[M N]"]),
    "pyrefly's text": ("from shape_extensions import Shaped", 'Shaped[Array, "[B, 2 * D]"]', ["Shaped[B 2*D]"]),
    "a list of another type": ("", "Callable[[B, D], E]", []),
    "not from another module without a string": ("from sqlalchemy import Float", "Float[10, 2]", []),
    "not a class of the file": ("class Float: ...", 'Float[Array, "b s"]', []),
    "not an unknown name": ("", 'Float[Array, "b s"]', []),
    "only where types are checked": (
        "if TYPE_CHECKING:\n    from jaxtyping import Float",
        "\"Float[Array, 'b s']\"",
        ["Float[b s]"],
    ),
    "a string": ("from jaxtyping import Float", "'Float[Array, \"b s\"]'", ["Float[b s]"]),
    "a union of arrays as the array type": (
        "from jaxtyping import Float",
        'Float[Array | np.ndarray, "b s"]',
        ["Float[b s]"],
    ),
    "strings that are joined": ("from jaxtyping import Float", 'Float[Array, "b " + "s"]', ["Float[b s]"]),
    "strings side by side": ("from jaxtyping import Float", 'Float[Array, "b " "s"]', ["Float[b s]"]),
    "a constant inside": ("from jaxtyping import Float\nN = 4", 'Float[Array, f"b {N}"]', ["Float[b 4]"]),
    "an alias": ('from jaxtyping import Float\nImage = Float[Array, "h w c"]', "Image", ["Float[h w c]"]),
    "an alias of an alias": (
        'from jaxtyping import Float\nImage = Float[Array, "h w c"]\nImages = list[Image]',
        "Images | None",
        ["Float[h w c] .*"],
    ),
    "an annotated alias": (
        'from jaxtyping import Float\nImage: TypeAlias = Float[Array, "h w c"]',
        '"Image"',
        ["Float[h w c]"],
    ),
    "an array type with a shape": (
        'from jaxtyping import Float\nImage = Float[Array, "h w c"]',
        'Float[Image, "b"]',
        ["Float[b h w c]"],
    ),
    "an alias of two meanings": (
        'from jaxtyping import Float\nX = Float[Array, "a"]\nX = Float[Array, "b"]',
        "X",
        ["[...] .?"],
    ),
    "itself": ("X = Y\nY = X", "X", []),
}

STRUCTURES = {
    "optional": ('Optional[Float[A, "b"]]', ["Float[b]"]),
    "or none": ('Float[A, "b"] | None', ["Float[b]"]),
    "tuple": ('tuple[Float[A, "a"], int, Int[A, "b"]]', ["Float[a] .only tuple/3 .0", "Int[b] .only tuple/3 .2"]),
    "nested tuples": ('Tuple[int, Tuple[int, Float[A, "a"]]]', ["Float[a] .only tuple/2 .1 .only tuple/2 .1"]),
    "tuple of any length": ('tuple[Float[A, "a"], ...]', ["Float[a] .*"]),
    "empty tuple": ("tuple[()]", []),
    "tuple of unknown length": ('tuple[int, *Ts, Float[A, "a"]]', ["Float[a] .?"]),
    "list": ('list[Float[A, "a"]]', ["Float[a] .*"]),
    "sequence": ('Sequence[tuple[int, Float[A, "a"]]]', ["Float[a] .* .only tuple/2 .1"]),
    "dict": ('dict[str, Float[A, "a"]]', ["Float[a] .*"]),
    "mapping": ('collections.abc.Mapping[str, list[Float[A, "a"]]]', ["Float[a] .* .*"]),
    "pytree": ('PyTree[Float[A, "?n ..."], "T"]', ["Float[?n ...] .leaves"]),
    "callable": (
        'Callable[[int, Float[A, "a"]], tuple[Float[A, "b"], int]]',
        ["Float[a] .1: called x", "Float[b] .result .only tuple/2 .0: called x"],
    ),
    "callable of any arguments": ('Callable[..., Float[A, "b"]] | None', ["Float[b] .result: called x"]),
    "callables of two kinds": (
        'Callable[[Float[A, "a"]], int] | Callable[[int, Float[A, "a"]], int]',
        ["Float[a] .call/1 .0: called x", "Float[a] .call/2 .1: called x"],
    ),
    "callables of one kind": (
        'Callable[[Float[A, "a"]], int] | Callable[[Float[A, "b"]], int]',
        ["Float[a] .?", "Float[b] .?"],
    ),
    "callables in a list": ('list[Callable[[Float[A, "a"]], int]]', ["Float[a] .0: called x.*"]),
    "callables in a tuple of a union": (
        'tuple[int, Callable[[Float[A, "a"]], int]] | Float[A, "b"]',
        ["Float[a] .0: called x.tuple/2.1", "Float[b]"],
    ),
    "callables in a pytree, which are not taken out": ('PyTree[Callable[[Float[A, "a"]], int]]', ["Float[a] .?"]),
    "what a callable gives is called": (
        'Callable[[int], Callable[[Float[A, "a"]], int]]',
        ["Float[a] .?: called x"],
    ),
    "an array or a callable": ('Float[A, "a"] | Callable[[Float[A, "b"]], int]', ["Float[a]", "Float[b] .0: called x"]),
    "iterator": ('Iterator[tuple[Float[A, "a"], int]]', ["Float[a] .only tuple/2 .0: yielded x"]),
    "generator, which is sent something": (
        'Generator[Float[A, "a"], Float[A, "b"], None]',
        ["Float[a]: yielded x", "Float[b] .?"],
    ),
    "type": ('type[Float[A, "a"]]', ["Float[a] .?"]),
    "an unknown generic": ('Box[Float[A, "a"]]', ["Float[a] .held"]),
    "an unknown generic of two": ('Box[int, Float[A, "a"]]', ["Float[a] .?"]),
    "an array, or an unknown generic": (
        'Float[A, "a"] | Box[tuple[Float[A, "b"], int]]',
        ["Float[a] .array", "Float[b] .holder .held .only tuple/2 .0"],
    ),
    "what is not there yet": ('Awaitable[Float[A, "a"]]', ["Float[a] .?"]),
    "annotated": ('Annotated[Float[A, "a"], "unit"]', ["Float[a]"]),
    "final": ('Final[Float[A, "a"]]', ["Float[a]"]),
    "a union with a plain array, which anything fits": ('Float[A, "a"] | Array', ["Float[a] .?"]),
    "a union with a class, or with who knows what": ('Float[A, "a"] | Box', ["Float[a]"]),
    "a union of different structures": (
        'Float[A, "a"] | tuple[Float[A, "b"], int]',
        ["Float[a] .only array tuple/2 .array", "Float[b] .only array tuple/2 .tuple/2 .0"],
    ),
    "a union of tuples of different lengths, within another": (
        'Optional[tuple[Float[A, "a"], int] | tuple[int, int, Float[A, "b"]]] | Float[A, "c"]',
        [
            "Float[a] .only array tuple/2 tuple/3 .tuple/2 .0",
            "Float[b] .only array tuple/2 tuple/3 .tuple/3 .2",
            "Float[c] .only array tuple/2 tuple/3 .array",
        ],
    ),
    "a union with a number, which may be an array": (
        'tuple[Float[A, "a"], int] | tuple[Float[A, "b"], int, int] | float',
        ["Float[a] .only array tuple/2 tuple/3 .tuple/2 .0", "Float[b] .only array tuple/2 tuple/3 .tuple/3 .0"],
    ),
    "a union with a class, which may be a tuple": (
        'Float[A, "a"] | tuple[Float[A, "b"], int] | Box',
        ["Float[a] .array", "Float[b] .tuple/2 .0"],
    ),
    "a union of lists and dicts": (
        'list[Float[A, "a"]] | dict[str, Float[A, "b"]]',
        ["Float[a] .list .*", "Float[b] .dict .*"],
    ),
    "a union deep inside, with an unknown generic": (
        'tuple[int, tuple[int, Float[A, "a"] | Box[Float[A, "b"]]]]',
        [
            "Float[a] .only tuple/2 .1 .only tuple/2 .1 .array",
            "Float[b] .only tuple/2 .1 .only tuple/2 .1 .holder .held",
        ],
    ),
    "a union of what no value tells apart": ('Float[A, "a"] | PyTree[Float[A, "b"]]', ["Float[a] .?", "Float[b] .?"]),
    "a union with None leaves the structure to be wrong": (
        'tuple[Float[A, "a"], int] | None',
        ["Float[a] .only tuple/2 .0"],
    ),
    "a scalar": ('Float[A, ""]', ["Float[]"]),
    "every kind of dim": (
        'Float[A, "*b n 3 2*d #k _ w=4 {self.n} ?p"]',
        ["Float[*b n 3 2*d #k _ w=4 {self.n} ?p]"],
    ),
    "no jaxtyping": ("np.ndarray[int]", []),
}

ARRAYS = "from jaxtyping import Array as A, Float, Int, PyTree\n"


def _without_place(sentences):
    return [sentence.removesuffix(": param x") for sentence in sentences]


@pytest.mark.parametrize(("imports", "annotation", "expected"), PARAMETERS.values(), ids=PARAMETERS)
def test_which_annotations_count(described, imports, annotation, expected):
    assert _without_place(described(f"{imports}\ndef f(x: {annotation}): ...")) == expected


@pytest.mark.parametrize(("annotation", "expected"), STRUCTURES.values(), ids=STRUCTURES)
def test_the_way_to_the_array(described, annotation, expected):
    assert _without_place(described(f"{ARRAYS}def f(x: {annotation}): ...")) == expected


def test_alternatives_share_a_group_and_others_do_not(read):
    claims = read(f'{ARRAYS}def f(x: Float[A, "a"] | Int[A, "b"], y: list[Float[A, "c"] | Float[A, "d"]]): ...').claims
    groups = [claim.group for claim in claims]
    assert groups[0] == groups[1] is not None
    assert groups[2] == groups[3] is not None
    assert groups[0] != groups[2]
    single = read(f'{ARRAYS}def f(x: Float[A, "a"] | None, y: tuple[Float[A, "a"], Float[A, "b"]]): ...')
    assert [claim.group for claim in single.claims] == [None, None, None]


def test_scalars_of_jaxtyping_are_arrays_without_axes(described):
    source = """
        import jaxtyping as jt
        from jaxtyping import Scalar as S, ScalarLike
        from elsewhere import Scalar

        def f(x: S, y: ScalarLike | None, z: Scalar, w: tuple[jt.Scalar, jt.PRNGKeyArray]): ...
    """
    expected = ["Shaped[]: param x", "Shaped[]: param y", "Shaped[] .only tuple/2 .0: param w"]
    assert described(source) == expected


def test_other_names_for_the_types(described):
    source = """
        import jaxtyping
        Array, Float = jaxtyping.Array, 1
        Array = jaxtyping.Array
        Real = jaxtyping.Float
        Again = Real

        def f(x: Real[Array, "n"], y: Again[Array, "n m"], z: Float[Array, "k"]): ...
    """
    assert described(source) == ["Float[n]: param x", "Float[n m]: param y"]


def test_structure_names_are_kept(read):
    (claim,) = read(f'{ARRAYS}def f(x: PyTree[Float[A, "n"], "T ..."]): ...').claims
    assert claim.structure == "T ..."


def test_where_annotations_stand(described):
    source = ARRAYS + textwrap.dedent("""
        def f(a: Float[A, "a"], /, *rest: Float[A, "r"], b: Float[A, "b"] = 0, **more: Float[A, "m"]) -> Float[A, "o"]:
            x: Float[A, "x"] = g(a)
            y: Float[A, "y"]
            if a:
                y = h(a)
            z: Float[A, "z"]
            for z in rest:
                pass
            never: Float[A, "n"]
            self.w: Float[A, "w"] = g(a)

        class C:
            w: Float[A, "w"]
            v: Float[A, "v"] = field()

            def method(self, x: "Float[A, 'x']"): ...

        async def later() -> Float[A, "l"]: ...

        def generate() -> Iterator[Float[A, "i"]]:
            yield 1

        def wrapped() -> Float[A, "k"]:
            yield 1

        w: Float[A, "w"] = g(1)
    """)
    assert described(source) == [
        "Float[a]: param a",
        "Float[r] .*: param rest",
        "Float[b]: param b",
        "Float[m] .*: param more",
        "Float[o]: return",
        "Float[x]: value g(a)",
        "Float[y]: value h(a)",
        "Float[z]: z body 9",
        "Float[n]: nowhere",
        "Float[w]: value g(a)",
        "Float[w]: field w",
        "Float[v]: field v",
        "Float[x]: param x",
        "Float[l]: return",
        "Float[i]: yielded",
        "Float[k] .?: return",
        "Float[w]: value g(1)",
    ]


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        ('Float[A, "*a *b"]', "variadic"),
        ('Float[A, "n #2*n"]', None),
        ('Float[A, "a, b"]', "comma"),
        ('Float[A, "a ...b"]', "ellipsis"),
        ('Float[A, "2*"]', "malformed"),
        ('list[Float[A, "##a"]]', "twice"),
    ],
)
def test_malformed_annotations(read, annotation, reason):
    module = read(f"{ARRAYS}def f(x: {annotation}): ...")
    if reason is None:  # jaxtyping takes it
        assert module.problems == ()
        assert len(module.claims) == 1
        return
    (problem,) = module.problems
    line = module.lines[problem.span.line - 1]
    assert problem.code == "SC101"
    assert line[problem.span.column - 1 : problem.span.end_column - 1] in annotation
    assert reason in problem.message
    assert module.claims == ()


@pytest.mark.parametrize("annotation", ['Float[A, f"{g()} b"]', "Float[A, SHAPE]", 'Float[A, "{f(x)} b"]'])
def test_a_computed_shape_is_a_claim_that_nobody_can_read_here(read, annotation):
    module = read(f"{ARRAYS}def f(x: {annotation}): ...")
    (claim,) = module.claims
    assert (module.problems, claim.spec) == ((), "...")
    assert "computed" in claim.unread or "not evaluated" in claim.unread


def test_a_foreign_class_is_never_malformed(read):
    assert read('from sqlalchemy import Float\ndef f(x: Float[Array, "a, b"]): ...').problems == ()


def test_the_text_of_an_alias_is_that_of_its_definition(read):
    (claim,) = read(f'{ARRAYS}Image = Float[A, "h w"]\ndef f(x: Image): ...').claims
    assert claim.text == 'Float[A, "h w"]'
    assert (claim.span.line, claim.span.column, claim.span.end_column) == (3, 10, 15)


def test_long_unions_and_deep_types_end(read):
    long = " | ".join(['Float[A, "a"]'] * 1500)
    deep = "list[" * 80 + 'Float[A, "a"]' + "]" * 80
    assert len(read(f"{ARRAYS}def f(x: {long}): ...").claims) == 1500
    assert read(f"{ARRAYS}def f(x: {deep}): ...").claims == ()
