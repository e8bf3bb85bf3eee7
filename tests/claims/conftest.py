from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import pytest

from shapecheck.claims import read_module
from shapecheck.model import Claim, Module

Describe = Callable[..., list[str]]


def _place(module: Module, claim: Claim) -> list[str]:
    """The places of a claim in words: `value f(x)`, `x after 3`, `param x`, `return`, `field w`."""
    result = []
    for number in claim.sites:
        site = module.sites[number]
        if site.kind == "value":
            assert site.position is not None
            lines = [*module.lines[site.position.line - 1 : site.position.end_line]]
            lines[-1] = lines[-1].encode()[: site.position.end_column].decode()
            lines[0] = lines[0].encode()[site.position.column :].decode()
            code = (re.sub(r"  #.*", "", line).strip() for line in lines)
            result.append("value " + " ".join(code))
        elif site.kind == "name":
            assert site.position is not None
            result.append(f"{site.name} {site.when} {site.position.line}")
        else:
            result.append(".".join([f"{site.kind} {site.name}".strip(), *map(str, site.inside)]))
    return result


def _sentence(module: Module, claim: Claim) -> str:
    spec = f"{claim.dtype}[{claim.spec}]" if claim.dtype else f"[{claim.spec}]"
    select = "".join(f" .{step}" for step in claim.select)
    each = " each" if claim.each else ""
    return f"{spec}{select}{each}: {' | '.join(_place(module, claim)) or 'nowhere'}"


@pytest.fixture
def read() -> Callable[[str], Module]:
    """Read dedented source."""

    def function(source: str) -> Module:
        return read_module("module.py", textwrap.dedent(source).encode())

    return function


@pytest.fixture
def described(read: Callable[[str], Module]) -> Describe:
    """The claims of a source, each as one sentence: `[b t]: value f(x) | value g(x)`."""

    def function(source: str, notation: str = "") -> list[str]:
        module = read(source)
        return [_sentence(module, c) for c in module.claims if not notation or c.notation == notation]

    return function
