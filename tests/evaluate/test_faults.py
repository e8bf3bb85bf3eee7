"""A bug of ours costs the entry that it is met on, and is shown; `tests/bench/bench_faults.py` tries every function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "bench" / "faults" / "fault_runs.py"
# Functions on each part of a worker's way, and the error that each of them raises: its start, an import, the probes in
# the user's code, the listing of entries, the search for arguments, the words for a failure, the user's tests.
FAULTS = {
    "worker_session.py:ready": "RuntimeError",
    "probed_loader.py:get_code": "RuntimeError",
    "probe_runtime.py:value": "RecursionError",
    "entries.py:functions": "RuntimeError",
    "entry_search.py:evaluate": "RuntimeError",
    "failure_reasons.py:explain": "MemoryError",
    "test_session.py:run_test": "RuntimeError",
    "entries.py:member": "RuntimeError",  # first where a test calls a function, in an assertion
    "process_damage.py:values": "MemoryError",
    "recorder.py:__exit__ (EvaluateEntry)": "MemoryError",  # behind a look at a value, during which none is observed
    "worker_main.py:serve (CollectTests)": "RecursionError",  # so that the next answers are to other questions
}


@dataclass(frozen=True)
class Faults:
    """What the report says with each fault, and without."""

    module: Any
    before: Any
    after: dict[str, Any]


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory, load_script: Callable[[Path], Any]) -> Iterator[Faults]:
    module = load_script(SCRIPT)
    with module.fault_runs(tmp_path_factory.mktemp("faults")) as runs:
        every = runs.functions()
        places = {f"{Path(place.file).name}:{place.name}": place for place in every}
        places |= {f"{Path(place.file).name}:{place.name} ({place.request})": place for place in every}
        before = runs.run()
        yield Faults(module, before, {name: runs.with_fault(places[name], FAULTS[name]) for name in FAULTS})


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_one_entry_at_most(faults: Faults, name: str) -> None:
    after = faults.after[name]
    assert after.hit
    assert not after.new_errors(faults.before)
    assert len(after.wrong_files(faults.before)) <= 1
    assert ":" not in faults.module.verdict(after, faults.before, FAULTS[name])


@pytest.mark.parametrize("name", [name for name, error in FAULTS.items() if error == "RuntimeError"])
def test_it_is_shown_with_its_traceback(faults: Faults, name: str) -> None:
    assert any("RuntimeError: a fault that was put here" in bug for bug in faults.after[name].bugs)
    assert any(name.partition(":")[2] in bug for bug in faults.after[name].bugs)


def test_without_a_fault_there_is_none(faults: Faults) -> None:
    assert faults.before.bugs == ()
    assert {"first.py", "second.py", "model.py"} <= {path for path, _, _ in faults.before.lines}
