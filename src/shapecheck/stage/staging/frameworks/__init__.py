"""How each framework shows the steps of its models: one file a framework."""

from shapecheck.stage.staging.frameworks import equinox, haiku, linen, nnx, scopes

ALL = (equinox.watching, nnx.watching, linen.watching, haiku.watching)

__all__ = ["ALL", "scopes"]
