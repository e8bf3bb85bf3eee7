"""What the evaluation asks of a framework, and which of the frameworks that we know the program has loaded.

Each framework stands in one file under `frameworks`, where its module has it: `frameworks/flax/nnx.py` answers for
`flax.nnx`. There it says `FRAMEWORK = NnxFramework("flax.nnx")`, of a class that inherits from `Framework`, or, if its
calls are stages, from `stages.stage_recorder.StagedFramework`, and gives the answers in which it differs from the
defaults. That is all: whoever asks goes through the functions at the end of this file, and a framework's file is
imported only where the program has loaded the framework itself.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType

from shapecheck.evaluate.parse_python import parse_python

Function = Callable[..., object]
Classes = tuple[type, ...]

_FOLDER = Path(__file__).parent / "frameworks"
_PACKAGE = f"{__package__}.{_FOLDER.name}"


@dataclass(frozen=True)
class RunningModel:
    """A model that runs with variables `given` to it, and what makes such variables: `init(*args, **kwargs)`."""

    given: object
    init: Function
    args: Sequence[object] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)


class Framework:
    """A library of modules that are called with arrays. What a framework does not say itself is answered here.

    The attributes are what it always is; methods are asked while the program has it loaded.
    """

    is_pytree = False
    """Its modules are pytrees that nothing changes: whole models are entries, and equal calls are evaluated once."""
    is_mutable = False
    """Calls change what its modules hold: they are given abstract arrays first."""
    has_parts = False
    """Its modules know their parts without being called."""
    is_deferred = False
    """Its modules can be constructed only inside of a transformed function."""
    hidden_fields: frozenset[str] = frozenset()
    """Fields of its modules that it keeps for itself."""
    infers_inputs = False
    """Its layers are built for inputs of any size: they get their parameters at the first call."""
    layers = ""
    """Where its own layers stand, as opposed to what they are built of: `equinox.nn.`."""
    transforming_prefix = ""
    """What its transformations have before JAX's names of them, if they keep annotations: `filter_` of `filter_jit`."""
    appliers: frozenset[str] = frozenset()
    """Functions of it that call their first argument, or pass it on to what does."""
    variables: tuple[str, ...] = ()
    """What the names of environment variables begin with that are settings of it. A literal: see `framework_facts`."""
    device_settings: tuple[str, ...] = ()
    """Variables of the environment, `NAME=value`, with which it puts no array on devices, whatever mesh is annotated:
    an evaluation has none. A literal, as `variables`."""
    distributions: tuple[str, ...] = ()
    """What it is installed as, as its `.dist-info` begins, if that is not the package's name: `dm_haiku`; a literal."""
    without_effects: tuple[str, ...] = ()
    """Its package, if its functions keep nothing of what they are given, and those of its classes that keep nothing of
    the classes that derive from them: `equinox`, `equinox.Module`; a literal."""
    compiles = False
    """It has wrappers of its own around `jax.jit`: what they compile is the user's function."""
    applies_updates = False
    """It has a function `apply_updates`, which adds an optimizer's updates to parameters."""
    weight_layout = ""
    """How its linear layers keep their weights: "out in" or "in out"."""

    def __init__(self, module: str) -> None:
        self.module, self.package = module, module.partition(".")[0]

    def library(self, module: str = "") -> ModuleType | None:
        """The framework itself, or another `module` of it; None while the program has not loaded it."""
        return loaded_module(module or self.module)

    def require(self, module: str = "") -> ModuleType:
        """The same where it is known to be loaded, because what is asked about is of it.

        Raises ImportError if a test has put something else in its place.
        """
        found = self.library(module)
        if found is None:
            raise ImportError(f"{module or self.module} is not loaded, or something stands in its place")
        return found

    def module_class(self) -> type | None:
        """The class of its modules. None while it is imported itself."""
        found: type | None = getattr(self.library(), "Module", None)
        return found

    def is_wrapper(self, cls: type) -> bool:
        """Whether a class of modules is one that it makes of functions: bound methods, `filter_vmap(f)`."""
        return False

    def is_abstract(self, cls: type) -> bool:
        """Whether a class leaves fields open, which only classes that derive from it have."""
        return False

    def is_base(self, cls: type) -> bool:
        """Whether a class is of the framework itself, and none of its layers."""
        module = module_name(cls)
        layer = bool(self.layers) and module.startswith(self.layers)
        return module.startswith(f"{self.package}.") and not layer

    def ends_construction(self, cls: type) -> str:
        """The method after which nothing changes the fields of a new instance; "" if its constructor is the last."""
        return ""

    def state_classes(self) -> Classes:
        """The classes of what carries a model's state through its calls, which nobody may look into twice."""
        return ()

    def state_index_classes(self) -> Classes:
        """The classes of what stands for a state in a module, and holds its first value: no parameter."""
        return ()

    def identity_classes(self) -> Classes:
        """The classes of objects that the program changes in place, so that they must not be built anew."""
        return ()

    def holder_classes(self) -> Classes:
        """The classes of what holds one value, the one that their only type parameter stands for."""
        return ()

    def container_classes(self) -> tuple[Classes, Classes]:
        """Its own lists, and its own dicts, in which modules hold others."""
        return (), ()

    def unwrap_attribute(self, value: object, owner: type | None = None) -> object:
        """What stands in a class, without a descriptor of the framework's around it. Some need the class, `owner`."""
        return value

    def is_jitted(self, value: object) -> bool:
        """Whether it is what a `jit` of the framework's makes of a function."""
        return False

    def unwrap_compiled(self, function: object) -> object:
        """The user's function in what its `jit` hands to JAX's."""
        return function

    def key_maker(self, annotation: object, name: str) -> type | None:
        """The class, made of a seed, of what a parameter of this annotation, or else of this name, takes keys from."""
        return None

    def make_state(self, model: object) -> object:
        """The first state of a model that has any."""
        raise NotImplementedError

    def bind(self, model: object, variables: Mapping[str, object]) -> object | None:
        """A model that holds no parameters, with these; None if it is no such model."""
        return None

    def wrap_method(self, function: Function) -> Function:
        """A method, so that a model that holds no parameters runs it with some that are made for it."""
        return function

    def wrap_evaluation(self, error: Exception, evaluate: Function) -> Function | None:
        """As `evaluate`, inside of what makes parameters, if the error says that nothing around the call does."""
        return None

    def running_model(self, frame: FrameType) -> RunningModel | None:
        """The model, if a function of the framework's runs in a frame which runs one with variables given to it."""
        return None

    def parts(self, root: object, path: str) -> Iterable[tuple[str, object]]:
        """The modules inside of one with their paths, the outer ones first, and itself; if it `has_parts`."""
        return modules_in(root, path, self.module_class() or ())

    def parameters(self, part: object) -> object:
        """The parameters of a module, a pytree."""
        return part

    def states(self, part: object, value: object) -> Iterable[tuple[str, object]]:
        """What a module keeps beside its parameters from one run for the next: pytrees, by name.

        Some hand it on, in what is taken or given, `value`: of what is no module of it, all that is handed on.
        """
        return ()

    def configuration(self) -> Mapping[str, object]:
        """Its settings, which hold for all of the program."""
        return {}

    def configure(self, name: str, value: object) -> None:
        """Change one of them."""


def modules_in(root: object, path: str, base: type | Classes) -> Iterator[tuple[str, object]]:
    """All modules of a class `base` with their paths, such as `blocks[3].attn`, the outer ones first."""
    todo: list[tuple[str, object]] = [(path, root)]
    while todo:
        where, value = todo.pop()
        if isinstance(value, base):
            yield where, value
            inner = [(f"{where}.{name}".lstrip("."), part) for name, part in vars(value).items()]
        elif isinstance(value, (list, tuple)):
            names = getattr(value, "_fields", None)
            steps = [f".{name}" for name in names] if names else [f"[{index}]" for index in range(len(value))]
            inner = [(f"{where}{step}", part) for step, part in zip(steps, value, strict=True)]
        elif isinstance(value, dict):
            inner = [(f"{where}[{key!r}]", part) for key, part in value.items()]
        else:
            continue
        todo += reversed(inner)


@cache
def module_names() -> frozenset[str]:
    """The modules of all frameworks that we know, as the program imports them."""
    files = (file.relative_to(_FOLDER).with_suffix("") for file in _FOLDER.rglob("*.py"))
    return frozenset(".".join(file.parts) for file in files if file.name != "__init__")


def known_packages() -> frozenset[str]:
    """The packages of all that we know."""
    return frozenset(name.partition(".")[0] for name in module_names())


@cache
def framework_facts(attribute: str) -> frozenset[str]:
    """All that the files say an attribute is, read without importing them: they need JAX, which may not be here."""
    found: set[str] = set()
    assigned = re.compile(rf"^    {attribute} = ", re.MULTILINE)
    for file in _FOLDER.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for cls in parse_python(text).body if assigned.search(text) else ():
            for line in cls.body if isinstance(cls, ast.ClassDef) else ():
                if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == attribute:
                    found.update(ast.literal_eval(line.value))
    return frozenset(found)


@cache
def framework_of_module(name: str) -> Framework:
    """The framework whose module has this name."""
    found: object = importlib.import_module(f"{_PACKAGE}.{name}").FRAMEWORK
    if not isinstance(found, Framework) or found.module != name:
        raise TypeError(f"{_PACKAGE}.{name} does not say FRAMEWORK = ...({name!r})")
    return found


def all_frameworks() -> tuple[Framework, ...]:
    """All that we know, whether they are there or not."""
    return tuple(map(framework_of_module, sorted(module_names())))


def module_name(cls: type) -> str:
    """The module that a class says it is from; "" where a decorator has put something else there."""
    found: object = cls.__module__
    return found if isinstance(found, str) else ""


def loaded_module(name: str) -> ModuleType | None:
    """A module that was imported; None also for what a test puts into its place, whose attributes may raise."""
    module = sys.modules.get(name)
    is_imported = isinstance(module, ModuleType) and vars(module).get("__spec__") is not None
    return module if is_imported else None


def loaded_frameworks() -> tuple[Framework, ...]:
    """Those that the program has loaded."""
    return _frameworks(tuple(name for name in _sorted_names() if loaded_module(name) is not None))


def apply_variables() -> bool:
    """Whether one of them runs models with variables that are given to them."""
    return any(type(each).running_model is not Framework.running_model for each in loaded_frameworks())


@cache
def _sorted_names() -> tuple[str, ...]:
    return tuple(sorted(module_names()))


@cache
def _frameworks(names: tuple[str, ...]) -> tuple[Framework, ...]:
    return tuple(map(framework_of_module, names))


def framework_of(value: object) -> Framework | None:
    """The framework of whose modules it is one."""
    return next((each for each in loaded_frameworks() if isinstance(value, each.module_class() or ())), None)


def packages() -> frozenset[str]:
    """The packages of those that are loaded."""
    return frozenset(each.package for each in loaded_frameworks())


def model_classes() -> Classes:
    """The classes of modules that are constructed, and called with arrays, as they are."""
    classes = (each.module_class() for each in loaded_frameworks() if not each.is_deferred)
    return tuple(cls for cls in classes if cls is not None)


def pytree_classes() -> Classes:
    """The classes of modules that are pytrees which nothing changes."""
    classes = (each.module_class() for each in loaded_frameworks() if each.is_pytree)
    return tuple(cls for cls in classes if cls is not None)


def deferred_classes() -> Classes:
    """The classes of modules that can be constructed only inside of a transformed function."""
    classes = (each.module_class() for each in loaded_frameworks() if each.is_deferred)
    return tuple(cls for cls in classes if cls is not None)


def inferring_classes() -> Classes:
    """The classes of modules whose layers are built for inputs of any size."""
    classes = (each.module_class() for each in loaded_frameworks() if each.infers_inputs)
    return tuple(cls for cls in classes if cls is not None)


def hidden_fields() -> frozenset[str]:
    """The fields that frameworks keep for themselves in a module."""
    return frozenset(name for each in loaded_frameworks() for name in each.hidden_fields)


def state_classes() -> Classes:
    """The classes of states that calls hand on."""
    return tuple(cls for each in loaded_frameworks() for cls in each.state_classes())


def state_index_classes() -> Classes:
    """The classes of what stands for a state in a module."""
    return tuple(cls for each in loaded_frameworks() for cls in each.state_index_classes())


def is_state(value: object) -> bool:
    """Whether it is a state that calls hand on, which nobody may look into twice: then it counts as old."""
    return isinstance(value, state_classes())


def has_identity(value: object) -> bool:
    """Whether it must not be built anew: an object that the program changes in place, or a state."""
    return is_state(value) or any(isinstance(value, each.identity_classes()) for each in loaded_frameworks())


def is_holder(cls: type) -> bool:
    """Whether it is a class of what holds one value."""
    return any(issubclass(cls, each.holder_classes()) for each in loaded_frameworks())


def is_wrapper(cls: type) -> bool:
    """Whether a class of modules is one that a framework makes of functions."""
    return any(each.is_wrapper(cls) for each in loaded_frameworks())


def is_abstract(cls: type) -> bool:
    """Whether there are instances of classes alone that derive from this one."""
    return inspect.isabstract(cls) or any(each.is_abstract(cls) for each in loaded_frameworks())


def key_maker(annotation: object, name: str) -> type | None:
    """The class, made of a seed, of what a constructor's parameter takes keys from, by its annotation or its name."""
    makers = (each.key_maker(annotation, name) for each in loaded_frameworks())
    return next((maker for maker in makers if maker is not None), None)
