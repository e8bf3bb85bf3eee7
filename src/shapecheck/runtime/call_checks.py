"""Each call held against its claims while the program runs: once for each combination of shapes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Final

from shapecheck.evaluate.probes.recorder import Listener, OpenCall
from shapecheck.model import Call, Evaluation, Observation, Site
from shapecheck.runtime.errors import ShapeMismatch, note
from shapecheck.runtime.judge_client import JudgeClient
from shapecheck.worker.messages.judge_messages import ContradictedClaim

LOGGER: Final = logging.getLogger("shapecheck")
_MOST = 50_000  # combinations of shapes that are remembered

Tap = Callable[[OpenCall, Site, object], object]


class CallChecker(Listener):
    """Judges calls as they go, and raises ShapeMismatch for the first that contradicts a claim, or warns.

    `prompt` has the sites of annotations, by path: what these say holds or not at once, while what comments mean
    depends on all others of their scope. So they are judged at the end of a call, and of each turn of a loop.
    """

    def __init__(self, client: JudgeClient, tap: Tap | None = None, *, shapes: bool = True, warn: bool = False) -> None:
        self.prompt: dict[str, frozenset[int]] = {}
        self._client = client
        self._judged: set[Hashable] = set()
        self._reported: set[str] = set()
        self.do(tap, shapes=shapes, warn=warn)
        self.off = False

    def do(self, tap: Tap | None, *, shapes: bool, warn: bool) -> None:
        """From now on, hold values against their claims if `shapes` says so, and let them through `tap`."""
        self._tap, self._shapes, self._warn = tap, shapes, warn
        self._judged.clear()  # what was reported in one way is reported in another
        self._reported.clear()

    def on_enter(self, opened: OpenCall) -> None:
        """The parameters' annotations can be judged."""
        if self._shapes and opened.observations:
            self._judge(opened, over=False)

    def on_observation(self, opened: OpenCall, site: Site, value: object) -> object:
        """An annotated value can be judged."""
        if self.off:
            return value
        if self._shapes:
            self._turn(opened, site)
            if site.index in self.prompt.get(opened.probe.path, ()):
                self._judge(opened, over=False)
        return value if self._tap is None else self._tap(opened, site, value)

    def on_exit(self, opened: OpenCall) -> None:
        """All can be judged."""
        if self._shapes and opened.observations:
            self._judge(opened, over=True)

    def on_failure(self, opened: OpenCall, error: BaseException) -> None:
        """An error of the program's own stays what it is, and has a note of what may explain it."""
        own = isinstance(error, Exception) and not isinstance(error, ShapeMismatch)
        if self._shapes and opened.observations and own:
            for found in self._new_findings(opened, over=True):
                note(error, found.text)

    def _turn(self, opened: OpenCall, site: Site) -> None:
        """Of a loop, keep the turn that is under way: names may mean another size in each."""
        *earlier, latest = opened.observations
        if all(each.site != site.index for each in earlier):
            return
        sites = opened.probe.sites
        opened.observations[:] = earlier
        self._judge(opened, over=True)
        opened.observations[:] = [o for o in earlier if o.site != site.index and not _inside(sites[o.site], site)]
        opened.observations.append(latest)

    def _judge(self, opened: OpenCall, *, over: bool) -> None:
        for found in self._new_findings(opened, over=over):
            if not self._warn:
                self._judged.clear()  # whoever catches the error may come again
                raise ShapeMismatch(found.text, found.code, found.path, found.line)
            if found.text not in self._reported:
                self._reported.add(found.text)
                LOGGER.warning("%s", found.text)

    def _new_findings(self, opened: OpenCall, *, over: bool) -> tuple[ContradictedClaim, ...]:
        calls: list[OpenCall] = []
        each: OpenCall | None = opened
        while each is not None:
            calls.append(each)
            each = each.outer
        key = (over, tuple((c.probe.path, c.scope, tuple(c.observations)) for c in calls))
        if self.off or key in self._judged:
            return ()
        if len(self._judged) >= _MOST:
            self._judged.clear()
        found = self._client.judge(_evaluation(calls[::-1]), over=over)
        self._judged.add(key)
        return found


def _inside(site: Site, of: Site) -> bool:
    """Whether a site lies in the innermost loop around another."""
    return bool(of.loop) and site.loop[: len(of.loop)] == of.loop


def _evaluation(calls: list[OpenCall]) -> Evaluation:
    first = calls[0]
    found = []
    for opened in calls:
        observations: tuple[Observation, ...] = tuple(opened.observations)
        parent = opened.outer.number if opened.outer is not None else None
        found.append(
            Call(
                path=opened.probe.path,
                scope=opened.scope,
                number=opened.number,
                parent=parent,
                observations=observations,
                caller=opened.caller,
                stage=opened.stage,
            )
        )
    line = first.caller.line if first.caller is not None else 1
    return Evaluation(
        target="the running program",
        origin="run",
        path=first.probe.path,
        line=line,
        mode="sized",
        status="ok",
        reason="",
        calls=tuple(found),
    )
