"""What a run looks at: the files with their bytes, those that cannot be read, the tests beside them, the lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecheck import files
from shapecheck.commands.lock.lock_location import lock_file
from shapecheck.config import Config, ConfigError
from shapecheck.files.notebook_source import SUFFIX, Notebook, NotebookError, read_notebook
from shapecheck.incremental.cache_store import KeptTexts
from shapecheck.incremental.rerun import Rerun


@dataclass(frozen=True, kw_only=True)
class CheckInputs:
    """What a run looks at. `texts` have the file and its bytes by shown path, of a notebook those of its module.

    `unsaved` are the shown paths whose bytes are not those on the disk. `unread` says what cannot be read, and why.
    `shown_in` are documents and scripts that may call what is checked; None if no such code is wanted at all.
    """

    paths: Sequence[Path]
    texts: Mapping[str, tuple[Path, bytes]]
    unsaved: frozenset[str]
    unread: files.UnreadPaths
    notebooks: Mapping[str, Notebook]
    tests: Sequence[Path]
    lock: Path | None
    shown_in: Sequence[Path] | None = None

    def rerun(self, config: Config, store: KeptTexts | None = None, purpose: str = "") -> Rerun:
        """What is remembered of an earlier run for one purpose; `store` keeps it in place of the project's cache."""
        return Rerun(config, self.paths, self.texts, self.tests, self.lock, store, purpose, self.shown_in or ())


def read_inputs(paths: Sequence[Path], config: Config, stdin: tuple[str, bytes] | None = None) -> CheckInputs:
    """Find and read the files, or take the text of `stdin` in place of the file it names.

    Raises ConfigError if not one of those that were found can be read.
    """
    if stdin is not None:
        file = Path(stdin[0]).absolute()
        shown = files.shown_path(file)
        return CheckInputs(
            paths=paths,
            texts={shown: (file, stdin[1])},
            unsaved=frozenset({shown}),
            unread={},
            notebooks={},
            tests=(),
            lock=None,
        )
    unread: files.UnreadPaths = {}
    notebooks: dict[str, Notebook] = {}
    texts = read_texts(paths, config, unread, notebooks)
    if unread and not texts:
        raise ConfigError("\n".join(f"{path}: {reason}" for path, reason in sorted(unread.items())))
    tests = config.tests if config.tests is not None else files.find_tests([file for file, _ in texts.values()])
    shown_in = (
        files.find_snippet_files([file for file, _ in texts.values()], config.exclude, config.root)
        if config.snippets
        else None
    )
    lock = lock_file(config, paths[0]) if config.lock and paths else None
    return CheckInputs(
        paths=paths,
        texts=texts,
        unsaved=frozenset(notebooks),
        unread=unread,
        notebooks=notebooks,
        tests=tests,
        lock=lock,
        shown_in=shown_in,
    )


def read_texts(
    paths: Sequence[Path], config: Config, unread: files.UnreadPaths, notebooks: dict[str, Notebook] | None = None
) -> Mapping[str, tuple[Path, bytes]]:
    """The files that the paths mean with their bytes, by shown path, and the `notebooks` as modules, if these count."""
    found = files.discover(
        paths,
        config.exclude,
        config.root,
        named_too=config.force_exclude,
        notebooks=notebooks is not None,
        unread=unread,
    )
    texts: dict[str, tuple[Path, bytes]] = {}
    for file in found:
        try:
            data = file.read_bytes()
            if notebooks is not None and file.suffix == SUFFIX:
                from shapecheck.commands.unread_cells import without_unread_cells  # noqa: PLC0415  # it loads a parser

                notebooks[files.shown_path(file)] = notebook = without_unread_cells(read_notebook(data))
                data = notebook.module.encode()
            texts[files.shown_path(file)] = (file, data)
        except OSError as error:
            unread[files.shown_path(file)] = files.read_failure(error)
        except NotebookError as error:
            unread[files.shown_path(file)] = str(error)
    return texts
