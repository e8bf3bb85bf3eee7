"""The frameworks of Flax, and the settings that they share."""

from __future__ import annotations

from collections.abc import Mapping

from shapecheck.evaluate.stages.stage_recorder import StagedFramework


class FlaxFramework(StagedFramework):
    """One of them: `flax.configurations` has the settings, and weights are kept as kernels are."""

    compiles = True
    variables = ("FLAX_",)
    # https://flax.readthedocs.io/en/latest/flip/4844-var-eager-sharding.html: since 0.12 nnx asks for a mesh else
    device_settings = ("FLAX_ALWAYS_SHARD_VARIABLE=0",)
    without_effects = ("flax", "flax.linen.Module", "flax.nnx.Module", "flax.struct.PyTreeNode")
    weight_layout = "in out"

    def configuration(self) -> Mapping[str, object]:
        """Those that stand as properties in the class of the one object."""
        config = getattr(self.library("flax.configurations"), "config", None)
        flags = vars(type(config)).items() if config is not None else ()
        return {name: getattr(config, name) for name, value in flags if isinstance(value, property)}

    def configure(self, name: str, value: object) -> None:
        """Set one of them."""
        self.require("flax.configurations").config.update(name, value)
