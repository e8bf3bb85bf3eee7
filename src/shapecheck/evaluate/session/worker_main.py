"""The worker's loop: take the plans, then import, list and evaluate as asked, one answer a line."""

from __future__ import annotations

import os
import queue
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from shapecheck.evaluate.limits import TimeLimitError, time_limit
from shapecheck.evaluate.session.standard_streams import keep_pipes
from shapecheck.worker.rpc import dump, load


def main() -> None:
    """Serve the parent until it closes the pipe."""
    replies, commands = keep_pipes()
    inbox: queue.Queue[Any] = queue.Queue()
    threading.Thread(target=_listen, args=(commands, inbox), daemon=True).start()
    plan = inbox.get()

    def send(message: Mapping[str, Any]) -> None:
        replies.write(dump(message).encode() + b"\n")
        replies.flush()

    def serve(end: str = "") -> None:
        """Answer commands, until the one that is named `end`."""
        while (command := inbox.get())["op"] != end:
            try:
                send({"result": _answer(session, command)})
            except Exception:
                end_with_bug()

    def end_with_bug() -> None:
        send({"event": "bug", "text": _traceback(), "ends": True})  # the parent shows it, and starts another worker
        os._exit(1)

    try:
        _limit_memory(plan["settings"].get("memory", 0))
        session = _start(plan, send, serve)
        if session is None:
            return
        send({"event": "hello", **session.versions()})
    except Exception:
        end_with_bug()
    serve()


def _answer(session: Any, command: dict[str, Any]) -> Any:
    """The answer to a command; does not return if user code has broken what we stand on."""
    before = session.damage.values()
    try:
        answer = _serve(session, command)
    finally:
        session.damage.verify(before)
    return answer


def _traceback() -> str:
    try:
        return traceback.format_exc()
    except Exception as error:  # no memory for it, say
        return f"{type(error).__name__} while the traceback was written\n"


def _serve(session: Any, command: dict[str, Any]) -> Any:
    operation = command.pop("op")
    limit = command.pop("limit")
    try:
        with time_limit(limit):
            return getattr(session, operation)(**command)
    except TimeLimitError:
        touched = tuple(sorted(session.recorder.touched))
        return {"error": f"took longer than {limit:g} s (--timeout)", "kind": "timeout", "touched": touched}


def _start(plan: Mapping[str, Any], send: Any, serve: Any) -> Any:
    """Import JAX (through the hook, in case JAX's friends are what is checked) and open the session."""
    try:
        import jax  # noqa: F401
    except ImportError as error:
        send({"event": "refused", "reason": f"JAX cannot be imported there ({error})"})
        return None
    try:
        from jax import export  # noqa: F401
    except ImportError as error:
        # JAX 0.5.0 needs absl for this, and does not say so in its requirements.
        hint = f"jax.export cannot be imported there ({error}); `pip install absl-py` may be what it lacks"
        send({"event": "refused", "reason": hint})
        return None
    from shapecheck.evaluate.session.worker_session import TooOldError, WorkerSession

    try:
        return WorkerSession(plan["plans"], plan["settings"], plan["culprits"], send, serve)
    except TooOldError as error:
        send({"event": "refused", "reason": str(error)})
        return None


def _listen(commands: BinaryIO, inbox: queue.Queue[Any]) -> None:
    for message in _messages(commands):
        inbox.put(message)
    # The parent is gone: nobody wants an answer, whatever the user's code is doing.
    os._exit(0)


def _messages(commands: BinaryIO) -> Iterator[Any]:
    for line in commands:
        try:
            yield load(line)
        except ValueError:
            traceback.print_exc()


def _limit_memory(gibibytes: float) -> None:
    """Make an allocation beyond the limit fail inside the worker, instead of the machine."""
    if not gibibytes or sys.platform == "win32":
        return
    import resource

    limit = int(gibibytes * 2**30)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
