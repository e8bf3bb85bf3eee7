"""What functions and models tell of themselves: specs in signatures, sizes, and whether they want a state."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import jax

from shapecheck.evaluate.framework_protocol import (
    Classes,
    Framework,
    known_packages,
    loaded_frameworks,
    model_classes,
    modules_in,
)
from shapecheck.evaluate.inputs.facts.body_shapes import NO_SHAPES, BodyShape, with_named_axes
from shapecheck.evaluate.inputs.facts.defining_source import defining_source, owner_of
from shapecheck.evaluate.inputs.facts.name_hints import is_axis, is_key, is_size_like
from shapecheck.evaluate.inputs.facts.namesakes import are_height_and_width, significant_words
from shapecheck.evaluate.inputs.facts.random_keys import key_types
from shapecheck.evaluate.inputs.facts.runtime_annotations import (
    MISSING,
    admits_integer,
    annotation_of,
    annotation_of_field,
    array_type,
    free_names,
    holds_plain_array,
    of_several_ranks,
    own_annotations,
    signature_of,
    typed_dict_entries,
)
from shapecheck.evaluate.own_errors import suppress_others
from shapecheck.evaluate.probes import later_values
from shapecheck.evaluate.probes.attribute_access import own_names, read_attribute, unwrap
from shapecheck.evaluate.probes.describe_value import is_array
from shapecheck.evaluate.probes.imported_constants import aliased_sizes, imported_constants
from shapecheck.evaluate.probes.visible_sizes import computed_attribute
from shapecheck.shapes import AnyDims, Bindings, Dim, NamedDim, SpecError, VariadicDim, is_variadic, match, parse_spec
from shapecheck.worker.messages.plans import ParameterSpec

_LARGEST_DIVISOR = 512

Descriptions = Mapping[str, ParameterSpec]


def call_descriptions(function: Callable[..., object], describe: Callable[[object], Descriptions]) -> Descriptions:
    """What is said of what a function takes; of a class also by its constructor, which knows that better."""
    own = inspect.getattr_static(function, "__init__", None) if isinstance(function, type) else None
    return {**describe(function), **(describe(own) if isinstance(own, types.FunctionType) else {})}


def optional_sizes(function: Callable[..., object] | None) -> list[str]:
    """The sizes that the constructor of a method's class takes, or leaves out: `hidden: int | None = None`."""
    owner, found = owner_of(function), list[str]()
    if owner is None:
        return found
    with suppress_others(TypeError, ValueError):
        for name, parameter in signature_of(owner).parameters.items():
            is_left_out = parameter.default is None and is_size_like(name)
            if is_left_out and admits_integer(annotation_of(owner, name, parameter.annotation)):
                found.append(name)
    return found


def annotated_original(cls: type, function: Callable[..., object]) -> Callable[..., object]:
    """The method itself; or, if it has no annotations, the one it overrides that has them for as many parameters."""
    kinds = _kinds(function)
    if not getattr(function, "__annotations__", {}):
        for base in cls.__mro__:
            original = getattr(base, getattr(function, "__name__", ""), None)
            if inspect.isfunction(original) and original.__annotations__ and _kinds(original) == kinds:
                return original
    return function


def _kinds(function: Callable[..., object]) -> list[object]:
    """How each parameter is given: those by keyword alone by their names, the others by position."""
    found = inspect.signature(function).parameters.values()
    return [each.name if each.kind is each.KEYWORD_ONLY else each.kind for each in found]


def inner_function(function: Callable[..., object]) -> Callable[..., object]:
    """The function inside the decorators of JAX or a framework: under `vmap`, its annotations speak of one example.

    What watches a function that was passed on, as its annotation says, stands around them.
    """
    transforming = {"jax", "jaxlib", *(each.package for each in loaded_frameworks() if each.transforming_prefix)}
    while (wrapped := read_attribute(function, "__wrapped__", None)) is not None:
        names = getattr(function, "__globals__", None)  # what wraps a class has what stands in its body as attributes
        module = names.get("__name__") if isinstance(names, dict) else type(function).__module__
        if str(module).split(".", 1)[0] not in transforming and module != later_values.__name__:
            break
        function = wrapped
    return function


def ranks_of(specs: Sequence[str]) -> tuple[int, ...]:
    """How many axes to try for variadic dims: one, where the name is that of one axis, too: `[b, t]`, `[*b, t, d]`."""
    parsed = [parse_spec(spec) for spec in specs]
    variadic = {name for each in parsed for name in each.variadic_names()}
    is_one = any(isinstance(dim, NamedDim) and dim.name in variadic for each in parsed for dim in each.dims)
    return (1, 2, 0, 3) if any(each.rank() is None for each in parsed) and not is_one else (1,)


def specs_of(function: Callable[..., object], described: Descriptions) -> list[str]:
    """The spec texts that the parameters' annotations and descriptions hold, and of arrays that have neither."""
    return [*written_specs(function, described), *made_specs(function, described)]


def written_specs(function: Callable[..., object], described: Descriptions) -> list[str]:
    """The spec texts that the parameters' annotations and descriptions hold."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return [d.spec for d in described.values()]
    specs = [described[name].spec for name in parameters if name in described]
    specs += [each.spec for text, each in described.items() if not text.isidentifier()]  # of parts of parameters
    for name, parameter in parameters.items():
        specs += _annotation_shapes(annotation_of(function, name, parameter.annotation))
    return specs


def made_specs(
    function: Callable[..., object],
    described: Descriptions,
    body: Mapping[str, BodyShape] = NO_SHAPES,
    default: object = MISSING,
) -> list[str]:
    """The specs of array parameters that nothing describes: as the body takes them, else any number of axes.

    Those that have some axes of any size, `_`, have names for these.

    Of those with this `default` only.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return []
    specs: list[str] = []
    for name, parameter in parameters.items():
        if name in described or parameter.default is not default or is_key(name, parameters):
            continue
        if name in body:
            specs.append(body[name].spec if body[name].exact else f"*{name}")
            continue
        annotation = annotation_of(function, name, parameter.annotation)
        if holds_plain_array(annotation):
            specs.append(f"*{name}")
        specs += [named for text in _annotation_shapes(annotation) if (named := with_named_axes(text, name)) != text]
    return specs


def size_defaults(function: Callable[..., object]) -> list[tuple[str, int]]:
    """The parameters whose defaults are integers that may be sizes, with these."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.default) for p in found if type(p.default) is int and p.default > 0 and not is_axis(p.name)]


def says_nothing(text: str) -> bool:
    """Whether a spec is `...` alone, or `*?b`, which each leaf of a pytree has as it likes.

    How many axes there are to be is anybody's guess then.
    """
    dims = parse_spec(text).dims
    if len(dims) != 1:
        return False
    return isinstance(dims[0], AnyDims) or (isinstance(dims[0], VariadicDim) and dims[0].per_leaf)


def admits_several_ranks(function: Callable[..., object]) -> bool:
    """Whether some parameter may have one of several numbers of axes: `Float[Array, "d"] | Float[Array, "d d"]`.

    The code rarely treats them all alike, and the names of such an alias are seldom those of the other arguments. Of
    random keys there are two kinds, which only differ in themselves.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    annotations = (annotation_of(function, name, parameter.annotation) for name, parameter in parameters.items())
    unions = (each for each in annotations if typing.get_origin(each) in (typing.Union, types.UnionType))
    return any(of_several_ranks(typing.get_args(each)) and not all(key_types(each)) for each in unions)


def constants_of(function: Callable[..., object], specs: Sequence[str], described: Sequence[str]) -> dict[str, int]:
    """The module's integers that the specs mean: any name of a comment, and names inside expressions of annotations.

    A plain name of an annotation is no variable, whatever the module holds under that name, but for a type alias.
    """
    module = getattr(unwrap(function), "__globals__", {})
    aliased = aliased_sizes(module)
    module = {**imported_constants(module), **module, **aliased}
    plain = {name for text in specs if text not in described for name in parse_spec(text).free_names()}
    names = (n for n in free_names(specs) if n not in plain or n in aliased)
    return {n: module[n] for n in names if type(module.get(n)) is int}


def code_integers(function: Callable[..., object]) -> tuple[int, ...]:
    """The integers that the code of a function writes: it may divide sizes by them."""
    source = defining_source(unwrap(function))  # what is compiled numbers its probes, too
    constants = (node.value for node in ast.walk(source.tree) if isinstance(node, ast.Constant)) if source else ()
    found = dict.fromkeys(value for value in constants if type(value) is int)
    return tuple(n for n in found if 2 < n <= _LARGEST_DIVISOR)


def _annotation_shapes(annotation: object, around: tuple[object, ...] = ()) -> Iterator[str]:
    """The shapes in an annotation, also those of a TypedDict's entries; `around` are those that it stands in."""
    found = array_type(annotation)
    if found is not None:
        yield found.shape
    leaf = getattr(annotation, "leaftype", None) if isinstance(annotation, type) else None
    entries = typed_dict_entries(annotation) if annotation not in around else None
    parts = (*(getattr(annotation, "__args__", ()) or ()), *([] if leaf is None else [leaf]), *(entries or {}).values())
    for part in parts:
        yield from _annotation_shapes(part, (*around, annotation) if entries else around)


def record_names(function: Callable[..., object]) -> tuple[frozenset[str], ...]:
    """The names that each annotated field of the records has which a function takes or gives, by its annotations."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ()
    annotations = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    annotations["return"] = signature.return_annotation
    found: dict[frozenset[str], None] = {}
    for name, raw in annotations.items():
        with suppress_others():  # jaxtyping raises an error for what is malformed, which is told elsewhere
            for cls in _classes_in(annotation_of(function, name, raw)):
                found.update(dict.fromkeys(_field_names(cls)))
    return tuple(found)


def _field_names(cls: type) -> Iterator[frozenset[str]]:
    for field in own_annotations(cls):
        for spec in _annotation_shapes(annotation_of_field(cls, field)):
            with contextlib.suppress(SpecError):
                yield frozenset(parse_spec(spec).names())


def _classes_in(annotation: object) -> Iterator[type]:
    """The classes that an annotation names and that may be records."""
    if isinstance(annotation, type) and array_type(annotation) is None:
        yield annotation
    for part in getattr(annotation, "__args__", ()) or ():
        yield from _classes_in(part)


def integers_of(model: object) -> dict[str, int]:
    """The integer fields of an instance, and those of its configs."""
    found: dict[str, int] = {}
    for name, value in own_names(model).items():
        if type(value) is int:
            found[name] = value
        elif not is_array(value) and name.lstrip("_").endswith(("config", "cfg", "args", "hparams")):
            found = {**{k: v for k, v in own_names(value).items() if type(v) is int}, **found}
    return found


def field_sizes(instance: object) -> dict[str, int]:
    """The sizes of an instance's arrays, by the names that the annotations of its class's fields have for them."""
    cls = type(instance)
    memo = Bindings()
    for base in cls.__mro__ if instance is not None else ():
        for name, raw in vars(base).get("__annotations__", {}).items():
            found = array_type(annotation_of(cls, name, raw))
            value = own_names(instance).get(name)
            if found is None or value is None or not is_array(value):
                continue
            if not all(isinstance(d, int) for d in value.shape):
                continue
            try:
                memo = match(parse_spec(found.shape), tuple((d,) for d in value.shape), memo).bindings
            except SpecError:  # jaxtyping takes more than can be evaluated
                continue
    return {name: size[0] for name, size in memo.single.items() if name.isidentifier()}


def leaves_variadics_out(cls: type, method: Callable[..., object]) -> bool:
    """Whether a method annotates arrays, none of them with a `*batch`, though fields of its class have one.

    It is meant for instances without, of which others hold a batch for `vmap`. So it is if one of its arrays has one,
    but another is annotated as such a field is, without that.
    """
    signature = signature_of(method)
    raw = [(each.name, each.annotation) for each in signature.parameters.values()]
    annotations = [annotation_of(method, name, each) for name, each in (*raw, ("return", signature.return_annotation))]
    said = {dims for each in annotations for dims in _annotated_dims(each)}
    fields = (annotation_of_field(base, name) for base in cls.__mro__ for name in own_annotations(base))
    batched = [dims for each in fields for dims in _annotated_dims(each) if any(map(is_variadic, dims))]
    if any(said) and not any(is_variadic(dim) for dims in said for dim in dims):
        return any(is_variadic(dims[0]) and len(dims) > 1 for dims in batched)
    rests = (tuple(dim for dim in dims if not is_variadic(dim)) for dims in batched)
    return any(rest in said and any(isinstance(dim, NamedDim) for dim in rest) for rest in rests)


def _annotated_dims(annotation: object) -> Iterator[tuple[Dim, ...]]:
    """The dims of the array that an annotation stands for, or of each in a union."""
    array = array_type(annotation)
    if array is not None:
        yield parse_spec(array.shape).dims
    for member in typing.get_args(annotation) if array is None else ():
        yield from _annotated_dims(member)


def attribute_sizes(specs: Iterable[str], name: str, holder: object) -> dict[str, int]:
    """The sizes that dims such as `{self.width}` have, by these names, where `name` is that holder."""
    found: dict[str, int] = {}
    for path in (each for text in specs for each in parse_spec(text).names()):
        head, _, rest = path.partition(".")
        if head != name or not rest.replace(".", "").isidentifier():
            continue
        value = holder
        for step in rest.split("."):
            value = computed_attribute(value, step)
        if type(value) is int:
            found[path] = value
    return found


def property_sizes(specs: Iterable[str], holder: object) -> dict[str, int]:
    """The sizes that properties of an instance give for dims of their names."""
    names = (name for name in free_names(specs) if isinstance(getattr(type(holder), name, None), property))
    found = {name: computed_attribute(holder, name) for name in names}
    return {name: value for name, value in found.items() if type(value) is int}


def part_sizes(specs: Iterable[str], holder: object) -> dict[str, int]:
    """The integers that the modules inside of an instance hold for dims of their names, if these agree.

    Of `(seq, head_dim // 2)` in a block whose attention has a `head_dim`. Only of classes that no framework has made,
    since the features of a layer are those of many values.
    """
    names = free_names(specs)
    found: dict[str, set[int]] = {}
    for path, module in modules_in(holder, "", model_classes()) if names else ():
        if path and str(type(module).__module__).partition(".")[0] not in known_packages():
            for name, value in integers_of(module).items():
                found.setdefault(name, set()).add(value)
    return {name: next(iter(found[name])) for name in names if len(found.get(name, ())) == 1}


def without_lone_sides(specs: Iterable[str], known: Mapping[str, int]) -> dict[str, int]:
    """The sizes without those that have the name of one side of an image alone.

    The `width` of a model is how wide its layers are, and not that of `(height, width)`, where it has no height.
    """
    sides = {
        name
        for spec in specs
        for name, other in itertools.permutations(parse_spec(spec).names(), 2)
        if name in known and other not in known and are_height_and_width(name, other)
    }
    return {name: size for name, size in known.items() if name not in sides}


def namesake_sizes(specs: Iterable[str], claimed: Iterable[str], known: Mapping[str, int]) -> dict[str, int]:
    """The sizes of dims that have the words of an attribute which the claims of the same scope name.

    Of `h: "Recurrent"` beside a result `"{self.recurrent_size}"`, where `known` has that.
    """
    attributes = [name.removeprefix("self.") for name in claimed if name.startswith("self.")]
    sized = {significant_words(name): known[name] for name in attributes if name in known}
    free = (name for name in free_names(specs) if name not in known)
    return {name: sized[significant_words(name)] for name in free if significant_words(name) in sized}


def only_integers(init: Mapping[str, object]) -> dict[str, int]:
    """The integers among given arguments; `cfg.depth` is known as `depth`, if nothing else is."""
    found = {k: v for k, v in init.items() if type(v) is int}
    last = [name.rpartition(".")[2] for name in found]
    return {k.rpartition(".")[2]: v for k, v in found.items() if last.count(k.rpartition(".")[2]) == 1 or "." not in k}


def takes_state(function: Callable[..., object], model: object) -> bool:
    """Whether a method takes the state that a stateful model hands on."""
    return state_framework(function, model) is not None


def state_framework(function: Callable[..., object], model: object) -> Framework | None:
    """The framework of the state that a method takes."""
    return next((each for each in loaded_frameworks() if _has_index(each.state_index_classes(), function, model)), None)


def _has_index(classes: Classes, function: Callable[..., object], model: object) -> bool:
    if not classes or "state" not in inspect.signature(function).parameters:
        return False
    leaves = jax.tree_util.tree_leaves(model, is_leaf=lambda x: isinstance(x, classes))
    return any(isinstance(leaf, classes) for leaf in leaves)


def bind_arguments(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Arguments, which may be some of all, by the names of parameters; none if they do not fit."""
    try:
        return dict(inspect.signature(function).bind_partial(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {}


def missing_parameters(function: Callable[..., object], given: Mapping[str, object]) -> list[str]:
    """The parameters that have neither an argument nor a default."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in, and silent about them
        return []
    return [
        name
        for name, parameter in parameters.items()
        if name not in given
        and parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]


def with_state(
    function: Callable[..., object], model: object, args: Sequence[object], kwargs: dict[str, object]
) -> dict[str, object]:
    """`state` for a stateful model, made inside the trace."""
    if bind_arguments(function, (model, *args), kwargs).get("state") is not None:
        return kwargs
    framework = state_framework(function, model)
    return kwargs if framework is None else {**kwargs, "state": framework.make_state(model)}
