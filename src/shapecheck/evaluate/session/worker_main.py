"""The worker's loop: take the plans, then import, list and evaluate as asked, one answer a line."""

from __future__ import annotations

import gc
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from shapecheck.evaluate.leftover_processes import MARK, end_leftovers
from shapecheck.evaluate.limits import TimeLimitError, time_limit
from shapecheck.evaluate.session.standard_streams import keep_pipes
from shapecheck.worker.messages.protocol import (
    Answer,
    Bug,
    DamageNotice,
    ForkReadiness,
    Request,
    Send,
    Serve,
    ServeForks,
    StartRefusal,
    Startup,
    TimedOut,
    TimedRequest,
    WorkerMessage,
)
from shapecheck.worker.messages.wire import dump, load

if TYPE_CHECKING:
    from shapecheck.evaluate.session.worker_session import WorkerSession

# Tracing makes many objects and few cycles; with Python's own 700, an eighth of an evaluation looks for these.
_COLLECT_AFTER = 50_000  # objects more than were freed
_OUT_OF_MEMORY = "left no memory to go on with (--memory sets the limit)"


def main(imported: WorkerSession | None = None) -> None:
    """Serve the parent until it closes the pipe; in a fork, with the session whose modules are `imported` already."""
    replies, commands = keep_pipes()
    inbox: queue.Queue[object] = queue.Queue()
    mark = os.environ.get(MARK, "").rpartition(" ")[2]
    threading.Thread(target=_listen, args=(commands, inbox, mark), daemon=True).start()
    opening = inbox.get()

    process, own_process = os.getpid(), os.getpid

    def send(message: WorkerMessage) -> None:
        if own_process() != process:  # the user's code has forked, and the parent talks to one process only
            os._exit(0)
        replies.write(dump(message).encode() + b"\n")
        replies.flush()

    def serve(end: type[Request] | None = None) -> None:
        """Answer calls, until one whose request is of the class `end`."""
        while True:
            call = inbox.get()
            try:
                if not isinstance(call, TimedRequest):
                    raise TypeError(f"the parent sent {call!r}, which is no call")
                if end is not None and isinstance(call.request, end):
                    return
                if isinstance(call.request, ServeForks):
                    safe = session.is_forkable()
                    send(Answer(reply=ForkReadiness(safe=safe)))
                    if safe:
                        _fork_on_request(session, call.request.socket)
                    continue
                send(Answer(reply=_guarded_reply(session, call)))
            except MemoryError:  # the user's code has left none, wherever that shows
                end_with(DamageNotice(reason=_OUT_OF_MEMORY))
            except Exception:
                end_with_bug()

    def end_with_bug() -> None:
        end_with(Bug(text=_traceback(), ends=True))

    def end_with(message: WorkerMessage) -> None:
        try:
            send(message)  # the parent shows it, and starts another worker
        finally:
            os._exit(1)

    try:
        if not isinstance(opening, Startup):
            raise TypeError(f"the parent began with {opening!r}")
        _limit_memory(opening.settings.memory)
        found = _start(opening, send, serve) if imported is None else imported
        if found is imported and imported is not None:
            imported.begin_anew(opening, send, serve)
        if isinstance(found, StartRefusal):
            send(found)
            return
        session = found
        send(session.ready())
        serve()
    except Exception:
        end_with_bug()


def _fork_on_request(session: WorkerSession, path: str) -> None:
    """Be what workers are forked from, until the parent goes away."""
    from shapecheck.evaluate.session.fork_child import serve_forks

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as parent:
        parent.connect(path)
        is_child = serve_forks(parent)
    if is_child:
        main(session)
    os._exit(0)


def _guarded_reply(session: WorkerSession, call: TimedRequest) -> object:
    """The reply to a call; does not return if user code has broken what we stand on."""
    before = session.damage.values()
    try:
        return _reply_to(session, call)
    finally:
        session.damage.verify(before)


def _traceback() -> str:
    try:
        return traceback.format_exc()
    except Exception as error:  # no memory for it, say
        return f"{type(error).__name__} while the traceback was written\n"


def _reply_to(session: WorkerSession, call: TimedRequest) -> object:
    try:
        with time_limit(call.limit):
            return session.answer(call.request)
    except TimeLimitError:
        touched = tuple(sorted(session.recorder.touched))
        return TimedOut(reason=f"took longer than {round(call.limit, 1):g} s (--timeout)", touched=touched)


def _start(opening: Startup, send: Send, serve: Serve) -> WorkerSession | StartRefusal:
    """Import JAX (through the hook, in case JAX's friends are what is checked) and open the session."""
    try:
        import jax  # noqa: F401
    except Exception as error:  # also of versions that do not go together
        return StartRefusal(reason=f"JAX cannot be imported there ({error})")
    try:
        from jax import export  # noqa: F401
    except ImportError as error:
        # JAX 0.5.0 needs absl for this, and does not say so in its requirements.
        hint = f"jax.export cannot be imported there ({error}); `pip install absl-py` may be what it lacks"
        return StartRefusal(reason=hint)
    from shapecheck.evaluate.read_only_disk import confine_worker
    from shapecheck.evaluate.scratch_folders import lasting_folder
    from shapecheck.evaluate.session.worker_session import TooOldError, WorkerSession

    _write_no_bytecode()
    gc.freeze()  # what JAX is made of is here to stay
    gc.set_threshold(_COLLECT_AFTER)
    if opening.confined and confine_worker():
        os.environ.setdefault("NUMBA_CACHE_DIR", lasting_folder())  # else it defines nothing that it is to cache
    try:
        return WorkerSession(opening, send, serve)
    except TooOldError as error:
        return StartRefusal(reason=str(error))


def _write_no_bytecode() -> None:
    """From now on, in this process and in those that the user's code starts: a check leaves no files beside theirs.

    What was imported so far, JAX and our own modules, has its bytecode kept as in any program. Not every installer
    compiles modules, and without bytecode each worker would spend half a second on ours.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _listen(commands: BinaryIO, inbox: queue.Queue[object], mark: str) -> None:
    for message in _messages(commands):
        inbox.put(message)
    # The parent is gone: nobody wants an answer, whatever the user's code is doing.
    try:
        end_leftovers(mark)
    finally:
        os._exit(0)


def _messages(commands: BinaryIO) -> Iterator[object]:
    """What the parent sends; in place of what nobody can read, the error that says so."""
    for line in commands:
        try:
            yield load(line)
        except (ValueError, TypeError) as error:
            yield error


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
