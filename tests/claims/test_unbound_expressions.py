"""Expressions that jaxtyping cannot compute where it comes to them: one finding a file, and none where it can."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from jaxtyping import AnnotationError, jaxtyped

from shapecheck import claims

HEAD = "import jax.numpy as jnp\nfrom abc import abstractmethod\nfrom jaxtyping import Array, Float\n"

REFUSED = {
    "nothing": 'def f(x: Float[Array, "n//2+1"]): ...',
    "the result alone": 'def f(x: Float[Array, "n//2+1"]) -> Float[Array, "n"]: ...',
    "a later parameter": 'def f(x: Float[Array, "2*n"], y: Float[Array, "n"] = None): ...',
    "a later axis": 'def f(x: Float[Array, "2*n n"]): ...',
    "an argument without braces": 'def f(x: Float[Array, "2*n"], n: int = 2): ...',
}
COMPUTED = {
    "an axis before it": 'def f(x: Float[Array, "n 2*n"]): ...',
    "a parameter before it": 'def f(y: Float[Array, "n"], x: Float[Array, "2*n"] = None): ...',
    "an argument in braces": 'def f(x: Float[Array, "2*{n}"], n: int = 2): ...',
    "the body": 'def f(x: Float[Array, "_"]) -> Float[Array, "n+1"]:\n    assert isinstance(x, Float[Array, "n"])',
    "nobody calls it": '@abstractmethod\ndef f(x: Float[Array, "n//2+1"]): ...',
}


def problems(text: str) -> list[str]:
    module = claims.read_module("m.py", (HEAD + text).encode())
    return [each.message for each in module.problems if each.code == "SC101"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_jaxtyping_cannot_compute_is_found(name: str) -> None:
    assert len(problems(REFUSED[name])) == 1


@pytest.mark.parametrize("name", COMPUTED)
def test_what_it_can_compute_is_not(name: str) -> None:
    assert problems(COMPUTED[name]) == []


@pytest.mark.parametrize("name", ["nothing", "a later axis", "an argument without braces"])
def test_jaxtyping_does_raise(name: str) -> None:
    beartype = pytest.importorskip("beartype").beartype
    space: dict[str, object] = {}
    exec(HEAD + REFUSED[name], space)  # noqa: S102 - text of this test
    checked = jaxtyped(space["f"], typechecker=beartype)
    with pytest.raises(AnnotationError):
        checked(jnp.ones((4, 2) if name == "a later axis" else 4))


@pytest.mark.parametrize(("line", "is_note"), [("", True), ("from beartype import beartype\n", False)])
def test_it_is_a_note_where_nothing_in_the_file_checks_annotations(line: str, is_note: bool) -> None:
    module = claims.read_module("m.py", (line + HEAD + REFUSED["nothing"]).encode())
    assert [each.may_matter for each in module.problems] == [is_note]


def test_a_file_has_one_finding_that_counts_the_others() -> None:
    text = "\n".join(f'def f{i}(x: Float[Array, "n//2+1"]) -> Float[Array, "n//2+1"]: ...' for i in range(3))
    (found,) = problems(text)
    assert 'Float[Array, "n//2+1"]: nothing before it binds n' in found
    assert found.endswith("so it is with 5 more annotations of this file")
