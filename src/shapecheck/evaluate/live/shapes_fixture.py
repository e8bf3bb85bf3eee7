"""The fixture `shapes` for pytest: a function held against a signature, for all sizes, in one line of a test.

pytest finds it by itself where shapecheck is installed. It imports JAX only when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest


class ShapesFixture:
    """What a test gets that has a parameter `shapes`."""

    def check(self, function: Callable[..., object], signature: str, **keywords: object) -> None:
        """Hold a function against a signature such as `"b t d, d e -> b t e"`, abstractly; nothing computes.

        Arguments are arrays, by position, as are the leaves of what is returned: names of dims in jaxtyping's
        notation (`*batch d`, `... 3`, `2*h`), `()` for a scalar, and where it matters a dtype, as in `int32[b t]`,
        `bool[b]` or `key[]`; without one, arguments are float32 and results may be anything. `keywords` are handed on
        as they are. Raises AssertionError if the results are others for any sizes that are tried: several that have
        nothing to do with each other, and ones. What the function itself raises passes through. Raises ValueError
        for a signature that cannot be read.
        """
        __tracebackhide__ = True
        from shapecheck.evaluate.live.live_template import title  # noqa: PLC0415 - it imports JAX
        from shapecheck.evaluate.live.signature_check import contradiction  # noqa: PLC0415 - likewise

        found = contradiction(function, signature, keywords)
        if found:
            raise AssertionError(f"{title(function)}: {found}")


@pytest.fixture(scope="session")
def shapes() -> ShapesFixture:
    """Hold functions against signatures, abstractly and for all sizes: `shapes.check(f, "b t d, d e -> b t e")`."""
    return ShapesFixture()
