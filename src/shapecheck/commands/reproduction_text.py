"""A test that stands alone: its text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shapecheck.worker.messages.target_messages import WrittenCall

_WIDE = 110
_LISTEN = (
    "said = []  # of other claims too, which fail before this one",
    "handler = logging.Handler()",
    "handler.emit = lambda record: said.append(record.getMessage())",
    "logging.getLogger('shapecheck').addHandler(handler)",
)


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What a test is made of: what goes wrong, and where; the folder that `call` imports from; the module whose claims
    are `checked` while it runs, "" if the program itself raises. Fields of classes are checked only if it is `hooked`
    when it is imported; with `numerics`, values are looked at in place of claims. A `helper` is a function of its own.
    Where other claims fail first, the test goes on, and asserts that what is `said` of this one is not.
    """

    what: str
    place: str
    root: str
    call: WrittenCall
    checked: str = ""
    hooked: bool = False
    numerics: bool = False
    helper: str = ""
    said: str = ""


def render(made: Reproduction) -> str:
    """The file."""
    return "\n".join(_lines(made)) + "\n"


def _lines(made: Reproduction) -> Iterator[str]:
    body = [*made.call.lines, made.call.call]
    text = "\n".join(body)
    title = textwrap.wrap(f"{made.place}: {made.what}".replace("\\", "\\\\").replace('"""', "'''"), _WIDE)
    sizes = ", ".join(f"{name}={size}" for name, size in sorted(made.call.sizes.items()))
    smallest = f" The sizes are the smallest that show it: {sizes}." if sizes else ""
    yield from (
        f'"""{title[0]}',
        *title[1:],
        "",
        f"It fails until the claim or the code is right.{smallest}",
        '"""',
        "",
    )
    if made.said:
        yield "import logging"
    yield "import sys"
    if "Path(" in text:
        yield "from pathlib import Path"
    yield ""
    yield from (f"import {name}" for name in _imports(text))
    if made.checked:
        yield "import shapecheck"
    yield ""
    if made.root:
        yield f"sys.path.insert(0, {made.root!r})"
    package = made.checked.partition(".")[0]
    if made.hooked:
        yield f"shapecheck.install_import_hook({package!r})  # holds each value against its claims"
    yield ""
    yield from (f"from {module} import {', '.join(names)}  # noqa: E402" for module, names in made.call.imports)
    yield from ("", *made.helper.splitlines()) if made.helper else ()
    path, _, line = made.place.rpartition(":")
    yield from ("", "", f"def test_{re.sub(r'[^0-9a-zA-Z]+', '_', Path(path).stem)}_line_{line}():")
    if made.checked and not made.hooked:
        options = ", shapes=False, numerics='outputs'" if made.numerics else ""
        if made.said:
            yield from (f"    {line}" for line in _LISTEN)
            options = ", on_failure='warn'"
        what = "looks for NaN and infinity" if made.numerics else "holds each value against its claims"
        yield f"    with shapecheck.runtime_checks({package!r}{options}):  # {what}"
        body = [f"    {line}" for line in body]
    yield from (f"    {line}" for line in body)
    if made.said:
        yield f"    found = [text for text in said if {made.said!r} in text]"
        yield "    assert not found, found[0]"


def _imports(text: str) -> Iterator[str]:
    if re.search(r"\bjax\.", text):
        yield "jax"
    if re.search(r"\bjnp\.", text):
        yield "jax.numpy as jnp"
    if re.search(r"\bnp\.", text):
        yield "numpy as np"
