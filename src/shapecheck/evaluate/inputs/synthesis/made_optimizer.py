"""An optimizer that is made up: it gives updates as the gradients are, and keeps no state.

Each optimizer's updates have the shapes of the gradients, and these those of the parameters; so nothing that follows
from this one would be otherwise with another.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class MadeOptimizer(NamedTuple):
    """A pair (init, update), as Optax has them: also a pytree without arrays."""

    def init(self, params: object) -> tuple[()]:
        """No state."""
        return ()

    def update(self, updates: Any, state: Any, params: object = None, **others: object) -> tuple[Any, Any]:
        """What it is given, and the state as it was."""
        return updates, state
