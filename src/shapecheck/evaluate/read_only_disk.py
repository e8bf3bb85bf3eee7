"""The user's tests and scripts write in temporary folders only: elsewhere, disks look read-only to them.

What runs with arguments that are made up, or is there to be read, reaches no other process and no other machine.

What Python opens, makes, moves or removes is caught, by an audit hook (PEP 578). What a library written in C does by
itself is not.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator

from shapecheck.evaluate.limits import ReadOnlyError

_TEMPORARY = tempfile.gettempdir()
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Which arguments of an event name what is changed: the entry itself, whatever it may link to.
_CHANGED = {
    "os.link": (1,),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "shutil.rmtree": (0,),  # beneath it, what is removed is named by descriptors
}
# Events by which code reaches other processes, and other machines.
_REACHING = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"}
    | {"socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto", "subprocess.Popen"}
    | {"socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname"}
)


class _Guard:
    """One for the process: an audit hook stays for good."""

    def __init__(self) -> None:
        self.installed = False
        self.active = False
        self.alone = False
        self.scratch: tuple[str, ...] = ()
        self.project: tuple[str, ...] = ()
        self.temporary = ""

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Raise ReadOnlyError for what would change a file."""
        if not self.active:
            return
        if self.alone and event in _REACHING:
            raise ReadOnlyError(errno.EPERM, "What is only shown or made up reaches no other process or machine", event)
        if not (event == "open" or event in _CHANGED):
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING:
                self._require_writable(path, follow=True)
        else:
            for index in _CHANGED[event]:
                self._require_writable(arguments[index], follow=False)

    def _require_writable(self, path: object, *, follow: bool) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):  # a descriptor, which was opened before
            return
        name = os.fsdecode(path)
        folder, last = os.path.split(os.path.abspath(name))
        real = os.path.realpath(name) if follow else os.path.join(os.path.realpath(folder), last)
        real = os.path.join(real, "")  # a file without a name is opened by that of its folder (O_TMPFILE)
        if real.startswith(self.scratch) or (real.startswith(self.temporary) and not real.startswith(self.project)):
            return
        raise ReadOnlyError(errno.EROFS, "Tests and scripts write in temporary folders only", name)


_GUARD = _Guard()


@contextlib.contextmanager
def read_only(scratch: str, project: Iterable[str], *, alone: bool = False) -> Iterator[None]:
    """Refuse to change files outside of temporary folders: raises ReadOnlyError, an OSError, inside the body.

    `scratch` can be written to; the folders of `project` cannot, even if they are temporary ones. What is `alone`
    starts no process and opens no connection either.
    """
    if not _GUARD.installed:
        sys.addaudithook(_GUARD.audit)
        _GUARD.installed = True
    _GUARD.scratch = (_inside(scratch), _inside("/dev"))
    _GUARD.temporary = _inside(_TEMPORARY)
    _GUARD.project = tuple(map(_inside, project))
    _GUARD.active, _GUARD.alone = True, alone
    try:
        yield
    finally:
        _GUARD.active = _GUARD.alone = False


def _inside(folder: str) -> str:
    return os.path.join(os.path.realpath(folder), "")
