"""What stands for a name of an absent package, while the rest of a file is checked.

While modules are imported a stand-in gives way: its attributes can be read, it can be called, subscripted, added to and
derived from, as module bodies do with it, and it is false and has nothing in it. Afterwards nothing can be had of it:
whatever needs it ends, and says which package that is. It stands for no value, so nothing that is seen rests on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Protocol, get_origin

from shapecheck.evaluate.own_errors import RefusalError

_EXCEPTION = re.compile(r"(Error|Exception|Warning)$")

_DEEPEST = 16  # names behind names: who looks for the end of them finds it


class AbsentPackageError(ImportError, RefusalError):
    """Raised where code needs what an absent package has."""


_STAND_IN = "<stand-in for "


def named_stand_in(message: str) -> str:
    """What an error is about that names a stand-in, as an array does that is indexed by one; else ""."""
    return message.partition(_STAND_IN)[2].partition(">")[0]


class _TakesKeywords:
    """A class that may be derived from with keywords: `class Builder(base, skip_registration=True)`."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__()  # what other bases ask for, as Generic does


class StandIn:
    """Stands for `name`, which an absent package has; `why` tells what the matter is with that.

    It gives way while `is_importing`. What begins and ends with two underscores it does not have, so that nobody takes
    it for an array, an iterator or a function of some library's own kind.
    """

    __bases__ = ()  # so that `issubclass` takes it for a class: array types of jaxtyping ask that of what they are of

    def __init__(self, name: str, why: str, is_importing: Callable[[], bool]) -> None:
        self._name, self._why, self._is_importing = name, why, is_importing

    def __getattr__(self, name: str) -> object:
        if (name.startswith("__") and name.endswith("__")) or self._name.count(".") > _DEEPEST:
            raise AttributeError(f"it needs {self._name}.{name}, which {self._why}")
        if _EXCEPTION.search(name):  # which may stand behind `except`
            found: object = type(name, (Exception,), {})
        else:
            found = StandIn(f"{self._name}.{name}", self._why, self._is_importing)
        vars(self)[name] = found
        return found

    def __repr__(self) -> str:
        return f"{_STAND_IN}{self._name}>"

    def __call__(self, *args: object, **kwargs: object) -> StandIn:
        """As a decorator, or what else a module's body calls."""
        if not self._is_importing():
            raise self._error()
        return self

    # Annotations use these, which may be evaluated at any time.
    def __getitem__(self, index: object) -> StandIn:
        return self

    def __or__(self, other: object) -> StandIn:
        return self

    def __ror__(self, other: object) -> StandIn:
        return self

    def __add__(self, other: object) -> StandIn:
        """In constants, as units have them: `2 * units.meter`."""
        return self()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __add__
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __matmul__ = __rmatmul__ = __and__ = __rand__ = __add__

    def __neg__(self) -> StandIn:
        return self()

    __pos__ = __abs__ = __invert__ = __neg__

    def __iter__(self) -> Iterator[object]:
        raise self._error()

    # What the body of a module may ask of it, before it goes another way or adds to it: there is nothing.
    def __bool__(self) -> bool:
        self()
        return False

    def __contains__(self, item: object) -> bool:
        return bool(self)

    def __index__(self) -> int:
        raise self._error()

    __int__ = __float__ = __complex__ = __len__ = __index__

    def __lt__(self, other: object) -> bool:
        return bool(self)

    __le__ = __gt__ = __ge__ = __lt__

    def __setitem__(self, index: object, value: object) -> None:
        self()

    # `copy` and `pickle` make an object without calling its class, and would ask that for what it has not.
    def __copy__(self) -> StandIn:
        return self()

    def __deepcopy__(self, memo: object) -> StandIn:
        return self()

    def __reduce_ex__(self, protocol: object) -> str:
        raise self._error()

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, cls: type) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """A plain base class in its place: so it goes with any metaclass. No instance can be made of what has it.

        None beside `Protocol`, which takes no other bases, and of which no instance is made either.
        """
        if any(each is Protocol or get_origin(each) is Protocol for each in bases):
            return ()
        error = self._error

        def refuse(cls: type, *args: object, **kwargs: object) -> object:
            raise error()

        def initialise(self: object, *args: object, **kwargs: object) -> None:
            """A function, of which module bodies may set the docstring."""

        body: dict[str, object] = {"__new__": refuse, "__init__": initialise}
        return (type(self._name.rpartition(".")[2], (_TakesKeywords,), body),)

    def _error(self) -> AbsentPackageError:
        return AbsentPackageError(f"it needs {self._name}, which {self._why}")
