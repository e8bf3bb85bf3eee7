"""Writing the lock: one target, or all that it keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from shapecheck.commands.lock.lock_evaluation import LockEvaluator, as_locked
from shapecheck.commands.lock.lock_paths import lock_request, named_request, read_lock, relative_target
from shapecheck.commands.target_request import TargetGoneError
from shapecheck.config import Config, ConfigError
from shapecheck.files import shown_path
from shapecheck.files.atomic_write import write_text
from shapecheck.templates.lockfile import LockedTemplate, LockError, dump, merge_locks
from shapecheck.templates.template_diff import drift


def write(
    lock: Path, target: str | None, init: Sequence[str], args: Sequence[str], config: Config, say: Callable[[str], None]
) -> None:
    """Evaluate a target, or all that are kept, and write what is; `say` gets what has changed, as text.

    Without arguments, those that are kept of the target stay. Kept targets that are gone are left out. Raises
    ConfigError, and writes nothing, if a target cannot be evaluated.
    """
    kept = read_lock(lock)
    if target is None and not kept:
        raise ConfigError(f"{shown_path(lock)} keeps no template yet: name a TARGET to write")
    before = {each.target: each for each in kept}
    if target is None:
        requests = [lock_request(each, lock) for each in kept]
    else:
        requests = [named_request(target, init, args, before.get(relative_target(target, lock)), lock)]
    new = []
    for one, found in zip(requests, LockEvaluator(config).each(requests), strict=True):
        if isinstance(found, TargetGoneError) and target is None:
            del before[one.target]
            say(f"{one.target}: left out ({found})\n")
        elif isinstance(found, ConfigError):
            more = kept and not isinstance(found, TargetGoneError)
            raise ConfigError(f"{found}\n{shown_path(lock)} stays as it was") if more else found
        else:
            new.append(as_locked(one, found))
    for each in new:
        say(f"{each.target}: {_news(before.get(each.target), each)}\n")
    try:
        text = dump(merge_locks(before.values(), new))
        if not lock.is_file() or lock.read_bytes() != text.encode():
            write_text(lock, text)
    except (OSError, LockError) as error:
        raise ConfigError(f"{shown_path(lock)}: cannot be written: {error}") from error


def _news(old: LockedTemplate | None, new: LockedTemplate) -> str:
    count = len(new.each())
    total = f"{count} stage{'s' * (count != 1)}"
    if old is None:
        return f"{total}, new in the lock"
    kinds = Counter(each.kind for each in drift(old, new))
    changes = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return f"{total}, {changes or 'all as before'}"
