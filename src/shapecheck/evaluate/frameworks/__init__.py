"""How each framework shows the steps of its models: one file a framework."""

from shapecheck.evaluate.frameworks import equinox, haiku, linen, named_scopes, nnx

ALL = (equinox.watching, nnx.watching, linen.watching, haiku.watching)
BY_MODULE = {
    "equinox": equinox.watching,
    "flax.nnx": nnx.watching,
    "flax.linen": linen.watching,
    "haiku": haiku.watching,
}

__all__ = ["ALL", "BY_MODULE", "named_scopes"]
