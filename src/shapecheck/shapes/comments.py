"""The notation of comments and docstrings: the inside of a bracket, or a list such as `B x T x C`.

People write dims in many ways, and much that looks like a list of dims is none. So this reads generously what is
surely a dim (`2C`, `time steps`, `d=D/2`, `H×W`, `self.n`, `seqlen | 1`), and answers None for everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .annotations import MAX_VARIADIC, computed
from .dialects import COMMENT, SpecError, Token, tokenize
from .expressions import Name, constant, names
from .grammar import parse_tokens
from .spec import (
    PREFIXES,
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    Spec,
    SymbolicDim,
    VariadicDim,
    is_name,
    is_variadic,
)

MAX_TEXT = 1000
MAX_TOKENS = 400

# A chain of attributes speaks of a size only if it subscripts one of these: `x.shape[0]`, but not `t_eval[0]`.
_SIZES = ("shape", "shapes", "size", "sizes", "dim", "dims")

# Words that join sentences; a dim of two words contains none of them.
_PROSE_TEXT = """
    a all an and any are as at be by can each else for from has have if in into is it its no not of on only or per see
    so than that the then this to use used via was we when where which with
"""
_PROSE = frozenset(_PROSE_TEXT.split())
_SENTENCE = _PROSE - {"a", "in"}  # these two may well be dims between spaces

Tokens = Sequence[Token]


def parse_comment_dims(text: str, *, spaces: bool = False) -> Spec | None:
    """Read a list of dims as comments write them; None if it is no such list.

    Dims are separated by commas, else by `x` or `×`, else (with `spaces`) by spaces. An empty text is the shape of
    a scalar. Without commas `H×W` is two dims; beside a comma it is a product.
    """
    if len(text) > MAX_TEXT:
        return None
    try:
        pieces = _pieces(tokenize(text, COMMENT, limit=MAX_TOKENS), spaces)
        dims = tuple(dim for piece in pieces for dim in _dims(piece))
    except SpecError:
        return None
    dims = _without_series(dims)
    if sum(map(is_variadic, dims)) > MAX_VARIADIC or _is_enumeration(dims) or _is_dimensionality(text):
        return None
    return Spec(dims)


def _pieces(tokens: list[Token], spaces: bool) -> list[Tokens]:
    """The tokens of each dim. Raises `SpecError` if a dim is missing or the brackets do not match."""
    if not tokens:
        return []
    tokens = _with_times_signs(tokens)
    separators = _top_level(tokens)
    commas = [index for index in separators if tokens[index].text == ","]
    times = [index for index in separators if tokens[index].text == "×"]
    if commas:
        pieces = _cut(tokens, commas)
        if not pieces[-1]:
            pieces.pop()  # a comma may trail, as in `(N,)`
    elif times:
        pieces = _cut(tokens, times)
    elif spaces:
        if any(token.text in _SENTENCE for token in tokens):
            raise SpecError("this is a sentence")
        starts = [index for index in separators if tokens[index].spaced and index > 0]
        pieces = [tokens[start:end] for start, end in pairwise([0, *starts, len(tokens)])]
    else:
        pieces = [tokens]
    if not all(pieces):
        raise SpecError("a dim is missing")
    return pieces


def _with_times_signs(tokens: list[Token]) -> list[Token]:
    """The tokens with a multiplication sign for each ` x ` between two operands."""
    result = list(tokens)
    for index in range(1, len(tokens) - 1):
        token, before, after = tokens[index], result[index - 1], tokens[index + 1]
        ends_operand = before.kind != "op" or before.text in {")", "]", "..."}
        starts_operand = after.kind != "op" or after.text in {"(", "...", "-", "<"}
        if token.text in {"x", "X"} and token.spaced and after.spaced and ends_operand and starts_operand:
            result[index] = Token("op", "×", True)
    return result


def _top_level(tokens: Tokens) -> list[int]:
    """The indices of the tokens outside of all brackets. Raises `SpecError` if these do not match."""
    found: list[int] = []
    closers: list[str] = []
    for index, token in enumerate(tokens):
        if not closers:
            found.append(index)
        if token.kind == "op" and token.text in "([{":
            closers.append({"(": ")", "[": "]", "{": "}"}[token.text])
        elif token.kind == "op" and token.text in ")]}" and (not closers or closers.pop() != token.text):
            raise SpecError("the brackets do not match")
    if closers:
        raise SpecError("a bracket is not closed")
    return found


def _cut(tokens: Tokens, indices: list[int]) -> list[Tokens]:
    return [tokens[start + 1 : end] for start, end in pairwise([-1, *indices, len(tokens)])]


def _dims(piece: Tokens) -> tuple[Dim, ...]:
    """What stands between two commas: one dim, or a dim and an ellipsis (`T ...`). Raises `SpecError`."""
    if len(piece) > 1 and piece[-1].text == "...":
        if not piece[-1].spaced and len(piece) == 2 and _is_word(piece[0]):
            return (_variadic(piece[0].text),)  # `others...`
        if piece[-1].spaced:
            return (_dim(piece[:-1]), AnyDims())
    if len(piece) > 1 and piece[0].text == "..." and piece[1].spaced:
        return (AnyDims(), _dim(piece[1:]))
    return (_dim(piece),)


def _dim(piece: Tokens) -> Dim:
    texts = [token.text for token in piece]
    if texts in (["..."], ["*"]):
        return AnyDims()
    if texts in (["?"], ["-", "1"]):
        return AnyDim()
    if texts[0] == "<" and texts[-1] == ">" and len(piece) > 2:
        return _variadic(_joined(piece[1:-1]))
    if texts[0] == "*" and _is_word(piece[1]):
        return _starred(piece[1:])
    if "|" in texts:
        return _alternatives(piece)
    if "=" in texts:
        return _labelled(piece)
    if len(piece) == 2 and _is_word(piece[0]) and _is_word(piece[1]) and piece[1].spaced:
        return _two_words(piece)
    return _computed(piece)


def _is_word(token: Token) -> bool:
    return token.kind == "name"


def _joined(words: Tokens) -> str:
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


def _starred(rest: Tokens) -> Dim:
    """`*dims`; of `*x.shape[:-1]` nothing more is known than that it stands for some axes."""
    if len(rest) == 1:
        return _variadic(rest[0].text)
    if rest[1].text in {".", "["} and all(token.kind != "op" or token.text in ".[]:-" for token in rest):
        return AnyDims()
    raise SpecError("a starred dim is a name")


def _alternatives(piece: Tokens) -> Dim:
    """`seqlen | 1`: some single axis."""
    bars = [index for index, token in enumerate(piece) if token.text == "|"]
    choices = _cut(piece, bars)
    if not all(choices) or any(is_variadic(_dim(choice)) for choice in choices):
        raise SpecError("an alternative is missing")
    return AnyDim()


def _labelled(piece: Tokens) -> Dim:
    """`heads=4`, `d=D/2`: the size stands behind the sign, and the name is only a label."""
    index = next(index for index, token in enumerate(piece) if token.text == "=")
    words, rest = piece[:index], piece[index + 1 :]
    if not 1 <= len(words) <= 2 or not rest or any(token.text in {"=", "|"} for token in rest):
        raise SpecError("a label is `name=size`")
    dim = _dim(rest)
    label = _joined(words)
    if label[0] in PREFIXES or not isinstance(dim, (FixedDim, NamedDim, SymbolicDim)):
        return dim
    if isinstance(dim, FixedDim):
        return FixedDim(dim.size, label=label)
    return NamedDim(dim.name, label=label) if isinstance(dim, NamedDim) else SymbolicDim(dim.expression, label=label)


def _two_words(piece: Tokens) -> Dim:
    """`time steps` is one dim. Not so `T B` (which are rather two) and prose such as `see below`."""
    for token in piece:
        if token.text in _PROSE or len(token.text) == 1 or not any(char.islower() for char in token.text):
            raise SpecError("these words are no dim")
    name = _joined(piece)
    return AnyDim(_without_underscores(name)) if name[0] in PREFIXES else NamedDim(name)


def _computed(piece: Tokens) -> Dim:
    """A name, a number, or arithmetic."""
    expression = parse_tokens(piece, COMMENT)
    if any("[" in name and not _subscripts_a_size(name) for name in names(expression)):
        raise SpecError("a subscript of something that is no shape")
    if isinstance(expression, Name) and is_name(expression.text):
        name = expression.text
        return AnyDim(_without_underscores(name)) if name[0] in PREFIXES else NamedDim(name)
    dim = computed(expression)
    size = dim.size if isinstance(dim, FixedDim) else 0
    if isinstance(dim, SymbolicDim) and not any(names(expression)):
        size = -1 if (value := constant(expression)) is None else value
    if size < 0:
        raise SpecError("not the size of an axis")
    return dim


def _subscripts_a_size(path: str) -> bool:
    """Whether each subscript of the path stands behind a word such as `shape`."""
    return all(part.endswith(_SIZES) for part in path.split("[")[:-1])


def _is_dimensionality(text: str) -> bool:
    """Whether the text is `2D` or `3d`, which says how many axes there are."""
    return len(text := text.strip()) == 2 and text[0] in "0123456789" and text[1] in "dD"


def _without_series(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """`dim_1, dim_2, ...` is any number of axes: an array with one of them has no `dim_2`."""
    for index, dim in enumerate(dims):
        first = index
        while isinstance(dim, AnyDims) and first > 1 and _follow_in_number(dims[first - 2], dims[first - 1]):
            first -= 1
        if first < index:
            return (*dims[: first - 1], *dims[index:])
    return dims


def _follow_in_number(before: Dim, after: Dim) -> bool:
    """Whether two names differ only in their number, by one: `x1` and `x2`."""
    if not isinstance(before, NamedDim) or not isinstance(after, NamedDim):
        return False
    stem = before.name.rstrip("0123456789")
    numbers = before.name[len(stem) :], after.name[len(stem) :]
    return after.name.startswith(stem) and all(n.isdigit() for n in numbers) and int(numbers[1]) == int(numbers[0]) + 1


def _is_enumeration(dims: tuple[Dim, ...]) -> bool:
    """Whether an ellipsis continues a sequence, as in `0, 1, ..., n-1` or `x1, ..., xn`."""
    for index, dim in enumerate(dims):
        if not isinstance(dim, AnyDims) or dim.label or index == 0:
            continue
        before = dims[index - 1]
        if isinstance(before, FixedDim):
            earlier = dims[index - 2] if index > 1 else None
            if before.size == 0 or (isinstance(earlier, FixedDim) and earlier.size == before.size - 1):
                return True
        if index + 1 < len(dims) and _share_a_stem(before, dims[index + 1]):
            return True
    return False


def _share_a_stem(before: Dim, after: Dim) -> bool:
    """Whether two names differ only in an index, of which the first is a number: `x_0` and `x_n`."""
    if not isinstance(before, NamedDim) or not isinstance(after, NamedDim):
        return False
    stem = before.name.rstrip("0123456789")
    rest = after.name[len(stem) :]
    return stem != before.name and after.name.startswith(stem) and 0 < len(rest) <= 3
