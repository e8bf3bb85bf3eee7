"""Summaries of files that are kept between runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import shapecheck
from shapecheck.incremental import kept_summaries
from shapecheck.incremental.cache_store import Store
from shapecheck.incremental.kept_summaries import KeptSummaries
from shapecheck.incremental.module_summary import ModuleSummary, surface

PROJECT = frozenset({"shapecheck"})
SOURCES = [file.read_bytes() for file in sorted(Path(shapecheck.__file__).parent.glob("incremental/*.py"))]


def test_what_is_kept_of_a_file_is_what_is_read_in_it(tmp_path: Path) -> None:
    read = [surface(each, PROJECT) for each in SOURCES]
    for _ in range(2):
        summaries = KeptSummaries(Store(tmp_path / "cache"), PROJECT)
        assert [summaries.summary(each, tests=False) for each in SOURCES] == read
    tests = [KeptSummaries(Store(tmp_path / "cache"), PROJECT).summary(each, tests=True) for each in SOURCES]
    assert tests == [surface(each, PROJECT, tests=True) for each in SOURCES]


def test_a_run_reads_only_files_that_were_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in SOURCES:
        KeptSummaries(Store(tmp_path / "cache"), PROJECT).summary(each, tests=False)
    read: list[bytes] = []

    def record(source: bytes, project: frozenset[str], *, tests: bool) -> ModuleSummary:
        read.append(source)
        return surface(source, project, tests=tests)

    monkeypatch.setattr(kept_summaries, "surface", record)
    edited = [SOURCES[0] + b"\nnew = 1\n", *SOURCES[1:]]
    summaries = KeptSummaries(Store(tmp_path / "cache"), PROJECT)
    assert "new" in {name for step in summaries.summary(edited[0], tests=False).steps for name in step.names}
    for each in edited[1:]:
        summaries.summary(each, tests=False)
    assert read == edited[:1]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"!":"ModuleSummary","v":[]}', '{"!":"None","v":[]}'])
def test_what_is_no_summary_is_read_again(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCES[1]
    monkeypatch.setattr(Store, "get", lambda store, slot: text)
    assert KeptSummaries(Store(tmp_path / "cache"), PROJECT).summary(source, tests=False) == surface(source, PROJECT)
