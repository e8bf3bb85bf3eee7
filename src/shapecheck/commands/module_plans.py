"""What the worker has to know of a file: its import root, what to observe in it, what its comments describe."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from shapecheck import files
from shapecheck.config import Config
from shapecheck.model import Module
from shapecheck.shapes import parse_spec
from shapecheck.worker.rpc import ModulePlan, ParameterSpec


def plan(file: Path, module: Module, config: Config, text: bytes | None = None) -> ModulePlan:
    """The plan of a file; `text` stands in its place, if there is one."""
    root, name = files.module_name(file)
    for folder in config.src:
        if file.absolute().is_relative_to(folder):
            root = folder
            name = ".".join(file.absolute().relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
    described = tuple(
        ParameterSpec(
            scope=module.sites[s].scope,
            parameter=module.sites[s].name,
            spec=claim.spec,
            dtype=claim.dtype,
            vague=bool(claim.readings),
            prose=claim.notation == "docstring",
            alternative=claim.group is not None,
            leaves=bool(claim.select),
        )
        for claim in module.claims
        if claim.notation != "annotation" and claim.select in ((), ("leaves",))
        for s in claim.sites[:1]
        if module.sites[s].kind in ("param", "field")
    )
    return ModulePlan(
        file=os.path.realpath(file),
        path=module.path,
        root=os.path.realpath(root),
        name=name,
        scopes=module.scopes,
        sites=module.sites,
        described=described,
        claimed=tuple(sorted({module.sites[c.sites[0]].scope for c in module.claims if c.sites})),
        names=_names(module),
        ranks=module.ranks,
        aliases=_aliases(module),
        source="" if text is None else text.decode("latin-1"),
    )


def _names(module: Module) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The names of each claim, by its scope."""
    found = ((claim.scope, tuple(dict.fromkeys(parse_spec(claim.spec).names()))) for claim in module.claims)
    return tuple(dict.fromkeys((scope, names) for scope, names in found if names))


def _aliases(module: Module) -> str:
    """A hash of what aliases of other files mean in a file: an edit there changes what is observed here."""
    if not module.alias_files:
        return ""
    parts = [[c.target, c.spec, c.dtype, c.structure, *map(str, c.select)] for c in module.claims]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
