from __future__ import annotations

import errno
import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shapecheck.incremental import cache_store as module
from shapecheck.incremental.cache_store import Store, clean

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates, too: names of files may hold them
DAY = 86400.0
LONG = "\n".join(f"line {number}" for number in range(2000))

by_unix = pytest.mark.skipif(os.name == "nt", reason="Windows has none")
by_user = pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="no permission is denied to root")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".shapecheck_cache"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.shapecheck"))


def the_file(folder: Path, slot: str = "slot", text: str = "text") -> Path:
    """The file of a text stored just now."""
    before = entries(folder)
    Store(folder).put(slot, text)
    (file,) = set(entries(folder)) - set(before)
    return file


def aged(path: Path, seconds: float) -> Path:
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def run(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# --- what was stored comes back


@pytest.mark.parametrize("text", ["", "text", "a\r\nb\rc\n", "é\udc80\x00", LONG, "\udc80" * 9999], ids=repr)
def test_a_text_comes_back_in_this_process_and_the_next(folder: Path, text: str) -> None:
    store = Store(folder)
    store.put("slot", text)
    assert store.get("slot") == text
    assert Store(folder).get("slot") == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=4))
def test_slots_are_kept_apart(folder: Path, texts: dict[str, str]) -> None:
    store = Store(folder)
    for slot, text in texts.items():
        store.put(slot, text)
    assert {slot: store.get(slot) for slot in texts} == texts


def test_the_last_text_counts(folder: Path) -> None:
    store = Store(folder)
    store.put("slot", LONG)
    store.put("slot", "short")
    assert store.get("slot") == "short"
    assert len(entries(folder)) == 1


def test_reading_creates_nothing(folder: Path) -> None:
    store = Store(folder)
    assert store.get("slot") is None
    store.prune(0)
    assert not folder.exists()


def test_long_texts_are_compressed(folder: Path) -> None:
    assert the_file(folder, text=LONG).stat().st_size < len(LONG) / 2


def test_the_folder_ignores_itself_and_says_that_it_is_a_cache(folder: Path) -> None:
    Store(folder).put("slot", "text")
    assert (folder / ".gitignore").read_text() == "*\n"
    tag = (folder / "CACHEDIR.TAG").read_bytes()
    assert tag.startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    assert b"shapecheck" in tag


@by_unix
def test_others_may_read_what_the_umask_lets_them(folder: Path) -> None:
    before = os.umask(0o027)
    try:
        assert stat.S_IMODE(the_file(folder).stat().st_mode) == 0o640
    finally:
        os.umask(before)


# --- what is damaged is missing


@pytest.mark.parametrize("text", ["", "text", "x" * 9999], ids=["empty", "plain", "compressed"])
def test_every_prefix_of_a_file_is_refused(folder: Path, text: str) -> None:
    file = the_file(folder, text=text)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert Store(folder).get("slot") is None
    file.write_bytes(whole)
    assert Store(folder).get("slot") == text


@pytest.mark.parametrize("text", ["", "text", "x" * 9999], ids=["empty", "plain", "compressed"])
def test_every_flipped_bit_is_noticed(folder: Path, text: str) -> None:
    file = the_file(folder, text=text)
    whole = file.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            file.write_bytes(damaged)
            assert Store(folder).get("slot") is None


PACKED = {module.pack("slot", text, b""): text for text in ("text", "other", "x" * 9999)}
PIECE = st.builds(lambda whole, i, j: whole[i:j], st.sampled_from([*PACKED]), st.integers(0, 120), st.integers(0, 200))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECE | st.sampled_from([*PACKED]) | st.binary(max_size=9), max_size=4).map(b"".join))
def test_no_patchwork_passes_for_a_text(folder: Path, damaged: bytes) -> None:
    if not folder.exists():
        the_file(folder)
    entries(folder)[0].write_bytes(damaged)
    assert Store(folder).get("slot") == PACKED.get(damaged)


def test_trailing_bytes_are_refused(folder: Path) -> None:
    file = the_file(folder)
    file.write_bytes(file.read_bytes() + b"\n")
    assert Store(folder).get("slot") is None


@pytest.mark.parametrize("text", ["text", LONG], ids=["plain", "compressed"])
def test_a_file_under_the_name_of_another_slot_is_refused(folder: Path, text: str) -> None:
    one, other = the_file(folder, "one", text), the_file(folder, "other", "other")
    one.replace(other)
    assert Store(folder).get("one") is None
    assert Store(folder).get("other") is None


def test_a_file_of_another_format_is_refused(folder: Path) -> None:
    file = the_file(folder)
    file.write_bytes(file.read_bytes().replace(b"shapecheck-cache 1 ", b"shapecheck-cache 2 "))
    assert Store(folder).get("slot") is None


@pytest.mark.parametrize(("form", "body"), [(b"zlib", b"no zlib"), (b"text", b"\xff")])
def test_a_sealed_file_that_we_never_wrote_is_refused(folder: Path, form: bytes, body: bytes) -> None:
    file = the_file(folder)
    file.write_bytes(module._header("slot", form, body, b"") + body)
    assert Store(folder).get("slot") is None


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def a_link_to_no_file(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_link_to_a_valid_file(path: Path) -> None:
    valid = path.with_name("valid")
    Store(path.parent).put("slot", "text")
    path.rename(valid)
    path.symlink_to(valid)


@by_unix
@pytest.mark.parametrize("make", [a_folder, a_pipe, a_link_to_itself, a_link_to_no_file, a_link_to_a_valid_file])
def test_what_is_no_regular_file_is_missing(folder: Path, make: Callable[[Path], None]) -> None:
    file = the_file(folder)
    file.unlink()
    make(file)
    assert Store(folder).get("slot") is None
    Store(folder).put("slot", "new")  # may fail, but silently
    assert Store(folder).get("slot") in ("new", None)


@by_user
def test_an_unreadable_file_is_missing(folder: Path) -> None:
    the_file(folder).chmod(0)
    assert Store(folder).get("slot") is None


# --- writing at the same time, and interrupted

WRITER = """
import itertools, os, sys
from pathlib import Path
from shapecheck.incremental.cache_store import Store
store, filler = Store(Path(sys.argv[1])), os.urandom(int(sys.argv[2])).hex()
for number in itertools.count():
    store.put("slot", f"{number} {filler} {number}")
    if number == 0:
        print("ready", flush=True)
"""

SHARER = """
import sys, time
from pathlib import Path
from shapecheck.incremental.cache_store import Store
store, me = Store(Path(sys.argv[1])), sys.argv[2]
end = time.monotonic() + 0.7
while time.monotonic() < end:
    for slot in ("a", "b", "c"):
        for size in (1, 90, 90_000):
            store.put(slot, f"{slot} {me}" * size)
            text = store.get(slot)
            assert text is not None, "lost"
            assert text in {text[:3] * count for count in (1, 90, 90_000)} and text[:2] == slot + " ", text[:99]
assert not store._stopped
"""


@pytest.mark.parametrize("size", [900, 400_000])
def test_a_writer_that_is_killed_leaves_the_text_before(folder: Path, size: int) -> None:
    for _ in range(5):
        with run(WRITER, folder, size) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(random.random() / 20)  # noqa: S311
            writer.kill()
        text = Store(folder).get("slot")
        assert text is not None
        first, filler, last = text.split(" ")
        assert first == last
        assert len(filler) == 2 * size
    assert len(entries(folder)) == 1
    assert clean(folder)  # with the temporary files of those that were killed
    assert not folder.exists()


def test_processes_that_write_and_read_the_same_slots(folder: Path) -> None:
    sharers = [run(SHARER, folder, me) for me in range(4)]  # they create the folder at the same time, too
    for sharer in sharers:
        assert (*sharer.communicate(timeout=60), sharer.returncode) == ("", "", 0)
    names = {path.name for path in folder.iterdir()} - {path.name for path in entries(folder)}
    assert names == {".gitignore", "CACHEDIR.TAG"}


def fail(error: BaseException) -> Callable[..., object]:
    def failing(*_: object, **__: object) -> object:
        raise error

    return failing


@pytest.mark.parametrize("name", ["open", "replace"])
def test_an_interrupted_write_leaves_the_text_before_and_no_temporary_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = Store(folder)
    store.put("slot", "before")
    left = sorted(folder.iterdir())
    with monkeypatch.context() as patch:
        if name == "open":  # when the file exists already, but nothing was written yet
            patch.setattr(module, "open", fail(KeyboardInterrupt()), raising=False)
        else:
            patch.setattr(Path, "replace", fail(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            store.put("slot", "after")
    assert sorted(folder.iterdir()) == left
    assert store.get("slot") == "before"


# --- where nothing can be written


def test_a_full_disk_is_met_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(folder)
    store.put("slot", "before")
    tries = []

    def full(*arguments: object) -> int:
        tries.append(arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        store.put("slot", "after")
        store.put("other", "after")
    assert len(tries) == 1
    store.put("slot", "after")
    assert store.get("slot") == "before"


FILLED = """
import resource, sys
from pathlib import Path
from shapecheck.incremental.cache_store import Store
store = Store(Path(sys.argv[1]))
store.put("slot", "before")
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
import os
store.put("slot", os.urandom(int(sys.argv[2])).hex())
print(store.get("slot"))
"""


@by_unix
@pytest.mark.parametrize("size", [7000, 900_000])
def test_a_disk_that_fills_in_mid_write_leaves_the_text_before(folder: Path, size: int) -> None:
    with run(FILLED, folder, size) as writer:
        assert writer.communicate() == ("before\n", "")
    assert {path.suffix for path in folder.iterdir()} == {".shapecheck", ".TAG", ""}


@by_user
def test_a_folder_that_may_not_be_written_is_still_read(folder: Path) -> None:
    Store(folder).put("slot", "before")
    folder.chmod(0o500)
    try:
        Store(folder).put("slot", "after")
        Store(folder).prune(0)
        assert not clean(folder)
        assert Store(folder).get("slot") == "before"
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("make", ["file", pytest.param("dangling link", marks=by_unix), "below a file"])
def test_a_name_that_is_taken_is_left_alone(tmp_path: Path, folder: Path, make: str) -> None:
    if make == "dangling link":
        folder.symlink_to(tmp_path / "nowhere")
    else:
        folder.write_text("mine")
    store = Store(folder / "sub" if make == "below a file" else folder)
    store.put("slot", "text")
    assert store.get("slot") is None
    store.prune(0)
    assert not clean(folder)
    assert folder.is_symlink() or folder.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_is_removed_meanwhile_does_not_come_back(folder: Path) -> None:
    store = Store(folder)
    store.put("slot", "text")
    assert clean(folder)
    store.put("slot", "text")
    assert not folder.exists()
    assert store.get("slot") is None


@pytest.mark.parametrize("name", ["model.py", ".gitignore", "CACHEDIR.TAG"])
def test_a_folder_of_somebody_else_is_not_made_a_cache(folder: Path, name: str) -> None:
    folder.mkdir()
    (folder / name).write_text("mine")  # a .gitignore beside it would hide it from Git
    store = Store(folder)
    store.put("slot", "text")
    assert store.get("slot") is None
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize("lost", [["CACHEDIR.TAG"], ["CACHEDIR.TAG", ".gitignore"]])
def test_a_cache_whose_creation_was_interrupted_is_completed(folder: Path, lost: list[str]) -> None:
    Store(folder).put("slot", "text")
    (folder / f"{'0' * 32}.shapecheck.tmp").touch()
    for name in lost:
        (folder / name).unlink()
    Store(folder).put("other", "text")
    assert Store(folder).get("other") == "text"
    assert (folder / "CACHEDIR.TAG").exists()
    assert (folder / ".gitignore").exists()


# --- removing


def test_what_was_not_used_for_long_is_pruned(folder: Path) -> None:
    old = aged(the_file(folder, "old"), 40 * DAY)
    young = aged(the_file(folder, "young"), 20 * DAY)
    used = aged(the_file(folder, "used"), 40 * DAY)
    assert Store(folder).get("used") == "text"
    Store(folder).prune(30 * DAY)
    assert not old.exists()
    assert young.exists()
    assert used.exists()
    Store(folder).prune(0)
    assert not entries(folder)


def test_use_is_noted_once_a_day_and_only_of_valid_files(folder: Path) -> None:
    recent, old, damaged = (the_file(folder, slot) for slot in ("recent", "old", "damaged"))
    damaged.write_bytes(b"damaged")
    before = {file: aged(file, days * DAY).stat().st_mtime for file, days in ((recent, 0.5), (old, 2), (damaged, 2))}
    for slot in ("recent", "old", "damaged"):
        Store(folder).get(slot)
    assert [file for file, then in before.items() if file.stat().st_mtime != then] == [old]


def test_only_temporary_files_that_nobody_writes_any_more_are_pruned(folder: Path) -> None:
    Store(folder).put("slot", "text")
    fresh, abandoned = (folder / f"{digit * 32}.shapecheck.tmp" for digit in "01")
    fresh.touch()
    abandoned.touch()
    aged(abandoned, 2 * 3600)
    Store(folder).prune(0)
    assert fresh.exists()
    assert not abandoned.exists()


def strange(folder: Path) -> list[Path]:
    """Things in the folder that are not ours, some with names that look like it, all of them old."""
    mine = [folder / name for name in ("notes.txt", "a.shapecheck", f"{'A' * 64}.shapecheck", "x.tmp", ".git")]
    for path in mine:
        path.write_text("mine")
        aged(path, 99 * DAY)
    deep = folder / f"{'b' * 64}.shapecheck"
    deep.mkdir()
    (deep / "file").write_text("mine")
    mine += [deep, deep / "file"]
    if os.name != "nt":
        link = folder / f"{'c' * 64}.shapecheck"
        link.symlink_to(folder / "notes.txt")
        mine.append(link)
    return mine


def test_pruning_and_cleaning_leave_what_they_do_not_recognise(folder: Path) -> None:
    file = the_file(folder)
    mine = strange(folder)
    Store(folder).prune(0)
    assert not file.exists()
    Store(folder).put("slot", "text")
    assert clean(folder)
    assert not file.exists()
    assert all(path.is_symlink() or path.exists() for path in mine)
    assert not clean(folder)
    Store(folder).put("slot", "text")  # it still is a cache
    assert Store(folder).get("slot") == "text"


def test_cleaning_removes_the_folder(folder: Path) -> None:
    assert not clean(folder)
    Store(folder).put("slot", "text")
    (folder / f"{'0' * 32}.shapecheck.tmp").touch()
    assert clean(folder)
    assert not folder.exists()
    assert not clean(folder)


@pytest.mark.parametrize("tag", [None, "Signature: 8a477f597d28d172789f06886806bc55\n# of another tool\n"])
def test_a_folder_without_our_tag_is_neither_cleaned_nor_pruned(folder: Path, tag: str | None) -> None:
    file = the_file(folder)
    (folder / "CACHEDIR.TAG").unlink()
    if tag is not None:
        (folder / "CACHEDIR.TAG").write_text(tag)
    Store(folder).prune(0)
    assert not clean(folder)
    assert file.exists()


@by_unix
def test_cleaning_follows_no_link(folder: Path, tmp_path: Path) -> None:
    file = the_file(folder)
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(folder)
    other.mkdir()
    (other / "CACHEDIR.TAG").symlink_to(folder / "CACHEDIR.TAG")
    (other / file.name).write_text("mine")
    assert not clean(link)
    assert not clean(other)
    assert file.exists()
    assert (other / file.name).exists()


@by_unix
def test_a_folder_behind_a_link_serves(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    folder.symlink_to(tmp_path / "scratch")
    Store(folder).put("slot", "text")
    assert Store(folder).get("slot") == "text"
    assert not clean(folder)
