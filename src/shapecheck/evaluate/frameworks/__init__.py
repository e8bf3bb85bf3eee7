"""How each framework shows the steps of its models: one file a framework."""

from shapecheck.evaluate.frameworks import equinox, haiku, linen, named_scopes, nnx

ALL = (equinox.record_stages, nnx.record_stages, linen.record_stages, haiku.record_stages)
BY_MODULE = {
    "equinox": equinox.record_stages,
    "flax.nnx": nnx.record_stages,
    "flax.linen": linen.record_stages,
    "haiku": haiku.record_stages,
}

__all__ = ["ALL", "BY_MODULE", "named_scopes"]
