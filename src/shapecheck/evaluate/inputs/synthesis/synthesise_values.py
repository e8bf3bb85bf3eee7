"""Values made from annotations and names."""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import enum
import functools
import inspect
import itertools
import numbers
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Union

import jax
import jax.numpy as jnp
import numpy as np

from shapecheck.evaluate.framework_protocol import is_holder, key_maker
from shapecheck.evaluate.inputs.facts import name_hints
from shapecheck.evaluate.inputs.facts.body_shapes import INSIDE, BodyShape, axis_name, axis_names, with_named_axes
from shapecheck.evaluate.inputs.facts.random_keys import key_types
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    array_type,
    holds_anything,
    is_array_type,
    is_dtype_class,
    is_plain_array,
    of_several_ranks,
    preference,
    typed_dict_entries,
)
from shapecheck.evaluate.inputs.synthesis.made_callables import MadeCallable, give
from shapecheck.evaluate.inputs.synthesis.made_integers import IntegerChoices
from shapecheck.evaluate.inputs.trials.abstract_call import (
    LazyCall,
    activation,
    alike,
    draw_samples,
    embed_numbers,
    initialise,
    reduction,
    total,
)
from shapecheck.evaluate.inputs.trials.choices import (
    NO_OPTIONS,
    ArgumentChoices,
    Keys,
    Options,
    axes_text,
    result_of,
    table_of,
)
from shapecheck.evaluate.inputs.trials.size_assignment import UNNAMED, SizeAssignment
from shapecheck.evaluate.own_errors import Trace
from shapecheck.model.assumption import (
    DRAWS_VECTORS,
    KEEPS_NO_AXIS,
    MADE_FUNCTION,
    NO_LAYER,
    NUMBER,
    AssumptionKind,
)
from shapecheck.shapes import parse_spec
from shapecheck.worker.messages.plans import ParameterSpec

_STAND_INS = (
    ("keeps shapes", alike),
    ("reduces an axis", reduction),
    ("adds an axis", embed_numbers),
    (KEEPS_NO_AXIS, total),
    (DRAWS_VECTORS, draw_samples),
)
_ITEMS = 3  # of an iterator that is made up
_PLAIN = (int, float, bool, str, type(None))
# Classes of numbers, and the one of each that can be computed with beside arrays.
_NUMBERS: Mapping[type, type] = {
    **dict.fromkeys([numbers.Number, numbers.Complex, numbers.Real, numbers.Rational, np.number, np.inexact], float),
    **dict.fromkeys([np.floating, np.complexfloating], float),
    numbers.Integral: int,
}
_LIKE = -1  # no number of axes, but those that follow from arguments
_MOST_ROWS = 2  # dims that an array may have as many rows as
INVENTIONS = len(_STAND_INS)
"""How often what nothing describes can be made up otherwise; from the second time on arrays and integers are alike."""


class CannotSynthesiseError(Exception):
    """No value can be made for a parameter; the text says which, and why.

    `parameters` are all of that function, `cfg.depth` if it is one of `cfg`; a constructor has them if `constructing`.
    If it was called and raised, `options` are what could be chosen otherwise, and `trace` how far it came.
    """

    def __init__(
        self,
        text: str,
        parameters: tuple[str, ...] = (),
        *,
        constructing: bool = False,
        options: Options = NO_OPTIONS,
        trace: Trace = (),
    ) -> None:
        super().__init__(text)
        self.parameters, self.constructing = parameters, constructing
        self.options, self.trace = options, trace


class NotCalledError(CannotSynthesiseError):
    """No call in the project writes out what is wanted."""


class ValueSynthesis:
    """Makes values of annotated types: arrays under one assignment of sizes, objects of classes by `instance`.

    `inventions` are those of which nothing says the shape. Another invention has others in their place, so that what
    depends on them shows.
    """

    def __init__(
        self,
        assignment: SizeAssignment,
        integers: IntegerChoices,
        instance: Callable[[type, str], object],
        keys: Keys,
        choices: ArgumentChoices,
    ) -> None:
        self.assignment, self.integers, self._instance, self.keys = assignment, integers, instance, keys
        self.choices = choices
        self.inventions: dict[tuple[AssumptionKind, str], str] = {}
        self.named_numbers: list[str] = []  # what is one number by its name
        self.lengths: set[int] = set()  # of sequences, of which nobody says how long they are
        self._tables: set[str] = set()  # the names of sequences of sequences
        self.beside: tuple[str, ...] = ()  # the parameters of the function that values are made for
        self._leaf: ParameterSpec | None = None
        self._chosen_ranks: set[str] = set()  # the places of arrays whose number of axes was chosen, already made
        self._dicts: list[object] = []  # the types of those that are made just now
        # What type variables stand for in the class that is constructed, each with what they stood for around it.
        self._types: Mapping[object, _TypeMeant] = {}

    @contextlib.contextmanager
    def alike(self, described: ParameterSpec) -> Iterator[None]:
        """Let plain arrays be as `described` meanwhile: they are the leaves of an instance, which share its shape."""
        before, self._leaf = self._leaf, described
        try:
            yield
        finally:
            self._leaf = before

    def invent(self, kind: AssumptionKind, name: str, value: str) -> None:
        """Note that a value was made up, of which nothing says the shape."""
        self.inventions[kind, name] = value

    def value(self, annotation: object, name: str, *, constructing: bool = False) -> object:
        """A value of the annotated type, by type first and then by name."""
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if annotation in (MISSING, Any):
            return self._by_name(name, constructing)
        is_wrapped = origin is typing.Annotated and array_type(annotation) is None
        if is_wrapped or origin in (typing.Final, typing.ClassVar):
            return self.value(arguments[0], name)
        if isinstance(annotation, typing.TypeVar):
            return self._of_variable(annotation, name)
        if origin in (Union, types.UnionType):
            return self.key(annotation, name) if all(key_types(annotation)) else self._union(arguments, name)
        if origin is Literal:
            return arguments[0]
        if (array := array_type(annotation)) is not None:
            spec = with_named_axes(array.shape, name)
            if spec != array.shape:
                self.invent("sizes", name, "any")
            return self.assignment.array(spec, array.dtype, name)
        if origin in (tuple, list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection):
            return self._sequence(origin, arguments, name)
        if origin in (collections.abc.Iterator, collections.abc.Generator) and arguments:
            return LazyCall(iter, [[self.value(arguments[0], name) for _ in range(_ITEMS)]], {})
        if origin in (dict, collections.abc.Mapping) and len(arguments) == 2 and arguments[0] is str:
            if isinstance(arguments[1], type) and dataclasses.is_dataclass(arguments[1]):
                self.invent("sizes", name, "any")  # of several instances a call may make one array, as long as they are
            return {"a": self.value(arguments[1], name)}
        if (entries := typed_dict_entries(annotation)) is not None:
            return self._entries(annotation, entries)
        if annotation is dict or origin in (dict, collections.abc.Mapping):
            self.invent("value", name, "an empty dict")  # what looks for something in it ends there
            return {}
        if origin is type and arguments and isinstance(arguments[0], type):
            return arguments[0]
        if origin is collections.abc.Callable or annotation in (Callable, collections.abc.Callable):
            return self._callable(arguments, name)
        if annotation is type(None) or annotation is None:
            return None
        if annotation is collections.abc.Hashable and name.endswith("axis_name"):
            return "batch"
        return self._plain(annotation, name) if origin is None else self._generic(origin, arguments, name)

    def _of_variable(self, variable: typing.TypeVar, name: str) -> object:
        """A value of what a type variable stands for, or else of its bound, or of the first type it may be."""
        if (given := self._types.get(variable)) is not None:
            before, self._types = self._types, given.around  # `Buffer[tuple[T, Array]]` means the T around it
            try:
                return self.value(given.annotation, name)
            finally:
                self._types = before
        meant = variable.__bound__ or (variable.__constraints__ or (None,))[0]
        if meant is not None:
            return self.value(meant, name)
        try:
            return self._by_name(name, constructing=False)
        except CannotSynthesiseError:
            unknown = variable.__name__
            raise CannotSynthesiseError(f"`{name}: {unknown}`, and nothing says what {unknown} is") from None

    def _entries(self, annotation: object, entries: Mapping[str, object]) -> dict[str, object]:
        """The dict that a TypedDict describes, also with the entries that need not be there."""
        if annotation in self._dicts:
            raise CannotSynthesiseError(f"{getattr(annotation, '__name__', annotation)} holds itself")
        self._dicts.append(annotation)
        try:
            return {key: self.value(entry, key) for key, entry in entries.items()}
        finally:
            self._dicts.pop()

    def _generic(self, origin: Any, arguments: Sequence[object], name: str) -> object:
        """An instance of a generic class, for these types."""
        if isinstance(origin, type) and is_holder(origin) and len(arguments) == 1:
            return LazyCall(origin, [self.value(arguments[0], name)], {})
        before = self._types
        pairs = zip(getattr(origin, "__parameters__", ()), arguments, strict=False)
        meant = {
            each: before.get(one) if isinstance(one, typing.TypeVar) else _TypeMeant(one, before) for each, one in pairs
        }
        self._types = {**before, **{each: one for each, one in meant.items() if one is not None}}
        try:
            return self.value(origin, name)
        finally:
            self._types = before

    def _callable(self, arguments: Sequence[object], name: str) -> Callable[..., object]:
        """A function that gives what its annotation promises, else one that keeps shapes."""
        listed = arguments[0] if len(arguments) == 2 and isinstance(arguments[0], list) else ()
        taken = dict(zip(map(str, itertools.count()), listed, strict=False))
        if len(arguments) == 2 and holds_anything(arguments[1]) and str(arguments[1]) in map(str, listed):
            return functools.partial(MadeCallable(taken, arguments[1], None))  # a pytree like the one that it is given
        if len(arguments) == 2 and is_array_type(arguments[1]):
            try:
                return self.made_callable(taken, arguments[1], name)
            except CannotSynthesiseError:
                pass
        if len(arguments) == 2 and _may_be_made(arguments[1]):
            self.invent("value", name, f"{arguments[1].__name__} itself")
            return arguments[1]  # `norm: Callable[..., Norm]`
        if name_hints.is_activation(name):
            return activation
        if name_hints.is_initializer(name):
            return initialise
        return self.stand_in(name)

    def stand_in(self, name: str) -> Callable[..., object]:
        """A function of which nothing is said: what follows from what it does to shapes proves nothing.

        What it gives follows from its arguments, unless a number of axes was chosen for it.
        """
        result = result_of(name)
        chosen = self.choices.axes(self.place(result), _LIKE)
        if chosen is not None:
            self.invent("sizes", result, "any")
            return functools.partial(give, self.of_axes(result, chosen, ""))
        what, function = _STAND_INS[self.integers.invention]
        self.invent("value", name, f"{MADE_FUNCTION} {what}")
        return function

    def made_callable(self, taken: Mapping[str, object], given: object, name: str) -> Callable[..., object]:
        """A function that takes and gives what annotations say. Raises CannotSynthesiseError."""
        usual = self.value(given, name)
        if any(isinstance(leaf, LazyCall) for leaf in jax.tree_util.tree_leaves(usual)):
            raise CannotSynthesiseError(f"nothing says what `{name}` gives")
        # A function, and no object: it may be compared with others, or looked at for its parameters.
        return functools.partial(MadeCallable(taken, given, usual))

    def _plain(self, annotation: object, name: str) -> object:
        if isinstance(annotation, type):
            annotation = _NUMBERS.get(annotation, annotation)
        label = getattr(annotation, "__name__", str(annotation))
        if annotation is bool:
            return False
        if annotation in (int, np.integer):
            return self.integers.choose(name)
        if annotation is float:
            return name_hints.number(name)
        if isinstance(annotation, type) and issubclass(annotation, np.number) and label[-1:].isdigit():
            if issubclass(annotation, np.integer):
                return annotation(self.integers.choose(name))
            return np.asarray(name_hints.number(name), annotation)[()]
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return next(iter(annotation))
        if (maker := key_maker(annotation, "")) is not None:
            return LazyCall(maker, [0], {})
        if label in ("PRNGKeyArray", "KeyArray") or name_hints.is_key(name, self.beside):
            return self.key(annotation, name)
        if label in ("DTypeLike", "DType", "dtype"):
            return jnp.float32
        if any(c.__name__ == "PyTree" for c in getattr(annotation, "__mro__", ())):
            return self._pytree(annotation, name)
        if annotation is str and name.endswith("axis_name"):
            return "batch"
        if annotation is str:
            return self._text(name)
        if (number := is_dtype_class(annotation)) is not None:
            return self._plain_array((number,), name)
        if isinstance(annotation, type) and annotation is not object and not is_plain_array(annotation):
            return self._instance(annotation, name)
        if is_plain_array(annotation):
            return self._plain_array((), name)
        raise CannotSynthesiseError(f"nothing says the shape of `{name}`")

    def _text(self, name: str) -> str:
        """A text that nothing says anything of, such as a label: its own name, so that all are different."""
        if name_hints.is_place(name):
            raise CannotSynthesiseError(f"`{name}: str` has no default")
        return self._own_name(name)

    def kept_text(self, name: str) -> str:
        """A text that a record only keeps. Whoever reads it there may open what it names, and must not write to it."""
        return self._own_name(name)

    def _own_name(self, name: str) -> str:
        """A text of which nothing is known but the name of what it is for: of a dtype it names the usual one."""
        if name_hints.is_dtype(name):
            return "float32"
        text = f"another_{name}" if self.integers.invention else name
        self.invent("value", name, repr(text))
        return text

    def _by_name(self, name: str, constructing: bool) -> object:
        if constructing and (maker := key_maker(MISSING, name)) is not None:
            return LazyCall(maker, [0], {})
        if name_hints.is_key(name, self.beside):
            return self.key(MISSING, name)
        if name_hints.flag(name) is not None:
            flag = name_hints.flag(name) is not bool(self.integers.invention)
            self.invent("value", name, str(flag))  # `train` may be data
            return flag
        if name.endswith("axis_name"):
            return "batch"
        if name_hints.is_dtype(name):
            return jnp.float32
        if name_hints.is_count(name) or (constructing and name_hints.is_size_like(name) and len(name) > 1):
            return self.integers.choose(name)
        raise CannotSynthesiseError(f"`{name}` has no annotation, and no comment or docstring describes it")

    def _pytree(self, annotation: object, name: str) -> object:
        leaf = getattr(annotation, "leaftype", Any)
        if name == "args":  # by the custom of differential equation and optimisation libraries
            return None
        try:
            return self.value(leaf, name)
        except CannotSynthesiseError:
            # Any pytree will do, so one array, as those that `...` describes: a state and its gradients are alike. But
            # what follows from its shape proves nothing against a claim.
            axes = 1 + bool(self.integers.invention)
            self.invent("rank", name, axes_text(axes))
            return self.assignment.array(" ".join(UNNAMED[:axes]), "Float", name)

    def _union(self, members: Sequence[object], name: str) -> object:
        if any(is_plain_array(m) for m in members):
            if type(None) in members and not name_hints.is_key(name, self.beside) and self.is_none(name):
                return None
            return self.key(MISSING, name) if name_hints.is_key(name, self.beside) else self._plain_array(members, name)
        if type(None) in members and not any(is_array_type(m) for m in members):
            if self.integers.constructs and not all(member in _PLAIN for member in members):
                self.invent("value", name, NO_LAYER)
            return None
        problem: CannotSynthesiseError | None = None
        members = sorted(members, key=preference)
        if several := of_several_ranks(members):
            chosen = several[self.choices.member(self.place(name), tuple(several))]
            members.sort(key=lambda member: member is not chosen)
        for member in members:
            try:
                return self.value(member, name)
            except CannotSynthesiseError as error:
                problem = problem or error
        raise problem or CannotSynthesiseError(f"`{name}` is an empty union")

    def is_none(self, name: str) -> bool:
        """Whether None is chosen for an argument that is an array of any shape or None."""
        return self.choices.is_none(self.place(name))

    def _plain_array(self, members: Sequence[object], name: str) -> object:
        """An array that nothing describes: a number where that may stand for it, else one of a guessed rank.

        What follows from the guess may confirm a claim, and proves nothing against it.
        """
        if self._leaf is not None:
            return self.assignment.array(self._leaf.spec, self._leaf.dtype, name)
        chosen = self.choices.axes(self.place(name), self.assignment.variadic_rank)
        if (float in members or int in members) and not self.integers.invention and chosen is None:
            self.invent("rank", name, axes_text(0))  # as an array without axes
            return name_hints.number(name) if float in members else self.integers.choose(name)
        return self._of_rank(name, chosen, self.assignment.variadic_rank, "")

    def number(self, name: str) -> float:
        """A number where nothing but the code, or the name, says that it is one."""
        if name_hints.is_one_number(name):
            self.named_numbers.append(name)
        else:
            self.invent("rank", name, NUMBER)
        return name_hints.number(name)

    def number_or_array(self, name: str) -> object:
        """What nothing describes but that it is computed with: a number, or an array of two axes that fits anywhere.

        The latter does not count where the name says that it is one number.
        """
        if not self.integers.invention or name_hints.is_one_number(name):
            return self.number(name)
        self.invent("rank", name, axes_text(2))
        return self.assignment.array("1 1", "Float", name)

    def some_array(self, name: str) -> object:
        """An array of which nothing says more than that it is one."""
        return self._of_rank(name, self.choices.axes(self.place(name), 1, 1), 1, "")

    def _of_rank(
        self,
        name: str,
        chosen: int | None,
        usual: int,
        dtype: str,
        last: str = "",
        front: Sequence[tuple[int, str]] = (),
    ) -> object:
        """An array of the number of axes that was chosen, or else of the usual one, of which nothing says so.

        Its last axis is a dim that somebody names, or any; so may be those in `front`, by their numbers.
        """
        axes = usual + bool(self.integers.invention) if chosen is None else chosen
        if chosen is None:
            self.invent("rank", name, axes_text(axes))
        else:
            self.invent("sizes", name, "any")
            if self.place(name) in self._chosen_ranks:  # items of one tuple, which need not have as many axes
                self.invent("rank", f"each of {name}", axes_text(axes))
            self._chosen_ranks.add(self.place(name))
        dtype = dtype or self.usual_dtype(name)
        # What a constructor is given is mostly alike: a mean and a deviation, limits, weights and what they weigh.
        inside = self.integers.constructs or self.integers.inside
        spec = axis_names(INSIDE if inside else name, axes)
        spec = " ".join([*spec.split()[:-1], last]) if last and axes else spec
        said = dict(front)
        spec = " ".join(said.get(number, dim) for number, dim in enumerate(spec.split()))
        # Beside arrays that somebody describes it may have as many rows as these have.
        rows = self.assignment.free[:_MOST_ROWS] if inside and axes else ()
        others = tuple(" ".join([each, *spec.split()[1:]]) for each in rows)
        spec = self._perhaps_square(name, spec, others)
        return self.choices.note(self.place(name), self.assignment.array(spec, dtype, name))

    def of_axes(self, name: str, axes: int, dtype: str, sizes: Sequence[int] = ()) -> object:
        """An array of so many axes, of any size; if that does not go, with the sizes that somebody gave it."""
        written = axis_names(name, axes)
        others = (" ".join([*written.split()[:-1], str(sizes[-1])]), " ".join(map(str, sizes))) if sizes else ()
        spec = self._perhaps_square(name, written, others)
        return self.choices.note(self.place(name), self.assignment.array(spec, dtype or self.usual_dtype(name), name))

    def _perhaps_square(self, name: str, spec: str, others: tuple[str, ...] = ()) -> str:
        """A spec of nobody's sizes, which may all be equal, or as the `others` are."""
        dims = spec.split()
        square = (" ".join(dims[:1] * len(dims)),) if len(dims) > 1 else ()
        return self.choices.spec(self.place(name), spec, (*others, *square))

    def usual_dtype(self, name: str) -> str:
        """The dtype chosen for an array of which nothing says it, as one of jaxtyping's; "" for that of its name."""
        is_attended = name_hints.is_key(name) and not name_hints.is_key(name, self.beside)
        if is_attended:
            return self.choices.dtype(self.place(name), "float32") or "Float"
        return self.choices.dtype(self.place(name), name_hints.array_dtype(name))

    def place(self, name: str) -> str:
        """An argument's name, behind those of what holds it."""
        return ".".join([*self.integers.inside, name])

    def as_taken(self, name: str, shape: BodyShape) -> object:
        """An array as the body of a function takes it, of which nothing else says the shape."""
        shape = dataclasses.replace(
            shape, spec=self._known_axes(shape.spec, name), last=self._known_axes(shape.last, "")
        )
        if shape.exact:
            dtype = shape.dtype or self.usual_dtype(name)
            spec = shape.spec if shape.named else self._perhaps_square(name, shape.spec)  # names tell axes apart
            array = self.assignment.array(spec, dtype, name)
            if not shape.named:
                self.invent("sizes", name, "any")
            elif shape.elsewhere:
                self.invent("value", name, f"({', '.join(spec.split())}), as elsewhere in the file")
            return self.choices.note(self.place(name), array)
        least = len(parse_spec(shape.spec).dims)
        usual = max(least - 1 + self.assignment.variadic_rank, least)
        chosen = self.choices.axes(self.place(name), usual, least, scalar=shape.scalar)
        front = [(n, dim) for n, dim in enumerate(shape.spec.split()) if dim != axis_name(name, n)]
        return self._of_rank(name, chosen, usual, shape.dtype, shape.last, front)

    def _known_axes(self, spec: str, name: str) -> str:
        """A spec without sizes that nobody knows before the call, such as `config.width` of some object."""
        if "." not in spec:
            return spec
        found: list[str] = []
        for number, dim in enumerate(spec.split()):
            is_known = all(map(self.assignment.may_know, parse_spec(dim).names()))
            found.append(dim if is_known else axis_name(name, number) if name else "")
        return " ".join(found)

    def _sequence(self, origin: object, arguments: Sequence[object], name: str) -> object:
        if origin is tuple and len(arguments) > 1 and all(each is int for each in arguments):
            return tuple(self.integers.choose(f"{name}[{number}]") for number in range(len(arguments)))
        if origin is tuple and arguments and Ellipsis not in arguments:
            return tuple(self.value(a, f"{name}") for a in arguments)
        element = arguments[0] if arguments else Any
        if typing.get_origin(element) in (list, tuple, collections.abc.Sequence):
            self._tables.add(name)
        length = self.choices.length(table_of(self.place(name)) if name in self._tables else self.place(name))
        if element is int and name_hints.particular_size(name) is None:  # such as the widths of layers: all differ
            # None of them has the name alone, which a dim may mean for how many there are.
            first = name if name in self.integers.pinned else f"{name}[0]"
            names = (first, *(f"{name}[{number}]" for number in range(1, length)))
            values: list[object] = [self.integers.choose(each) for each in names]
        elif element is str:  # names of several things
            values = [self._text(name), *(self._text(f"{name}[{number}]") for number in range(1, length))]
        else:
            values = [self.value(element, name) for _ in range(length)]
            if _holds_integers(element) and not self.integers.constructs:
                self.invent("sizes", name, "any")  # as many as the edges of a graph have nodes
        self.lengths.add(len(values))
        return values if origin is list else tuple(values)

    def key(self, annotation: object, name: str) -> object:
        """A random key, or several, as the annotation says; of its kind if it says that."""
        new, old = key_types(annotation)
        self.keys.open |= (new is None) == (old is None)
        other = self.keys.choice == "other kind"
        struct = (old if other else new) or new or old
        if struct is None:
            return self.assignment.key(typed=other != self.keys.new)
        return self.assignment.array(struct.shape, struct.dtype, name)


@dataclasses.dataclass(frozen=True)
class _TypeMeant:
    """What a type variable stands for, and what the variables in that stand for."""

    annotation: object
    around: Mapping[object, _TypeMeant]


def _holds_integers(annotation: object) -> bool:
    """Whether it is a type of tuples or lists of integers, or of either."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return any(map(_holds_integers, typing.get_args(annotation)))
    return typing.get_origin(annotation) in (tuple, list) and int in typing.get_args(annotation)


def _may_be_made(given: object) -> typing.TypeGuard[type]:
    """Whether what a callable gives is an instance of a class that has arrays or such instances inside of it."""
    return isinstance(given, type) and dataclasses.is_dataclass(given) and not inspect.isabstract(given)
