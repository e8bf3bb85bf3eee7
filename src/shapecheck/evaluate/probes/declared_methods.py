"""Which declaration a method overrides: an abstract method, or a Protocol's, of a base of its class."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from shapecheck.evaluate.probes.attribute_access import read_attribute
from shapecheck.model import Scope, Site


class ProbeWithClaims(Protocol):
    """What is asked of the probe of a module: its scopes, and the claims on what goes into each and comes out."""

    scopes: Sequence[Scope]
    parameters: dict[int, list[Site]]
    returns: dict[int, Site]


ProbeT = TypeVar("ProbeT", bound=ProbeWithClaims)


@dataclass(frozen=True)
class DeclaredMethod(Generic[ProbeT]):
    """A declaration with claims: where it stands, and what the override calls each of its parameters with claims.

    The override may be `documented` by a docstring of its own.
    """

    probe: ProbeT
    scope: int
    parameters: Sequence[tuple[Site, str]]
    documented: bool


class DeclaredMethods(Generic[ProbeT]):
    """Finds the declarations that methods of one module override, by the class that they are called for.

    `find_probe` gives the probe of a module, of its variables.
    """

    def __init__(self, scopes: Sequence[Scope], find_probe: Callable[[Mapping[str, object]], ProbeT | None]) -> None:
        self._scopes, self._find_probe = scopes, find_probe
        self._known: dict[tuple[type, int], DeclaredMethod[ProbeT] | None] = {}

    def overridden_by(self, scope: int, owner: object) -> DeclaredMethod[ProbeT] | None:
        """What a method overrides that is called with `owner` first: the nearest declaration, if it has claims."""
        kind = type(owner)  # its `__class__` may be code of the user's
        cls = cast("type", owner) if issubclass(kind, type) else kind
        if (cls, scope) not in self._known:
            self._known[cls, scope] = self._find(self._scopes[scope], cls)
        return self._known[cls, scope]

    def _find(self, scope: Scope, cls: type) -> DeclaredMethod[ProbeT] | None:
        name = scope.qualname.rpartition(".")[2]
        for base in cls.__mro__[1:]:
            if name not in vars(base):
                continue
            module = sys.modules.get(base.__module__)
            probe = self._find_probe(vars(module)) if module is not None else None
            wanted = f"{base.__qualname__}.{name}"
            for other in probe.scopes if probe is not None else ():
                if other.declares and other.qualname == wanted and probe is not None:
                    return _with_claims(probe, other, scope, documented=_has_docstring(cls, name))
        return None


def _has_docstring(cls: type, name: str) -> bool:
    found = inspect.getattr_static(cls, name, None)
    wrapped = read_attribute(found, "__func__", found)  # of what is static, or of the class
    return isinstance(read_attribute(wrapped, "__doc__", None), str)


def _with_claims(probe: ProbeT, declared: Scope, override: Scope, *, documented: bool) -> DeclaredMethod[ProbeT] | None:
    """The declaration, if any of its claims is about what the override has too."""
    by_position = dict(zip(declared.parameters, override.parameters, strict=False))
    found: list[tuple[Site, str]] = []
    for site in probe.parameters.get(declared.index, ()):
        name = site.name if site.name in override.parameters else by_position.get(site.name)
        if name is not None:
            found.append((site, name))
    if not found and declared.index not in probe.returns:
        return None
    return DeclaredMethod(probe, declared.index, tuple(found), documented)
