"""The report of a whole run, from what its shards have left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shapecheck import __version__
from shapecheck.commands import blob as blobs
from shapecheck.commands.blob import Blob, BlobError, Origin
from shapecheck.commands.evaluation import judge_run, report
from shapecheck.commands.notebook_places import with_cells
from shapecheck.config import Config, ConfigError
from shapecheck.incremental.carried_cache import keep_joined
from shapecheck.incremental.rerun import shared_texts
from shapecheck.model import Report
from shapecheck.worker.shard_outcome import join, replay

_MOST = 5  # names in a message
_AGAIN = "Let all shards check the same commit with the same settings and the same packages, and merge these blobs"


class MergeError(ConfigError):
    """These blobs are not the shards of one run; the message says why."""


def read_packages(files: Sequence[Path]) -> list[list[Blob]]:
    """The blobs of all shards of a run, in their order, for each package. Raises MergeError for what is none."""
    found: dict[Path, list[Blob]] = {}
    for file in files:
        if file in found:
            raise MergeError(f"{file} is named twice: give each shard's blob once")
        try:
            found[file] = blobs.load_all(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise MergeError(f"{file}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise MergeError(f"{file}: {BlobError.of_damage()}") from error
        except BlobError as error:
            raise MergeError(f"{file}: {error}") from error
    first, count = files[0], len(found[files[0]])
    for file, each in found.items():
        if len(each) != count:
            raise MergeError(f"{first} and {file} are not of one run: of {count} and {len(each)} packages. {_AGAIN}")
    return [_in_order({file: each[number] for file, each in found.items()}) for number in range(count)]


def _in_order(found: Mapping[Path, Blob]) -> list[Blob]:
    """The blobs of one package by their shards, if they belong together and are all."""
    _require_same_run(found)
    _require_all_shards(found)
    ordered = sorted(found.values(), key=lambda each: each.shard.number)
    forgotten = sorted(join([each.outcome for each in ordered]).left)
    if forgotten:
        raise MergeError(
            f"{_some(forgotten)}: each shard left this to another one, for they were split by other durations. Give "
            "all shards the same cache (--cache-dir on a file system that they share), or none (--no-cache)."
        )
    return ordered


def merge(blobs_of_run: Sequence[Blob], config: Config) -> Report:
    """What a run on one machine would report; `config` says how findings are judged and shown."""
    first = blobs_of_run[0]
    order = list(first.origin.files)
    modules = {path: module for each in blobs_of_run for path, module in each.modules.items()}
    plans = {path: plan for each in blobs_of_run for path, plan in each.plans.items()}
    missing = [path for path in order if path not in modules]
    if missing:
        raise MergeError(f"{_some(missing)}: no shard says what is claimed there")
    evaluated = replay([plans[path] for path in order], join([each.outcome for each in blobs_of_run]))
    lock = next((each.lock for each in blobs_of_run if each.lock is not None), None)
    unread = tuple(sorted({pair for each in blobs_of_run for pair in each.unread}))
    in_order = {path: modules[path] for path in order}
    judgement = judge_run(in_order, evaluated, config)
    found = report(in_order, evaluated, judgement, lock, config, unread)
    return with_cells(found, first.notebooks)


def keep_cache(blobs_of_run: Sequence[Blob], place: Path | str, root: Path) -> str:
    """Join the caches of all shards in one place; what there is to say of that."""
    parts = [each.cache for each in blobs_of_run]
    if not any(parts):
        raise MergeError(
            "--cache-dir: these blobs carry no results to keep. A shard's blob does if the shard has --cache-dir too"
        )
    texts = shared_texts(place, root)
    count = keep_joined(parts, texts)
    return "".join(f"{line}\n" for line in texts.finish() or [f"Kept {count} results of the shards in {place}"])


def merge_config(
    blobs_of_run: Sequence[Blob], *, output_format: str | None, baseline: Path | None, fail_on_unreached: bool | None
) -> Config:
    """The settings of the run, with those of the merge on top."""
    config = blobs_of_run[0].config
    return replace(
        config,
        output_format=output_format or config.output_format,
        baseline=baseline or config.baseline,
        fail_on_unreached=config.fail_on_unreached if fail_on_unreached is None else fail_on_unreached,
    )


def _require_all_shards(found: Mapping[Path, Blob]) -> None:
    total = next(iter(found.values())).shard.total
    by_number: dict[int, Path] = {}
    for file, each in found.items():
        if each.shard.total != total:
            first = next(iter(found))
            raise MergeError(
                f"{file} is of a run in {each.shard.total} shards, {first} of one in {total}: merge those of one run"
            )
        if each.shard.number in by_number:
            raise MergeError(
                f"{by_number[each.shard.number]} and {file} are both shard {each.shard}: leave out the older one"
            )
        by_number[each.shard.number] = file
    missing = [f"{number}/{total}" for number in range(1, total + 1) if number not in by_number]
    if missing:
        shards = f"shard{'s' * (len(missing) != 1)} {_some(missing)}"
        which = "them" if len(missing) > 1 else "it"
        raise MergeError(
            f"{shards} missing: what was left to {which} is in no blob here. `check --shard {missing[0]} "
            "--output-format blob`, with the paths and settings of the others, writes it"
        )


def _require_same_run(found: Mapping[Path, Blob]) -> None:
    (first, one), *others = found.items()
    if one.origin.version != __version__:
        raise MergeError(
            f"{first} was written by shapecheck {one.origin.version}, and this is {__version__}: merge with the "
            "version that the shards have"
        )
    for file, each in others:
        difference = next(_differences(one.origin, each.origin, bool(one.outcome.sites and each.outcome.sites)), None)
        if difference is not None:
            raise MergeError(f"{first} and {file} are not of one run: {difference}. {_AGAIN}")


def _differences(one: Origin, other: Origin, both_evaluated: bool) -> Iterator[str]:
    if one.version != other.version:
        yield f"by shapecheck {one.version} and {other.version}"
    if one.commit != other.commit:
        yield f"at commit {one.commit or '(none)'} and {other.commit or '(none)'}"
    if one.paths != other.paths:
        yield f"of the paths {' '.join(one.paths)} and {' '.join(other.paths)}"
    for path in sorted({*one.files, *other.files}):
        if one.files.get(path) != other.files.get(path):
            yield f"{path} has other contents" if path in one.files and path in other.files else f"one has no {path}"
    pairs = [("settings", one.configuration, other.configuration)]
    pairs += [("versions", one.versions, other.versions)] if both_evaluated else []
    for what, mine, theirs in pairs:
        for name in sorted({*mine, *theirs}):
            if mine.get(name) != theirs.get(name):
                yield f"with other {what}: {name} {mine.get(name, '(none)')} and {theirs.get(name, '(none)')}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")
