"""Where stages lie: in the models that are known, and in the stages around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shapecheck.evaluate.stages.model_paths import ModelPaths, parameters
from shapecheck.evaluate.stages.stage_records import OpenStage


class StagePlaces:
    """The models that are known by a name, and how often each place in them was taken."""

    def __init__(self) -> None:
        self.roots: list[ModelPaths] = []
        self._parameters_of_result: Counter[str] = Counter()

    def know(self, name: str, model: object) -> None:
        """What is called from outside may be a part of this."""
        model_paths = ModelPaths(model, name)
        if model_paths.modules:
            self.roots.append(model_paths)

    def have(self, place: str) -> bool:
        """Whether a known model has a part there."""
        return any(place in root.modules for root in self.roots)

    def find(self, part: object, around: Sequence[OpenStage], sizes: Sequence[str]) -> str:
        """Where `part` lies, which runs inside of the stages `around` it, mapped over axes of these sizes."""
        holders = [(each.model_paths, each.taken) for each in reversed(around) if each.model_paths is not None]
        holders += [(model_paths, self._parameters_of_result) for model_paths in self.roots]
        # The part itself, anywhere, is better than one like it nearby.
        for model_paths, taken in holders:
            found = model_paths.place(part)
            if found is not None:
                taken[found] += 1
                return found
        for holder in reversed(around):
            like = holder.model_paths.alike(part, holder.taken, sizes) if holder.model_paths is not None else None
            if like is not None:
                holder.taken[like[2]] += 1
                return like[2]
        likely = [like for a in self.roots if (like := a.alike(part, self._parameters_of_result, sizes)) is not None]
        if likely:
            found = min(likely, key=lambda rank: rank[:2])[2]
            self._parameters_of_result[found] += 1
            return found
        above = around[-1].path if around else ""
        return f"{above}.{type(part).__name__}()".lstrip(".")

    def count(self, stage: OpenStage) -> tuple[int, int]:
        """What the part holds as it lies in its model: under `vmap` and `scan`, that which ran has a share of it."""
        for model_paths in self.roots:
            if stage.lies in model_paths.modules:
                return parameters(model_paths.modules[stage.lies])
        return stage.held or parameters(stage.part)
