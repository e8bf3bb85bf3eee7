"""A part of a check, for several machines to do side by side: what it showed, for the merge and by itself."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from shapecheck import __version__
from shapecheck.commands.blob import Blob, Origin, configuration, shared_path
from shapecheck.commands.check import with_notes
from shapecheck.commands.check_inputs import CheckInputs, read_inputs
from shapecheck.commands.checked_project import plan_inputs
from shapecheck.commands.evaluation import EvaluationContext, check_locks, evaluate_shard, judge_run, report
from shapecheck.commands.notebook_places import with_cells
from shapecheck.config import Config
from shapecheck.evaluate.framework_protocol import framework_facts, known_packages
from shapecheck.incremental.carried_cache import RecordedTexts
from shapecheck.incremental.content_hash import content
from shapecheck.incremental.rerun import shared_store, shared_texts
from shapecheck.model import Report, ShardShare
from shapecheck.worker.shard_outcome import ShardOutcome, replay
from shapecheck.worker.shard_split import Shard

Progress = Callable[[str, int, int], None]

# Results may differ where these do, beside the frameworks: what evaluates, and what shapecheck looks into.
_PACKAGES = frozenset(("jax", "jaxlib", "numpy", "jaxtyping", "beartype", "feedbax", "pytest", "optax"))
_INSTALLED = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)\.dist-info")
_PYTHON = re.compile(r"python3\.\d+")


def check_shard(
    paths: Sequence[Path],
    config: Config,
    shard: Shard,
    *,
    package: int = 1,
    packages: int = 1,
    progress: Progress | None = None,
    echo: bool = False,
) -> tuple[Blob, Report]:
    """What a shard has to hand on, and what can be said of it alone. Raises ConfigError as a whole check does.

    Of many packages, which are split one by one, each shard has the largest part in turn.
    """
    started = time.monotonic()
    part = Shard((shard.number + package - 2) % shard.total + 1, shard.total)
    sources = read_inputs(paths, config)
    carried = None
    if config.cache and config.cache_dir is not None:
        carried = RecordedTexts(shared_texts(config.cache_dir, config.root))
    store = shared_store(carried, config) if carried is not None else None
    rerun = sources.rerun(config, store) if config.cache else None
    planned = plan_inputs(sources, config, rerun)
    modules, plans = planned.modules, list(planned.plans.values())
    files = [file for file, _ in sources.texts.values()]
    around = EvaluationContext(
        files, sources.tests, planned.memory, progress, echo, started=started, snippets=planned.snippets
    )
    outcome = evaluate_shard(plans, modules, config, around, part)
    is_last = part.number == part.total  # which the rounding up of counts leaves least to do
    lock = check_locks(sources.lock, paths, config, progress) if is_last else None
    own = list(modules)[part.number - 1 :: part.total]
    unread = tuple(sorted(sources.unread.items()))
    blob = Blob(
        shard=shard,
        package=package,
        packages=packages,
        origin=_origin(paths, config, sources, outcome),
        config=config,
        modules={path: modules[path] for path in own},
        plans={path: planned.plans[path] for path in own},
        outcome=outcome,
        notebooks=sources.notebooks,
        unread=unread,
        lock=lock,
        cache=carried.seen if carried is not None else {},
    )
    evaluated = replay(plans, outcome)
    share = share_of(shard, outcome)
    judgement = judge_run(modules, evaluated, config, is_shard=True)
    alone = report(modules, evaluated, judgement, lock, config, unread, share)
    shown = with_cells(alone, sources.notebooks)
    return blob, shown if rerun is None else with_notes(shown, rerun)


def share_of(shard: Shard, outcome: ShardOutcome) -> ShardShare:
    """How much of the run a shard did."""
    listed = [(f"test:{plan.key}", plan.key) for plan in outcome.tests or ()]
    listed += [(f"entry:{plan.key}", plan.target) for plan in outcome.entries]
    left = tuple(target for key, target in listed if key in outcome.left)
    return ShardShare(shard.number, shard.total, len(listed) - len(left), len(left), left)


def _origin(paths: Sequence[Path], config: Config, sources: CheckInputs, outcome: ShardOutcome) -> Origin:
    return Origin(
        version=__version__,
        commit=_commit(config.root),
        paths=tuple(sorted({shared_path(path) for path in paths})),
        configuration=configuration(config),
        versions=_versions(outcome.sites),
        files={shown: content(data) for shown, (_, data) in sources.texts.items()},
    )


def _commit(folder: Path) -> str:
    """The commit that is checked out, "" where git knows none."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, check=False)
    except OSError:
        return ""
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def _versions(sites: Sequence[str]) -> Mapping[str, str]:
    """What is installed where packages lie, as its folders are named."""
    found: dict[str, str] = {}
    packages = _PACKAGES | known_packages() | framework_facts("distributions")
    for site in sites:
        python = _PYTHON.search(site)
        if python is not None:
            found["Python"] = python[0].removeprefix("python")
        try:
            names = os.listdir(site)
        except OSError:
            continue
        installed = filter(None, map(_INSTALLED.fullmatch, names))
        found.update({each["name"]: each["version"] for each in installed if each["name"] in packages})
    return found
