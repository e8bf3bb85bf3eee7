"""What a parameter's name says of the values it takes, where its annotation leaves that open."""

from __future__ import annotations

import re
from collections.abc import Collection

# Sizes of constructors: multiples of 16 by distinct primes, so that heads, groups and patches divide them, and no two
# are equal, double or half of each other. Free dims take other primes (see `sizes`).
CONSTRUCTOR_SIZES = (48, 80, 112, 176, 208, 272, 304, 368, 464, 496, 592, 656, 688, 752, 848, 944)
# Others for another look at the same model, odd ones: what holds only since a size is even shows.
OTHER_SIZES = (96, 144, 240, 336, 400, 528, 624, 720, 816, 912, 1008, 1040, 1104, 1136, 1168, 1200)  # multiples of 16
ODD_SIZES = (105, 165, 195, 255, 285, 345, 435, 465, 555, 615, 645, 705, 795, 885, 915, 1005)

# Name -> the size that it wants, and another for a second look; where several sizes will do, the first for the first
# name of this kind, and so on: a height that is a width as well shows no mix-up.
_RULES = (
    (
        r"(^|_)(n_?)?(layers?|blocks?|depths?|repeats?|stages?|iters?|iterations|levels|rounds|num_layers)$",
        (2, 3),
        (2, 3),
    ),
    (r"(^|_)(n_?|num_?)?(kv|key_value)_?(heads?|groups?)$|(^|_)(n|num)_?kv$", (2, 4), (5, 3)),
    (r"(^|_)(top_?k|k_top|n_?select|num_selected)", (2, 3), (5, 6)),
    (r"(?<!\bd_)(?<!\bdim_)(?<!\bsize_)heads?$|^nh$", (8, 4), (15, 3)),
    (r"groups?$", (2, 8, 4), (5, 3, 15)),
    (r"kernel|filter_size|window(_size)?$", 3, 5),
    (r"stride|dilation|rate$", 1, 1),
    (r"^(padding|pad|offset|start|axis|dim_axis)$|(^|_)(idx|index)$", 0, 0),
    (r"patch", (4, 8), (9, 3)),
    (
        r"(img|image|input|spatial)_?(size|res|resolution|height|width)?$|^(height|width|resolution|res)$",
        (64, 96, 160),
        (135, 225, 315),  # for as many heads or patches as other names give: a `width` may be a model's
    ),
    (
        r"max_?(len|length|seq|pos|position|tokens|steps|time)|(context|block)_?(len|length|size|window)$|seq_?len|n_?ctx",
        (1024, 768, 640),
        (900, 810, 720),
    ),
    (r"expan|factor|mult|ratio|growth|multiplier", 3, 7),
    (r"(num|n)_spatial_dims?$|^ndim$|^rank$", 2, 2),
    (r"(num|n)_?(dims|axes)$", 2, 2),
    (r"(?<!^n_)(?<!^num_)seed", 0, 0),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), sizes) for pattern, *sizes in _RULES)
_SIZE_LIKE = re.compile(
    r"(size|dims?|features?|channels?|width|hidden|embed|units|classes|experts|vocab|actions?|states?|latent|inputs?|"
    r"outputs?|neurons|basis|components|nodes|edges|tokens|_in|_out|in_|out_|^d_|^n_|^num_|d_model|d_ff|^[a-z]$|^[A-Z]$)",
    re.IGNORECASE,
)
_SETTINGS = re.compile(r"(^|_)(config|cfg|conf|hparams|hps|args|opts|options|settings|flags)$")
_COUNT = re.compile(r"^(n|num)_|_(size|dim)$|^(dim|axis|seed|stride|kernel_size)$")
_REPEATS = re.compile(r"layers?$|depth$|heads?$|blocks$", re.IGNORECASE)
_ACTIVATION = re.compile(
    r"^act(_|$)|(^|_)act(_fn|_layer|_func)?$|activation|nonlin|squash|gelu|relu|silu", re.IGNORECASE
)
_LOWER = re.compile(
    r"(^|_)(min|minimum|low|lower|start|begin|left|a_?min)(_|$)|^(min|low|lower)[a-z]|^[a-z]{1,2}min$", re.IGNORECASE
)
_UPPER = re.compile(
    r"(^|_)(max|maximum|high|upper|end|stop|right|a_?max)(_|$)|^(max|high|upper)[a-z]|^[a-z]{1,2}max$", re.IGNORECASE
)
_SCALAR = re.compile(
    r"(^|_)(eps|epsilon|lr|rate|scale|sigma|std|temperature|tau|alpha|beta|gamma|delta|lam|lambda|dt|step_size|factor"
    r"|coeff?|coefficient|decay|momentum|ratio|threshold|strength|jitter|damping|tol|tolerance|discount|gain|amplitude"
    r"|lengthscale|fraction|prob|probability|power|exponent|max_norm|variance|dropout|drop_?path)_?\d?$",
    re.IGNORECASE,
)
# Of these, those that are one number whatever they are for; a `scale` may well be one for each feature.
_ONE_NUMBER = re.compile(
    r"(^|_)(eps|epsilon|lr|learning_rate|temperature|tau|alpha|dt|step_size|decay|momentum|threshold|jitter|damping|tol"
    r"|tolerance|discount|max_norm|lam|lambda|fraction|dropout|drop_?path|drop(?:out)?_?rate)_?\d?$",
    re.IGNORECASE,
)
_INITIALIZER = re.compile(r"(^|_)init(iali[sz]er)?(_fn)?$|^init(iali[sz]er)?_", re.IGNORECASE)
_PLACE = re.compile(
    r"path|file|fname|dir(_|$)|directory|folder|(^|_)(url|uri|root|host|address|checkpoint|ckpt|endpoint|dataset|command)"
    r"(_|$)|prefix|suffix|extension",
    re.IGNORECASE,
)
_FLAG = re.compile(
    r"^(is_)?(train|training|decode|decoding|causal|stochastic|debug|verbose"
    r"|(?P<on>deterministic|inference))(_mode)?$|^(use|return|with)_"
)
_ATTENDED, _ASKING = frozenset({"key", "keys"}), frozenset({"query", "queries"})
_CACHED = "values"  # beside which `keys` are those of a cache
_KEY = re.compile(r"(^|_)(key|rng|prng|prng_key|rng_key)s?$|(^|_)p?rng_state$")
_INDEX = re.compile(r"(?:^|_)(?:ptr|pointer|cursor|idx|index|offset|pos)$")
_INTEGER_ARRAY = re.compile(
    r"(token|label|index|indices|idx|ids?$|^ids|action|segment|position_ids|senders|receivers|class(es)?$|target_ids|codes?$|"
    r"length|count|steps?$)",
    re.IGNORECASE,
)
_BOOLEAN_ARRAY = re.compile(r"(mask|done|terminal|is_|valid|flag|resets?$|padding$)", re.IGNORECASE)


def particular_sizes(name: str, invention: int = 0) -> tuple[int, ...]:
    """The sizes that integers of this name want (2 layers, 4 heads, kernel 3), the best first; none for a plain one."""
    for pattern, sizes in _COMPILED:
        if pattern.search(name):
            found = sizes[bool(invention)]
            return found if isinstance(found, tuple) else (found,)
    return ()


def particular_size(name: str, invention: int = 0) -> int | None:
    """The best of these sizes, or None for a plain size."""
    return next(iter(particular_sizes(name, invention)), None)


def is_fixed(name: str) -> bool:
    """Whether integers of this name count what is no axis (layers, strides), and are the same for each invention."""
    size = particular_size(name)
    return size is not None and size == particular_size(name, 1)


def is_size_like(name: str) -> bool:
    """Whether an integer of this name is the size of an axis, so that a distinct value shows mix-ups."""
    return particular_size(name) is None and _SIZE_LIKE.search(name) is not None


def is_axis(name: str) -> bool:
    """Whether an integer of this name is the number of an axis."""
    return particular_size(name) == 0


def is_count(name: str) -> bool:
    """Whether a parameter of this name is an integer even where nothing else says so."""
    return _COUNT.search(name) is not None


def may_replace(name: str) -> bool:
    """Whether a default of this name gives way: to a distinct size, or to fewer layers and heads that divide it."""
    return is_size_like(name) or (particular_size(name) in (2, 8) and _REPEATS.search(name) is not None)


def is_dtype(name: str) -> bool:
    """Whether a parameter of this name takes a dtype."""
    return name == "dtype" or name.endswith("_dtype")


def is_settings(name: str) -> bool:
    """Whether a parameter of this name takes a record of settings."""
    return _SETTINGS.search(name) is not None


def is_scalar(name: str) -> bool:
    """Whether a parameter of this name is a number mostly: a rate, a tolerance, a temperature."""
    return _SCALAR.search(name) is not None


def is_one_number(name: str) -> bool:
    """Whether a parameter of this name is never an array of several: a tolerance, a temperature."""
    return _ONE_NUMBER.search(name) is not None


def number(name: str) -> float:
    """A number for a parameter of this name, so that limits are in order; a place in an array is a whole one."""
    if _INDEX.search(name):
        return 1
    if _LOWER.search(name):
        return 0.25
    return 0.75 if _UPPER.search(name) else 0.5


def is_place(name: str) -> bool:
    """Whether a text of this name says where something is: files, addresses."""
    return _PLACE.search(name) is not None


def is_initializer(name: str) -> bool:
    """Whether a callable of this name makes an array of a shape that it is given."""
    return _INITIALIZER.search(name) is not None


def is_activation(name: str) -> bool:
    """Whether a callable of this name keeps the shape of what it is given."""
    return _ACTIVATION.search(name) is not None


def is_key(name: str, beside: Collection[str] = ()) -> bool:
    """Whether a parameter of this name takes a random key: the keys of attention stand `beside` queries, or values."""
    is_attended = name in _ATTENDED and not _ASKING.isdisjoint(beside)
    return _KEY.search(name) is not None and not is_attended and not (name == "keys" and _CACHED in beside)


def flag(name: str) -> bool | None:
    """The value of what is true or false by its name, so that nothing is random; None if it need not be."""
    found = _FLAG.search(name)
    return found["on"] is not None if found is not None else None


def example(name: str) -> str:
    """What somebody might give for a parameter of this name, as `--arg` takes it."""
    if flag(name) is not None:
        return str(flag(name))
    short = {"float32": "f32", "int32": "i32"}
    return "key[]" if is_key(name) else f"{short.get(array_dtype(name), array_dtype(name))}[batch 48]"


_ARRAY = re.compile(
    r"(?:^|_)(?:labels?|targets?|logits|images?|tokens|features|embeddings|masks?|positions|observations?|obs|rewards?"
    r"|actions|advantages|returns|hidden_states|queries|indices|ids)$"
)


def is_array(name: str) -> bool:
    """Whether what has this name is hardly ever anything but an array."""
    return _ARRAY.search(name) is not None


def array_dtype(name: str) -> str:
    """The dtype of an array that is described without one, by its name."""
    if is_key(name):
        return "uint32"
    if _BOOLEAN_ARRAY.search(name):
        return "bool"
    return "int32" if _INTEGER_ARRAY.search(name) else "float32"
