"""Reading the lock, and how it names what lies around it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shapecheck.commands.lock.lock_location import absolute
from shapecheck.commands.target_request import TargetRequest, pairs
from shapecheck.config import ConfigError
from shapecheck.files import shown_path
from shapecheck.templates.lockfile import LockedTemplate, LockError, parse

_BATCH = re.compile(r"((?:[^\W\d]\w*\s*=\s*)?@)(.+)\Z", re.DOTALL)


def read_lock(file: Path) -> tuple[LockedTemplate, ...]:
    """The templates of a lock, none if there is no such file; raises ConfigError if it cannot be read."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
        return parse(text, shown_path(file))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"{shown_path(file)}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{shown_path(file)}: is not UTF-8 (byte {error.start}): restore it, or write it anew"
        ) from None
    except LockError as error:
        raise ConfigError(str(error)) from None


def lock_request(kept: LockedTemplate, lock: Path) -> TargetRequest:
    """How a kept target is evaluated: in the lock's folder, with what was made up for it."""
    made = {"integers": kept.making.integers, "dims": kept.making.dims}
    return TargetRequest(
        target=kept.target, init=kept.making.init, args=kept.making.args, folder=lock.parent, made=made
    )


def named_request(
    target: str, init: Sequence[str], args: Sequence[str], kept: LockedTemplate | None, lock: Path
) -> TargetRequest:
    """How a target is evaluated that the command line names: without arguments, as one that is `kept` of it."""
    name = relative_target(target, lock)
    new = TargetRequest(
        target=name, init=pairs(init), args=tuple(_relative_argument(text, lock) for text in args), folder=lock.parent
    )
    if kept is None:
        return new
    known = lock_request(kept, lock)
    return replace(new if new.init or new.args else known, target=name, made=known.made)


def is_under(kept: LockedTemplate, lock: Path, paths: Sequence[Path]) -> bool:
    """Whether the target's file is one of the paths, or in one of them; what is installed counts as the whole project.

    It need not be there: who removes a model shall hear of it.
    """
    where = kept.target.rpartition(":")[0]
    file = absolute(lock.parent / where) if where.endswith(".py") else lock.parent
    return any(file.is_relative_to(absolute(path)) for path in paths)


def relative_target(target: str, lock: Path) -> str:
    """The target as the lock names it, the same for each way to write it. Raises ConfigError if it names none."""
    file = TargetRequest(target=target).file
    if file is None:
        return target
    return f"{_relative(file, lock)}:{target.rpartition(':')[2]}"


def _relative_argument(text: str, lock: Path) -> str:
    """An `--arg`, with the file of a batch as the lock names it."""
    found = _BATCH.match(text)
    return text if found is None else f"{found[1]}{_relative(Path(found[2].strip()), lock)}"


def batches(args: Sequence[str], folder: Path) -> list[str]:
    """The files of batches among the arguments."""
    found = [_BATCH.match(text) for text in args]
    return [str(folder / match[2].strip()) for match in found if match is not None]


def _relative(file: Path, lock: Path) -> str:
    return Path(os.path.relpath(absolute(file), lock.parent)).as_posix()
