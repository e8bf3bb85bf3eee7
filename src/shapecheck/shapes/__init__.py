"""What a shape is: dims and specs, one grammar for every notation, and matching.

Pure Python (3.10 and later), the standard library only, and nothing of the project: the worker uses it where only the
user's packages are.
"""

from shapecheck.shapes.annotation_spec import parse_spec
from shapecheck.shapes.comment_spec import (
    GLUED_PRODUCT,
    SpecReading,
    parse_comment_dims,
    read_comment_dims,
    with_spaced_products,
)
from shapecheck.shapes.dialects import SpecError, UnsupportedSpec
from shapecheck.shapes.dtypes import DTYPES, comment_dtype, dtype_matches, short_dtype
from shapecheck.shapes.expressions import EvaluationError, Expression, Size, UnboundName, UndefinedSizeError, evaluate
from shapecheck.shapes.grammar import parse_comment_dim, parse_dim
from shapecheck.shapes.kauldron import is_kauldron, jaxtyping_class, jaxtyping_texts
from shapecheck.shapes.matching import Bindings, Match, leaf_name, match
from shapecheck.shapes.rename_names import further_name, is_further_name, rename_names
from shapecheck.shapes.sample_sizes import sample_sizes
from shapecheck.shapes.spec import (
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
from shapecheck.shapes.split_dims import PROSE

__all__ = [
    "DTYPES",
    "GLUED_PRODUCT",
    "PROSE",
    "AnyDim",
    "AnyDims",
    "Bindings",
    "Dim",
    "EvaluationError",
    "Expression",
    "FixedDim",
    "Match",
    "NamedDim",
    "RepeatedDim",
    "Size",
    "Spec",
    "SpecError",
    "SpecReading",
    "SymbolicDim",
    "UnboundName",
    "UndefinedSizeError",
    "UnsupportedSpec",
    "VariadicDim",
    "comment_dtype",
    "dtype_matches",
    "evaluate",
    "further_name",
    "is_further_name",
    "is_kauldron",
    "is_variadic",
    "jaxtyping_class",
    "jaxtyping_texts",
    "leaf_name",
    "match",
    "parse_comment_dim",
    "parse_comment_dims",
    "parse_dim",
    "parse_spec",
    "print_spec",
    "read_comment_dims",
    "rename_names",
    "sample_sizes",
    "short_dtype",
    "with_spaced_products",
]
