"""Probes that wait for JAX: the program decides when it is loaded, and with which settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from shapecheck.evaluate.probes.recorder import OpenCall, Recorder
from shapecheck.model import Scope, Site


class LazyProbe:
    """The handle of a probed module, which becomes that of the recorder as soon as the program has JAX."""

    def __init__(
        self,
        recorder: Recorder,
        path: str,
        scopes: Sequence[Scope],
        sites: Sequence[Site],
        mentioned: frozenset[str] | None = None,
    ) -> None:
        self.recorder, self.path, self.scopes, self.sites = recorder, path, scopes, sites
        self._mentioned = mentioned
        self._before = _ProbeWithoutJax(self)
        self._real: object = None

    def __getattr__(self, name: str) -> object:
        """A method of the handle; the user's frame calls it directly, as it expects."""
        if self._real is None and _is_loaded("jax.numpy"):
            from shapecheck.evaluate.probes.probe_runtime import ModuleProbe  # noqa: PLC0415 - it imports JAX

            self._real = ModuleProbe(self.recorder, self.path, self.scopes, self.sites, self._mentioned)
        if self._real is None:
            return getattr(self._before, name)
        method = getattr(self._real, name)
        setattr(self, name, method)
        return method

    def __reduce__(self) -> tuple[object, ...]:
        """A function of a notebook takes its variables along into another process, where nobody listens."""
        return _silent, ()


class _ProbeWithoutJax:
    """Without JAX there is no array that could be observed."""

    def __init__(self, probe: LazyProbe) -> None:
        self._probe = probe

    def enter(self, scope: int, outer: OpenCall | None) -> OpenCall:
        """Open a call."""
        recorder = self._probe.recorder
        recorder.count += 1
        opened = OpenCall(self._probe, scope, recorder.count, outer)
        opened.caller = recorder.frame(sys._getframe(1).f_back)
        return opened

    def fail(self, opened: OpenCall) -> None:
        """A call ends with an error."""

    def leave(self, opened: OpenCall) -> None:
        """A call is over."""

    def touch(self, scope: int) -> None:
        """A function ran."""

    def value(self, opened: OpenCall | None, site: int, value: object) -> object:
        """An expression has a value."""
        return value

    def observe_return(self, opened: OpenCall | None, value: object) -> object:
        """A function returns a value."""
        return value

    def observe_name(self, opened: OpenCall | None, site: int) -> None:
        """A variable has a value."""

    def pass_value(self, value: object, *probes: object) -> object:
        """The value of an expression, behind which probes have done their work."""
        return value

    def note_constructor(self, scope: int) -> None:
        """A constructor runs."""

    def fields(self, scope: int, outer: OpenCall | None) -> Callable[[object], object]:
        """A class is defined: one of no module of JAX's."""
        return lambda cls: cls


class ValueHandle:
    """What a probed module calls with a value, the last of what it is given; it gives the value back."""

    def __init__(self, receive: Callable[..., object]) -> None:
        self._receive = receive

    def __call__(self, *given: object) -> object:
        """The value."""
        return self._receive(*given)

    def __reduce__(self) -> tuple[object, ...]:
        """A function of a notebook takes its variables along into another process, where nobody listens."""
        return _deaf_handle, ()


def _deaf_handle() -> ValueHandle:
    return ValueHandle(lambda *given: given[-1])


def _silent() -> _ProbeWithoutJax:
    return _ProbeWithoutJax(LazyProbe(Recorder({}), "", (), ()))


def _is_loaded(name: str) -> bool:
    """Whether a module is there, wholly."""
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)
