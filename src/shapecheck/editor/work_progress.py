"""The progress of runs, as the client shows it; of short ones nothing."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

_UNNOTICED = 1.0  # seconds that a run may take before anybody wants to know


class WorkProgress:
    """Shows the progress of one run after the other."""

    def __init__(self, server: LanguageServer, title: str) -> None:
        self._server, self._title = server, title
        self._timer: asyncio.TimerHandle | None = None
        self._token: str | None = None
        self._begun = False
        self._label = ""

    def step(self, label: str | None, done: int, total: int) -> None:
        """Tell how far a run is; None for `label` is its end."""
        if label is None:
            self._end()
            return
        self._label = label
        if self._timer is None and self._token is None:
            self._timer = asyncio.get_running_loop().call_later(_UNNOTICED, self._create)
        elif self._begun and self._token is not None:
            percentage = min(100 * done // total, 100) if total else None
            report = types.WorkDoneProgressReport(message=label, percentage=percentage)
            self._server.work_done_progress.report(self._token, report)

    def _create(self) -> None:
        self._timer = None
        window = self._server.client_capabilities.window
        if window is not None and window.work_done_progress:
            self._token = token = str(uuid.uuid4())
            self._server.work_done_progress.create(token, lambda *_: self._begin(token))

    def _begin(self, token: str) -> None:
        if token == self._token:  # else the run is over already
            begin = types.WorkDoneProgressBegin(title=self._title, message=self._label, percentage=0)
            self._server.work_done_progress.begin(token, begin)
            self._begun = True

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._begun and self._token is not None:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())
        self._timer = self._token = None
        self._begun = False
