"""One dim as comments and docstrings write it: what stands between two commas of a bracket.

People write dims in many ways, and much that looks like a dim is none. So this reads generously what is surely one
(`2C`, `time steps`, `d=D/2`, `self.n`, `seqlen | 1`), and refuses everything else.
"""

from __future__ import annotations

from shapecheck.shapes.annotation_spec import expression_dim
from shapecheck.shapes.dialects import COMMENT, SpecError, Token
from shapecheck.shapes.expressions import Name, constant, names
from shapecheck.shapes.grammar import parse_tokens
from shapecheck.shapes.spec import (
    PREFIXES,
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    SymbolicDim,
    VariadicDim,
    is_name,
    is_variadic,
)
from shapecheck.shapes.split_dims import PROSE, Tokens, split_at

# What a tuple holds, and no axis: "a tuple of shape (Scalar, PyTree)".
_TYPES = frozenset({"PyTree", "Scalar", "ScalarLike", "Array", "ArrayLike", "Tensor", "Callable", "Optional", "Union"})
_TYPES |= {"float", "str", "bool", "bytes", "dict", "list", "tuple"}
# "Array of shape (Any, 3)": as many as one likes, and in `(Any, Any)` not twice the same.
_ANY_SIZE = frozenset({"Any", "any"})
# What an axis has one item for each of.
_COMPONENTS = {"xyz": 3, "rgb": 3, "RGB": 3, "rgba": 4, "RGBA": 4}
# A chain of attributes speaks of a size only if it subscripts one of these: `x.shape[0]`, but not `t_eval[0]`.
_SIZES = ("shape", "shapes", "size", "sizes", "dim", "dims")


def dims_of(piece: Tokens, *, beside_ellipsis: bool = False) -> tuple[Dim, ...]:
    """What stands between two commas: one dim, or a dim and an ellipsis (`T ...`). Raises `SpecError`.

    Beside an ellipsis an element of a list, as in `(..., features[-1])`, is one axis of any size.
    """
    if beside_ellipsis and _is_element(piece):
        return (AnyDim(),)
    if len(piece) > 1 and piece[-1].text == "...":
        if not piece[-1].spaced and len(piece) == 2 and _is_word(piece[0]):
            return (_variadic(piece[0].text),)  # `others...`
        if piece[-1].spaced:
            return (_dim(piece[:-1]), AnyDims())
    if len(piece) > 1 and piece[0].text == "..." and piece[1].spaced:
        return (AnyDims(), _dim(piece[1:]))
    return (_dim(piece),)


def _is_element(piece: Tokens) -> bool:
    """Whether a piece is a name, or a chain of them, with an index behind it: `features[-1]`."""
    texts = [token.text for token in piece]
    start = texts.index("[") if "[" in texts else 0
    index = "".join(texts[start + 1 : -1]).removeprefix("-")
    return (
        start > 0 and texts[-1] == "]" and index.isdigit() and all(t.isidentifier() or t == "." for t in texts[:start])
    )


def _dim(piece: Tokens) -> Dim:
    texts = [token.text for token in piece]
    if texts in (["..."], ["*"]):
        return AnyDims()
    if texts in (["?"], ["-", "1"]):
        return AnyDim()
    if len(texts) == 1 and texts[0] in _COMPONENTS:
        return FixedDim(_COMPONENTS[texts[0]])
    if texts[0] == "<" and texts[-1] == ">" and len(piece) > 2:
        return _variadic(_join_words(piece[1:-1]))
    if texts[0] == "*" and _is_word(piece[1]):
        return _starred_dim(piece[1:])
    if "|" in texts:
        return _alternatives(piece)
    if len(texts) == 3 and texts[1] == "/" and "1" in texts and any(map(_is_word, piece)):
        return AnyDim()  # `batch/1` is the one or the other: nobody divides by 1
    if "=" in texts:
        return _labelled_dim(piece)
    if len(piece) == 2 and _is_word(piece[0]) and _is_word(piece[1]) and piece[1].spaced:
        return _two_words(piece)
    return _expression_dim(piece)


def _is_word(token: Token) -> bool:
    return token.kind == "name"


def _join_words(words: Tokens) -> str:
    """The name that words and hyphens make: `non-attention dims` is `non_attention_dims`."""
    if not all(_is_word(token) or token.text == "-" for token in words):
        raise SpecError("these are no words")
    name = "_".join(token.text for token in words if _is_word(token))
    if not is_name(name):
        raise SpecError(f"{name!r} is no name")
    return name


def _variadic(name: str) -> Dim:
    return AnyDims(_without_underscores(name)) if name[0] in PREFIXES else VariadicDim(name)


def _without_underscores(name: str) -> str:
    """The label of an anonymous dim: what follows the underscores, if that is a name."""
    label = name.lstrip("_")
    return label if label.isidentifier() else ""


def _starred_dim(rest: Tokens) -> Dim:
    """`*dims`; of `*x.shape[:-1]` nothing more is known than that it stands for some axes."""
    if len(rest) == 1:
        return _variadic(rest[0].text)
    if rest[1].text in {".", "["} and all(token.kind != "op" or token.text in ".[]:-" for token in rest):
        return AnyDims()
    raise SpecError("a starred dim is a name")


def _alternatives(piece: Tokens) -> Dim:
    """`seqlen | 1`: some single axis."""
    bars = [index for index, token in enumerate(piece) if token.text == "|"]
    choices = split_at(piece, bars)
    if not all(choices) or any(is_variadic(_dim(choice)) for choice in choices):
        raise SpecError("an alternative is missing")
    return AnyDim()


def _labelled_dim(piece: Tokens) -> Dim:
    """`heads=4`, `d=D/2`: the size stands behind the sign, and the name is only a label."""
    index = next(index for index, token in enumerate(piece) if token.text == "=")
    words, rest = piece[:index], piece[index + 1 :]
    if not 1 <= len(words) <= 2 or not rest or any(token.text in {"=", "|"} for token in rest):
        raise SpecError("a label is `name=size`")
    dim = _dim(rest)
    label = _join_words(words)
    if label[0] in PREFIXES or not isinstance(dim, (FixedDim, NamedDim, SymbolicDim)):
        return dim
    if isinstance(dim, FixedDim):
        return FixedDim(dim.size, label=label)
    return NamedDim(dim.name, label=label) if isinstance(dim, NamedDim) else SymbolicDim(dim.expression, label=label)


def _two_words(piece: Tokens) -> Dim:
    """`time steps` is one dim. Not so `T B` (which are rather two) and prose such as `see below`."""
    for token in piece:
        if token.text in PROSE or len(token.text) == 1 or not any(char.islower() for char in token.text):
            raise SpecError("these words are no dim")
    name = _join_words(piece)
    return AnyDim(_without_underscores(name)) if name[0] in PREFIXES else NamedDim(name)


def _expression_dim(piece: Tokens) -> Dim:
    """A name, a number, or arithmetic."""
    expression = parse_tokens(piece, COMMENT)
    if isinstance(expression, Name) and expression.text.endswith(".shape"):
        return AnyDims()  # all the axes of another array: `(heads, bucket.shape)`
    if any("[" in name and not _subscripts_a_size(name) for name in names(expression)):
        raise SpecError("a subscript of something that is no shape")
    if isinstance(expression, Name) and is_name(expression.text):
        name = expression.text
        if name in _ANY_SIZE:
            return AnyDim()
        if name in _TYPES:
            raise SpecError("this is a type")
        return AnyDim(_without_underscores(name)) if name[0] in PREFIXES else NamedDim(name)
    dim = expression_dim(expression)
    size = dim.size if isinstance(dim, FixedDim) else 0
    if isinstance(dim, SymbolicDim) and not any(names(expression)):
        size = -1 if (value := constant(expression)) is None else value
    if size < 0:
        raise SpecError("not the size of an axis")
    return dim


def _subscripts_a_size(path: str) -> bool:
    """Whether each subscript of the path stands behind a word such as `shape`."""
    return all(part.endswith(_SIZES) for part in path.split("[")[:-1])
