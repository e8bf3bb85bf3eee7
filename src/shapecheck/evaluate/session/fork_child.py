"""A process that has imported JAX and nothing of the user's, from which workers are forked.

Importing JAX takes most of a worker's start. Each forked worker is a process of its own all the same: what the user's
code does in one, to JAX's settings or to the process itself, no other one sees.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import warnings
from collections.abc import Iterator, Sequence

from shapecheck.evaluate.framework_protocol import all_frameworks, module_names

_MESSAGE = 1 << 16  # bytes, more than any path has
_PIPES = 3


PRELOADED = ("beartype", "chex", "einops", "jaxtyping", "optax", *sorted(module_names()))
"""What can be imported before anybody's code runs: libraries whose import does nothing but bind names."""


def fork_workers(number: int, preload: Sequence[str] = ()) -> bool:
    """Fork one at each request on the socket with this `number`, until the other end is closed.

    The modules of `preload` are imported first; those that are not there are passed over. True in each of the workers,
    whose pipes and working directory are then as asked; False in the end.
    """
    from shapecheck.evaluate.jax_internals import has_computed  # noqa: PLC0415
    from shapecheck.evaluate.probes import disable_typecheckers  # noqa: PLC0415
    from shapecheck.evaluate.session import worker_session  # noqa: F401, PLC0415 - and with it JAX, once for all

    for name in preload:
        disable_typecheckers.stand_aside()  # before anything is decorated, as in a worker
        with contextlib.suppress(Exception):  # whoever imports it hears of it then
            importlib.import_module(name)
    all_frameworks()  # what we know of them, so that no worker has to read it
    with socket.socket(fileno=number) as parent:
        parent.set_inheritable(False)
        return serve_forks(parent, ready=not (preload and has_computed()))


def serve_forks(parent: socket.socket, *, ready: bool = True) -> bool:
    """Fork this process at each request of the `parent`; True in each of the children, False in the end."""
    wake, ended = _alarm()
    gc.collect()
    # Else the first full collection in each child looks at all of JAX, and writes to all of its pages: they are copied.
    gc.freeze()
    _send(parent, ready=ready)
    while True:
        waiting, _, _ = select.select([parent.fileno(), ended], [], [])
        if ended in waiting:
            os.read(ended, _MESSAGE)
            for pid, status in _ended_children():
                _send(parent, ended=pid, status=status)
        if parent.fileno() not in waiting:
            continue
        message, pipes, _, _ = socket.recv_fds(parent, _MESSAGE, _PIPES)
        if not message:
            return False
        pid = _fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (wake, ended):
                os.close(descriptor)
            wanted = json.loads(message)
            os.environ.update(wanted["environment"])
            _take_over_pipes(pipes, wanted["cwd"])
            return True
        for pipe in pipes:
            os.close(pipe)
        _send(parent, forked=pid)


def _alarm() -> tuple[int, int]:
    """A pipe, its end to write first, that has something to read when a child has ended."""
    ended, wake = os.pipe()
    for end in (ended, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # else it would not wake anybody
    return wake, ended


def _ended_children() -> Iterator[tuple[int, int]]:
    """The children that have ended since it was asked last, with their exit statuses."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def _fork() -> int:
    with warnings.catch_warnings():
        # numpy has threads, which it ends and starts again around a fork. JAX has none before it computes.
        warnings.simplefilter("ignore")
        pid = os.fork()
    try:
        os.setpgid(pid, pid)  # by both, so that neither can be too early
    except OSError:
        if not pid:
            raise
    return pid


def _take_over_pipes(pipes: Sequence[int], folder: str) -> None:
    """In the child: stdin, stdout and stderr are these pipes."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)
    os.chdir(folder)


def _send(parent: socket.socket, **message: int) -> None:
    try:
        parent.send(json.dumps(message).encode())
    except OSError:
        os._exit(0)  # nobody is there any more
