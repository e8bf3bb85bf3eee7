"""Kept targets evaluated again, or remembered where nothing has changed that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from shapecheck.commands.lock.lock_paths import batches
from shapecheck.commands.target_request import TargetRequest, candidates
from shapecheck.commands.template import EvaluatedTemplate, find
from shapecheck.config import Config, ConfigError
from shapecheck.incremental import rerun
from shapecheck.incremental.cache_store import Store
from shapecheck.incremental.content_hash import file_content, modified_ns
from shapecheck.incremental.environment_key import environment
from shapecheck.templates import Template
from shapecheck.templates.lockfile import LockedTemplate, TemplateInputs, lock_template
from shapecheck.worker.fork_server import ForkServers
from shapecheck.worker.messages.wire import dump, load
from shapecheck.worker.spawn import Start


@dataclass(frozen=True)
class LockEvaluator:
    """Evaluates targets. Each has a process of its own, as on the command line: importing one may change another."""

    config: Config

    def each(self, requests: Sequence[TargetRequest]) -> Iterator[EvaluatedTemplate | ConfigError]:
        """What they come to, in order, or what is wrong with them; several are evaluated at once."""
        if len(requests) == 1:
            yield self._attempt(requests[0])
            return
        with ThreadPoolExecutor(self.config.workers) as pool, ForkServers() as servers:
            try:
                found = [pool.submit(self._attempt, request, servers.start) for request in requests]
                for each in found:
                    yield each.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def find(self, request: TargetRequest, start: Start | None = None) -> EvaluatedTemplate:
        """As `templating.find`, but remembered. What fails is evaluated each time, until it is mended."""
        if not self.config.cache:
            return find(request, self.config, start)
        store = Store(self.config.root / rerun.FOLDER)
        slot = f"template:{self._name(request)}"
        known = self._recall(store.get(slot), request)
        if known is not None:
            return known
        started = time.time_ns()
        found = find(request, self.config, start)
        if not any(modified_ns(file) > started for file in found.files):  # else nobody knows which text was evaluated
            store.put(slot, self._cache_text(found, request))
        return found

    def _attempt(self, request: TargetRequest, start: Start | None = None) -> EvaluatedTemplate | ConfigError:
        try:
            return self.find(request, start)
        except ConfigError as error:
            return error

    def _name(self, request: TargetRequest) -> str:
        config = self.config
        settings = [repr(dict(config.sizes)), repr(config.src), repr(config.python), config.memory, config.timeout]
        made = {kind: dict(sorted(sizes.items())) for kind, sizes in request.made.items()}
        parts = [request.target, request.init, request.args, os.fspath(request.folder), made, settings]
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _recall(self, text: str | None, request: TargetRequest) -> EvaluatedTemplate | None:
        if text is None:
            return None
        try:
            kept = load(text)
            if kept["python"] not in candidates(request, self.config):
                return None
            if kept["state"] != _state(kept["python"], kept["sites"], kept["files"], request):
                return None
            template = Template(request.target, kept["dims"], kept["stages"], kept["count"])
            return EvaluatedTemplate(template, kept["integers"], kept["files"], kept["python"], kept["sites"])
        except (ValueError, KeyError, TypeError, RecursionError):  # another version's
            return None

    @staticmethod
    def _cache_text(found: EvaluatedTemplate, request: TargetRequest) -> str:
        template = found.template
        return dump(
            {
                "python": found.python,
                "sites": found.sites,
                "files": found.files,
                "state": _state(found.python, found.sites, found.files, request),
                "integers": dict(found.integers),
                "dims": template.dims,
                "stages": template.stages,
                "count": template.count,
            }
        )


def template_inputs(request: TargetRequest, found: EvaluatedTemplate) -> TemplateInputs:
    """How this template can be made once more."""
    dims = {name: int(size) for name, size in found.template.dims if size.isdigit()}
    return TemplateInputs(request.init, request.args, dict(found.integers), dims)


def as_locked(request: TargetRequest, found: EvaluatedTemplate) -> LockedTemplate:
    """What a lock keeps of it."""
    return lock_template(request.target, found.template, template_inputs(request, found))


def _state(python: str, sites: Iterable[str], files: Iterable[str], request: TargetRequest) -> str:
    """One hash for all that a template depends on."""
    read = {file: file_content(file) for file in (*files, *batches(request.args, request.folder))}
    folders = {str(folder) for file in files for folder in Path(file).parents[:2]}
    parts: Mapping[str, object] = {
        "environment": environment(python, tuple(sites)),
        "files": read,
        # a new module may come in the place of another
        "folders": {folder: _modules(folder) for folder in sorted(folders)},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _modules(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError:
        return []
