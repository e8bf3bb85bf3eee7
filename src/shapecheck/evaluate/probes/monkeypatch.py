"""All that we change in Python, in JAX, or in the user's own classes: each is a monkeypatch.

What is changed in a framework, so that calls of its modules are stages, says that framework's file in `frameworks`.

In the worker, while something is evaluated:

| what                                        | where                          | what for                              |
|---------------------------------------------|--------------------------------|---------------------------------------|
| `jax.named_scope`                           | stages/named_scopes.py         | a block under it is a stage           |
| `jax.lax.scan`, wherever it was imported    | stages/stacked_parameters.py   | of what a body's arrays are slices    |
| `__call__` of modules that are pytrees      | stages/stage_memo.py           | equal calls are evaluated once        |
| functions in the fields of a module         | stages/field_functions.py      | their calls are stages                |
| operations and values of JAX's tracers      | probes/constant_values.py      | constants have values under them      |
| `block_until_ready` of JAX's tracers        | probes/constant_values.py      | who times code waits for nothing      |
| `jax.core.Tracer.__bool__`                  | probes/decided_conditions.py   | both arms of an `if` are evaluated    |
| callables in fields of the user's instances | probes/probe_runtime.py        | claims about their calls are checked  |

In the worker, for good:

| what                                        | where                          | what for                              |
|---------------------------------------------|--------------------------------|---------------------------------------|
| hooks, decorators of jaxtyping and its like | probes/disable_typecheckers.py | they would end an evaluation early    |
| `functools._lru_cache_wrapper`              | probes/user_caches.py          | a cache lets pass what has no hash    |
| constructors of the user's classes          | probes/probe_runtime.py        | claims about fields are checked       |
| `os.open`, `os.mkfifo`, `os.mknod`          | read_only_disk.py              | they cannot change the user's files   |
| `os.system`, `os.posix_spawn`, `fork_exec`  | read_only_disk.py              | nor can processes that they start     |

In a program that runs under checks (`shapecheck run`), until they end:

| what                                        | where                          | what for                              |
|---------------------------------------------|--------------------------------|---------------------------------------|
| `sys.meta_path`, whose first finder is ours | runtime/import_hook.py         | imported modules get probes           |
| `builtins.compile`, during one import       | probes/probed_loader.py        | other import hooks see the probes     |
| `__code__` of the user's functions          | runtime/patch_functions.py     | what was imported before gets probes  |
| `__code__` of the user's functions          | runtime/autoreload.py          | reloaded functions get probes         |
| `sys.excepthook`, `threading.excepthook`    | runtime/excepthook.py          | errors are shown with their arrays    |
| `runpy.run_path`                            | runtime/autostart.py           | spawned processes are checked, too    |
| `jax.jit`                                   | runtime/monitor_patches.py     | steps are counted and looked at       |
| `optax.GradientTransformation.update`       | runtime/monitor_patches.py     | gradients, updates, state are seen    |
| `apply_updates` of optax and of frameworks  | runtime/monitor_patches.py     | weights are seen beside their updates |
| the hooks of `jax.debug_nans`, `debug_infs` | jax_internals.py               | a thread keeps them, see there        |
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Final


def subclasses(base: type) -> Iterator[type]:
    """A class and all that inherit from it, each once, the nearest first."""
    todo, seen = [base], set()
    while todo:
        cls = todo.pop(0)
        if cls not in seen:
            seen.add(cls)
            todo += type.__subclasses__(cls)
            yield cls


@contextlib.contextmanager
def patch_attribute(cls: type, name: str, value: object) -> Iterator[None]:
    """Meanwhile a class has another attribute in place of its own, or of none.

    Metaclasses that would wrap it are not asked.
    """
    before = vars(cls).get(name, _NONE)
    type.__setattr__(cls, name, value)
    _in_place.append((cls, name, value))
    try:
        yield
    finally:
        _in_place.remove((cls, name, value))
        if before is _NONE:
            type.__delattr__(cls, name)
        else:
            type.__setattr__(cls, name, before)


_NONE: Final = object()
_in_place: list[tuple[type, str, object]] = []


def is_in_place(cls: type, name: str, value: object) -> bool:
    """Whether an attribute of a class is what we have put there for the time being."""
    return any(owner is cls and member == name and put is value for owner, member, put in _in_place)


@contextlib.contextmanager
def patch_classes(
    base: type | None, changes: Callable[[type], Iterable[tuple[str, object]]]
) -> Iterator[Callable[[type], None]]:
    """Meanwhile a class and those that inherit from it have what `changes` gives in place of attributes of their own.

    A program defines some while it runs: those are changed once they are handed to what is given here.
    """
    seen: set[type] = set()
    with contextlib.ExitStack() as stack:

        def change(cls: type) -> None:
            for each in cls.__mro__:
                if each not in seen and issubclass(each, base or ()):
                    seen.add(each)
                    for name, value in changes(each):
                        stack.enter_context(patch_attribute(each, name, value))

        for cls in subclasses(base) if base is not None else ():
            change(cls)
        yield change


@contextlib.contextmanager
def patch_module(module: ModuleType, name: str, value: object) -> Iterator[None]:
    """Meanwhile a module has something else under a name of its own."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)
