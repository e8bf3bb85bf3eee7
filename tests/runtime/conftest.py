"""Modules of a user's, imported under checks in this process."""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shapecheck.commands.judge_server import JudgeServer
from shapecheck.runtime.check_session import CheckSession
from shapecheck.runtime.judge_client import JudgeClient
from shapecheck.runtime.runtime_options import RuntimeOptions
from shapecheck.worker.messages.judge_messages import JudgeCall
from shapecheck.worker.messages.protocol import Reply, RequestFor

_numbers = itertools.count()

Load = Callable[..., Any]


class Near(JudgeClient):
    """Asks a referee in this process, and counts what is judged."""

    def __init__(self) -> None:
        super().__init__()
        self.server, self.judged = JudgeServer(), 0

    def _request(self, message: RequestFor[Reply]) -> Reply:
        from shapecheck.worker.messages.wire import dump, load

        self.judged += isinstance(message, JudgeCall)
        answer: Reply = load(dump(self.server.answer(load(dump(message)))))
        return answer


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """A function that writes a module, and imports it under checks with these options; it has its `session`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sessions: list[CheckSession] = []
    names: list[str] = []

    def loaded(text: str, **options: Any) -> Any:
        name = f"users_module_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), "utf-8")
        client = Near()
        session = CheckSession(RuntimeOptions(root=str(tmp_path), **options), client)
        session.start()
        sessions.append(session)
        names.append(name)
        module: Any = importlib.import_module(name)
        loaded.session, loaded.client = session, client  # type: ignore[attr-defined]
        return module

    yield loaded
    for session in reversed(sessions):
        session.stop()
    for name in names:
        sys.modules.pop(name, None)
