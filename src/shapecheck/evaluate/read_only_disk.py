"""What of the user's code is run to be checked changes no file: disks look read-only to it.

Tests and scripts may write in temporary folders, since their authors run them too. What is imported, or runs with
arguments that are made up, may change only what it has made itself there: nobody has called `clear(folder)` so before.
The latter, and what is there to be read, reaches no other process and no other machine. Python's own files of compiled
modules may be written by whatever imports.

What Python opens, makes, moves or removes is caught, by an audit hook (PEP 578), and by monkeypatches where that hears
nothing or too little. Processes that an import starts, to ask git for a version, or a compiler, can write where the
import may, if Linux has Landlock. It also confines a worker as a whole, for libraries written in C write by themselves,
and threads after the body: to temporary folders, unless the user is in one. Elsewhere neither is caught.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import sys
import tempfile
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NoReturn

from shapecheck.evaluate.landlock import call_confined, confine
from shapecheck.evaluate.limits import ReadOnlyError

_TEMPORARY = tempfile.gettempdir()
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NO_FOLDER = 99  # beyond all arguments
# Which arguments of an event name what is changed, and the folder from which a relative name counts: a descriptor,
# which the events of some versions lack. What a hard link is made to is changed through that.
_CHANGED = {
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.removexattr": ((0, _NO_FOLDER),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.setxattr": ((0, _NO_FOLDER),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, _NO_FOLDER),),
    "os.utime": ((0, 3),),
    "shutil.rmtree": ((0, 1),),
}
_FOLLOWING = frozenset(  # what is changed is what a name links to, else the entry itself
    {"os.chmod", "os.chown", "os.removexattr", "os.setxattr", "os.truncate", "os.utime"}
)
_BY_DESCRIPTOR = frozenset({"os.chmod", "os.chown", "os.removexattr", "os.setxattr", "os.utime"})  # of a file only read
_MAKING = frozenset({("os.mkdir", 0), ("os.link", 1), ("os.symlink", 1), ("os.rename", 1)})
_COMPILED = "__pycache__"
_COMPILED_FILE = re.compile(r"\.(?:pyc|nbi|nbc)\b")  # Python's, and Numba's
# Events by which code reaches other processes, and other machines.
_REACHING = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.kill", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"}
    | {"socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto", "subprocess.Popen"}
    | {"socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname"}
)


@dataclass(frozen=True)
class Refusal:
    """What code would have changed: the full path that it named, and where that leads."""

    name: str
    real: str


@dataclass(frozen=True)
class WriteLimits:
    """What the body of a guard may change: the folders of `scratch`, and `temporary` ones outside of the `project`.

    Those who may not, having `made_only`, can still make something there, and change that. Who is `alone` starts no
    process, and opens no connection.
    """

    scratch: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    alone: bool = False
    made_only: bool = False
    made: set[str] = field(default_factory=set)
    refused: list[Refusal] = field(default_factory=list)

    def refuse(self, reason: str, name: str, real: str) -> NoReturn:
        """Raise ReadOnlyError for a file or folder, and note it."""
        self.refused.append(Refusal(os.path.abspath(name), real.rstrip(os.sep)))
        raise ReadOnlyError(errno.EROFS, reason, name)


class _Guard:
    """One for the process: an audit hook stays for good."""

    def __init__(self) -> None:
        self.installed = False
        self.limits: WriteLimits | None = None
        self.temporary = ""
        self.process = os.getpid()

    def install(self) -> None:
        """Hear of what is done from now on."""
        sys.addaudithook(self.audit)
        self.installed = True
        for name in ("mkfifo", "mknod"):
            self._replace(os, name, self._guard_new_files)
        self._replace(os, "open", self._guard_open)
        self._replace(os, "mkdir", self._pass_over_folders)
        for owner, name in (
            *((os, name) for name in ("posix_spawn", "posix_spawnp", "system")),
            (sys.modules.get("_posixsubprocess"), "fork_exec"),
            (sys.modules.get("subprocess"), "_fork_exec"),  # which has taken it from there
        ):
            self._replace(owner, name, self._confine_processes)

    @staticmethod
    def _replace(owner: ModuleType | None, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace one function of Python by a monkeypatch, where it has that."""
        before = getattr(owner, name, None)
        if owner is not None and before is not None:
            after = functools.wraps(before)(wrap(before))
            after.__module__ = owner.__name__  # where `pickle` finds it
            setattr(owner, name, after)
            for names in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
                if before in names:
                    names.add(after)

    def _guard_new_files(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """Make pipes and devices where other files may be made."""

        def make(path: object, *args: object, dir_fd: int | None = None, **kwargs: object) -> object:
            if self.limits is not None:
                self._require_writable(self.limits, _in_folder(path, dir_fd), makes=True, follow=False)
            return before(path, *args, dir_fd=dir_fd, **kwargs)

        return make

    def _pass_over_folders(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """Make no folder outside of the project and of temporary ones, such as for a cache, and say nothing of it.

        Who makes one mostly goes on: what is written into it is refused then.
        """

        def make(path: object, *args: object, dir_fd: int | None = None, **kwargs: object) -> object:
            limits = self.limits
            if limits is not None and not _exists(path) and self._is_elsewhere(limits, _in_folder(path, dir_fd)):
                return None
            return before(path, *args, dir_fd=dir_fd, **kwargs)

        return make

    def _is_elsewhere(self, limits: WriteLimits, path: object) -> bool:
        """Whether a path leads out of the project, and out of the folders in which things may be made."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        real = os.path.join(os.path.realpath(os.fsdecode(path)), "")
        return not real.startswith((self.temporary, *limits.scratch, *limits.made, *limits.project))

    def _guard_open(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """Open what is below a descriptor by its full name, so that the hook hears of it."""

        def open_below(path: object, flags: int, *args: object, dir_fd: int | None = None, **kwargs: object) -> object:
            if dir_fd is not None and self.limits is not None:
                self.audit("open", (_in_folder(path, dir_fd), None, flags))
                if isinstance(path, (str, bytes, os.PathLike)) and flags & _WRITING:
                    # The hook would take the name for one in the working directory.
                    return before(_in_folder(path, dir_fd), flags, *args, **kwargs)
            return before(path, flags, *args, dir_fd=dir_fd, **kwargs)

        return open_below

    def _confine_processes(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """Start processes that can write only where the body may, or none where that is `alone`."""

        def start(*args: object, **kwargs: object) -> object:
            limits = self.limits
            if limits is None:
                return before(*args, **kwargs)
            if limits.alone:
                self.audit("subprocess.Popen", ())
            return call_confined(functools.partial(before, *args, **kwargs), self.folders(limits))

        return start

    def folders(self, limits: WriteLimits) -> list[str]:
        """Where processes can write: in temporary folders only if the project is not in one."""
        is_apart = not any(each.startswith(self.temporary) for each in limits.project)
        return [*limits.scratch, *([self.temporary] if is_apart else [])]

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Raise ReadOnlyError for what would change a file."""
        limits = self.limits
        if limits is None:
            return
        if limits.alone and event in _REACHING:
            raise ReadOnlyError(errno.EPERM, "What is only shown or made up reaches no other process or machine", event)
        if not (event in ("open", "os.exec", "sqlite3.connect") or event in _CHANGED):
            return
        if event == "os.exec" and os.getpid() != self.process:
            confine(self.folders(limits))
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and not _is_compiled(path) and not _is_folder(path):
                self._require_writable(limits, path, makes=bool(flags & os.O_CREAT), follow=True)
        elif event == "sqlite3.connect":
            self._require_writable(limits, _written_database(arguments[0]), makes=True, follow=True)
        elif event in _CHANGED:
            for index, folder in _CHANGED[event]:
                path = _in_folder(arguments[index], *arguments[folder : folder + 1])
                if isinstance(path, int) and event in _BY_DESCRIPTOR:
                    path = _in_folder("", path)
                makes, follow = (event, index) in _MAKING, event in _FOLLOWING
                if event != "shutil.rmtree" and _is_compiled(path):
                    continue
                if event == "os.mkdir" and _exists(path):  # fails by itself, as `os.makedirs(exist_ok=True)` expects
                    continue
                self._require_writable(limits, path, makes=makes, follow=follow)

    def _require_writable(self, limits: WriteLimits, path: object, *, makes: bool, follow: bool) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):  # a descriptor, which was opened before
            return
        name = os.fsdecode(path)
        if name in ("", ":memory:"):
            return
        folder, last = os.path.split(os.path.abspath(name))
        real = os.path.realpath(name) if follow else os.path.join(os.path.realpath(folder), last)
        real = os.path.join(real, "")  # a folder is inside of itself
        if real.startswith((*limits.scratch, *limits.made)):
            return
        if not real.startswith(self.temporary) or real.startswith(limits.project):
            limits.refuse("What is checked writes in temporary folders only", name, real)
        if limits.made_only:
            if not makes or os.path.lexists(name):
                limits.refuse("What is checked changes only what it has made itself", name, real)
            limits.made.add(real)


_GUARD = _Guard()


def _is_compiled(path: object) -> bool:
    """Whether a path is that of a compiled module, or of the folder that these are in."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    folder, last = os.path.split(os.fsdecode(path))
    return last == _COMPILED or (os.path.basename(folder) == _COMPILED and bool(_COMPILED_FILE.search(last)))


def _exists(path: object) -> bool:
    return isinstance(path, (str, bytes, os.PathLike)) and os.path.lexists(path)


def _is_folder(path: object) -> bool:
    """Whether a folder is opened: nothing is written to it but a file without a name, `tempfile.TemporaryFile`'s."""
    return isinstance(path, (str, bytes, os.PathLike)) and os.path.isdir(path)


def _written_database(name: object) -> object:
    """The path of a database that SQLite may write to, "" for none: what is connected to may be a URI.

    Sources:
        https://www.sqlite.org/uri.html
    """
    if not isinstance(name, (str, bytes, os.PathLike)) or not os.fsdecode(name).startswith("file:"):
        return name
    uri = urllib.parse.urlsplit(os.fsdecode(name))
    options = dict(urllib.parse.parse_qsl(uri.query))
    if options.get("mode") in ("ro", "memory") or options.get("immutable", "0").lower() not in (
        "0",
        "no",
        "false",
        "off",
    ):
        return ""
    path = urllib.parse.unquote(uri.path)
    return path if path.strip(":") != "memory" else ""


def _in_folder(path: object, descriptor: object = None) -> object:
    """A path with the folder that a descriptor stands for in front; as it is if there is none, or nobody knows it."""
    if not isinstance(descriptor, int) or descriptor < 0 or not isinstance(path, (str, bytes, os.PathLike)):
        return path
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{descriptor}"), os.fsdecode(path)).rstrip(os.sep)
    except OSError:  # not on Linux
        return path


def confine_worker() -> bool:
    """Let this process, and all threads and processes that it starts from now on, write in temporary folders only.

    False where that cannot be: without Landlock, or if the working directory is in a temporary folder itself.
    """
    temporary = _inside(_TEMPORARY)
    return not _inside(os.getcwd()).startswith(temporary) and confine([temporary, "/dev"])


def install_guard() -> None:
    """Put hook and monkeypatches in their places, which nothing changes until something is `read_only`."""
    if not _GUARD.installed:
        _GUARD.install()


@contextlib.contextmanager
def read_only(
    scratch: str,
    project: Iterable[str],
    *,
    alone: bool = False,
    made_only: bool = False,
    made: set[str] | None = None,
) -> Iterator[WriteLimits]:
    """Refuse to change files outside of temporary folders: raises ReadOnlyError, an OSError, inside the body.

    `scratch` can be written to; the folders of `project` cannot, even if they are temporary ones. What is `alone`
    starts no process and opens no connection either. If it has `made_only`, it can change nothing in temporary folders
    that was there before; `made` keeps what it has made from one guard to the next. One guard inside of another takes
    its place, but for what that lets be written to.
    """
    install_guard()
    before = _GUARD.limits, _GUARD.temporary
    _GUARD.temporary = _inside(_TEMPORARY)
    _GUARD.limits = limits = WriteLimits(
        scratch=(_inside(scratch), *(before[0].scratch if before[0] is not None else (_inside("/dev"),))),
        project=_all_inside(tuple(project)),
        alone=alone,
        made_only=made_only,
        made=made if made is not None else before[0].made if before[0] is not None else set(),
    )
    try:
        yield limits
    finally:
        _GUARD.limits, _GUARD.temporary = before


@contextlib.contextmanager
def writable() -> Iterator[None]:
    """Lift the guard, for what the checker itself writes."""
    before, _GUARD.limits = _GUARD.limits, None
    try:
        yield
    finally:
        _GUARD.limits = before


@functools.lru_cache(8)  # asked before each request about the same folders, of which a workspace has hundreds
def _all_inside(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_inside, folders))


def _inside(folder: str) -> str:
    return os.path.join(os.path.realpath(folder), "")
