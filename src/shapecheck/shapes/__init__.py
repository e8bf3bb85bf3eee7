"""What a shape is: dims and specs, one grammar for every notation, and matching.

Pure Python (3.10 and later), the standard library only, and nothing of the project: the worker uses it where only the
user's packages are.
"""

from .annotations import parse_spec
from .dialects import SpecError, UnsupportedSpec
from .dtypes import DTYPES, comment_dtype, dtype_matches
from .expressions import EvaluationError, Expression, Size, UnboundName, Undefined, evaluate
from .grammar import parse_dim
from .kauldron import is_kauldron, jaxtyping_class, jaxtyping_text
from .matching import Bindings, Match, leaf_name, match
from .readings import Reading, parse_comment_dims, read_comment_dims
from .sizes import sample_sizes
from .spec import (
    AnyDim,
    AnyDims,
    Dim,
    FixedDim,
    NamedDim,
    RepeatedDim,
    Spec,
    SymbolicDim,
    VariadicDim,
    is_variadic,
    print_spec,
)

__all__ = [
    "DTYPES",
    "AnyDim",
    "AnyDims",
    "Bindings",
    "Dim",
    "EvaluationError",
    "Expression",
    "FixedDim",
    "Match",
    "NamedDim",
    "Reading",
    "RepeatedDim",
    "Size",
    "Spec",
    "SpecError",
    "SymbolicDim",
    "UnboundName",
    "Undefined",
    "UnsupportedSpec",
    "VariadicDim",
    "comment_dtype",
    "dtype_matches",
    "evaluate",
    "is_kauldron",
    "is_variadic",
    "jaxtyping_class",
    "jaxtyping_text",
    "leaf_name",
    "match",
    "parse_comment_dims",
    "parse_dim",
    "parse_spec",
    "print_spec",
    "read_comment_dims",
    "sample_sizes",
]
