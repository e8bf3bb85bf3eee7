"""Targets as they were: `HEAD~1:model.py:GPT` is evaluated in a copy of the repository at that revision."""

from __future__ import annotations

import contextlib
import io
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from shapecheck.commands.target_request import TargetRequest
from shapecheck.config import ConfigError
from shapecheck.evaluate.scratch_folders import scratch_folder


@contextlib.contextmanager
def at_revision(request: TargetRequest) -> Iterator[TargetRequest]:
    """The target without its revision, in a folder that has it as it was; one without a revision as it is.

    The folder is gone afterwards; the repository is only read. Raises ConfigError for what git does not know.
    """
    revision, sign, target = _split_revision(request.target)
    if not sign:
        yield request
        return
    top = Path(_git(request.folder, "rev-parse", "--show-toplevel").decode().strip())
    try:
        _git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except ConfigError:
        raise ConfigError(f"{request.target}: git knows no revision {revision!r}") from None
    archive = _git(top, "archive", "--format=tar", f"{revision}^{{tree}}")
    inside = request.folder.resolve().relative_to(top.resolve())
    with scratch_folder() as name:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(name, filter="tar")
        folder = Path(name).resolve() / inside
        if not folder.is_dir():
            raise ConfigError(f"{request.target}: there was no folder {inside.as_posix()!r} at {revision}")
        yield replace(request, target=target, folder=folder)


def _split_revision(target: str) -> tuple[str, str, str]:
    """Revision, whether there is one, and the target by itself."""
    where, _, name = target.rpartition(":")
    revision, sign, path = where.rpartition(":")
    return revision, sign, f"{path}:{name}"


def _git(folder: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    except OSError as error:
        raise ConfigError(f"a revision is read by git, which cannot be started: {error.strerror}") from error
    if done.returncode:
        text = done.stderr.decode(errors="replace").strip().splitlines()
        raise ConfigError(f"git {' '.join(words)}: {text[0] if text else f'exit status {done.returncode}'}")
    return done.stdout
