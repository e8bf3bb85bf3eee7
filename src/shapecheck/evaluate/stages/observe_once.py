"""Depth for free where claims are checked: equal calls of modules are observed once, and not evaluated again."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from types import TracebackType

from shapecheck.evaluate.framework_protocol import is_wrapper, pytree_classes
from shapecheck.evaluate.probes.monkeypatch import patch_attribute, subclasses
from shapecheck.evaluate.probes.recorder import Recorder, Watch
from shapecheck.evaluate.probes.vmap_axes import VmapFrames, mapped_axes
from shapecheck.evaluate.stages.stage_memo import StageMemo


class RepeatedCalls(Watch):
    """While it is entered, calls of modules that repeat earlier ones of the same evaluation run once.

    Two calls are equal only if a claim sees the same in both: also the axes over which JAX maps, be they hidden by
    a `jit` inside, and the sizes that the module's constructor had, though the module may not hold them.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._surroundings = VmapFrames()
        self._wrapped: dict[type, tuple[object, Callable[..., object]]] = {}
        self._entered = contextlib.ExitStack()
        self._plain = False
        self.begin()

    def begin(self) -> None:
        """Forget what ran: another evaluation starts."""
        self._once = StageMemo(2, self._recorder.pause)
        self._once.off = self._plain

    def __enter__(self) -> RepeatedCalls:
        self._plain = False
        with contextlib.ExitStack() as stack:
            for cls in chain.from_iterable(map(subclasses, pytree_classes())):
                call = vars(cls).get("__call__")
                if call is not None and not getattr(call, "__isabstractmethod__", False) and not is_wrapper(cls):
                    # monkeypatch: a class has no hook for its calls
                    stack.enter_context(patch_attribute(cls, "__call__", self._once_each(cls, call)))
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.close()

    def retry(self) -> bool:
        """Whether an evaluation failed that left calls out: it runs once more, and no other will leave out any."""
        again = self._once.used and not self._plain
        self._plain = self._plain or again
        return again

    def _once_each(self, cls: type, call: Callable[..., object]) -> Callable[..., object]:
        known = self._wrapped.get(cls)
        if known is None or known[0] is not call:
            self._wrapped[cls] = known = call, self._wrapper(call)
        return known[1]

    def _wrapper(self, call: Callable[..., object]) -> Callable[..., object]:
        def plain(module: object, /, *args: object, **kwargs: object) -> object:
            return call.__get__(module, type(module))(*args, **kwargs)

        def call_once(self_: object, /, *args: object, **kwargs: object) -> object:
            frame = sys._getframe(1)

            def call_key(tracers: Sequence[object]) -> Hashable:
                hidden = self._surroundings.hidden_axes(frame)
                return tuple(map(mapped_axes, tracers)), hidden, self._constructor_sizes(self_)

            return self._once.call(plain, (self_, *args), kwargs, extra_key=call_key)[0]

        return functools.wraps(call)(call_once)

    def _constructor_sizes(self, module: object) -> Hashable:
        """The sizes that the constructor of a module had; of one that JAX has rebuilt, what it holds tells them."""
        found: Sequence[Mapping[str, object]] = self._recorder.constructions.own(module)
        return tuple(tuple((n, v) for n, v in variables.items() if type(v) is int) for variables in found)
