"""Import statements that failed: the file is imported again, with stand-ins in the place of what they would import.

So it is with a module that fails when it is first used, with what an installed package no longer has
(`eqx.experimental.BatchNorm`), and with the version of a project that is not installed itself. Only statements and
attributes of the checked files whose failure ended an import are replaced, and nothing in `sys.modules`: a package
that is looked for in a `try` is as absent as before, so that the code goes the way that it has without it.

A statement of a module's body that asks more of a stand-in than that can give, as `register(torch.Tensor)` does, is
left out, and stand-ins are what it would have bound.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path
from types import ModuleType

from shapecheck.evaluate.own_errors import raise_own
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.renamed_names import find_renamed, uses_of_renamed
from shapecheck.evaluate.probes.replaced_statements import (
    ATTRIBUTE,
    IMPORTER,
    STATEMENT,
    ImportedName,
    WithoutAttributes,
    WithoutImports,
    WithoutStatements,
    first_line,
    imports_of,
)
from shapecheck.evaluate.probes.stand_ins import AbsentPackageError, StandIn, named_stand_in
from shapecheck.worker.messages.entry_messages import AbsentImport

_OWN_CAUSE = "partially initialized module"  # circular imports: the order of imports is to blame


_WORD = re.compile(r"[^\W\d]\w*")
_MOST_UNINSTALLED = 16  # projects whose version is asked for: a name that is another one each time has no end
_FLAG = re.compile(r"flag '([^']+)' is defined twice")
_IS_PLAIN = re.compile(r"has no attribute")


class FailedImports:
    """The import statements of checked files that have failed. `is_importing` tells when stand-ins give way."""

    def __init__(self, is_importing: Callable[[], bool]) -> None:
        self._is_importing = is_importing
        self._lines: dict[str, set[int]] = {}  # by file
        self._useless: dict[str, dict[tuple[int, str], str]] = {}  # why what was imported there fails when it is used
        self._found: dict[str, dict[tuple[int, str], AbsentImport]] = {}
        self._gone: dict[str, set[tuple[str, str]]] = {}  # by file: expressions for packages, and what these lack
        self._uses: dict[str, dict[tuple[str, str], int]] = {}  # the same, where the name may have been changed
        self._uninstalled: set[str] = set()
        self._forgotten: set[tuple[str, str]] = set()  # files, and flags of theirs that others had defined
        self._left_out: dict[str, dict[int, str]] = {}  # by file: statements, and the stand-ins that they need

    def concern(self, file: str) -> bool:
        """Whether some statements or attributes of a file (resolved) are replaced."""
        return file in self._lines or file in self._gone or file in self._left_out

    def admit(self, error: Exception, is_own: Callable[[str], bool]) -> bool:
        """Whether another import can do without what a statement of one of the project's own files did not find."""
        frames = [(_real_path(f.f_code.co_filename), line) for f, line in traceback.walk_tb(error.__traceback__)]
        own = [(file, line) for file, line in frames if is_own(file)]
        if not own or isinstance(error, MemoryError) or _OWN_CAUSE in str(error):
            return False
        file, line = own[-1]
        if isinstance(error, importlib.metadata.PackageNotFoundError):
            is_new = error.name not in self._uninstalled and len(self._uninstalled) < _MOST_UNINSTALLED
            self._uninstalled.add(error.name)
            return is_new
        if type(error).__name__ == "DuplicateFlagError":
            return self._forget_flag(file, str(error))
        if isinstance(error, AttributeError) and _is_of_package(error, is_own, frames.index(own[-1])):
            return self._note_gone(file, line, str(error))
        statements = {each.lineno: each for each in _import_statements(file)}
        if line not in statements and _is_importing(error, frames.index(own[-1])):
            # A class uses all that its methods name: what failed stands on the line of the error, in most cases.
            used = (_names_on(file, line, line), _names_on(file, line, None))
            return any(self._replace_useless(error, file, statements.values(), names) for names in used)
        if line not in statements and (absent := _needed_stand_in(error)):
            # None where it is a hook of a conftest file that needs it: pytest calls that, and no import.
            bodies = [(f, n) for f, n, name in _named_frames(error) if name == "<module>" and is_own(f)]
            return bool(bodies) and self._leave_out(*bodies[-1], absent)
        if line not in statements or line in self._lines.get(file, ()):
            return False
        found = {line}
        if isinstance(error, ModuleNotFoundError):  # others that are as absent, before they are tried one by one
            found |= {number for number, each in statements.items() if _is_absent(each)}
        self._lines.setdefault(file, set()).update(found)
        return True

    def _forget_flag(self, file: str, message: str) -> bool:
        """Forget the command-line option that two files define, each for a program of its own: whether that is new."""
        name, flags = _FLAG.search(message), sys.modules.get("absl.flags")
        if name is None or flags is None or (file, name[1]) in self._forgotten:
            return False
        self._forgotten.add((file, name[1]))
        delattr(flags.FLAGS, name[1])
        return True

    def _leave_out(self, file: str, line: int, absent: str) -> bool:
        """Leave out the statement of a module's body that a line belongs to: whether that is new."""
        for node in _statements(file):
            if first_line(node) <= line <= (node.end_lineno or node.lineno):
                known = self._left_out.setdefault(file, {})
                is_new = first_line(node) not in known
                known.setdefault(first_line(node), absent)
                # What is registered alike for something of the same package fails alike: each try runs the whole file.
                uses = {(function, top) for function, top, _ in _registrations(node)}
                for other in _statements(file) if is_new else ():
                    for function, top, whole in _registrations(other):
                        if (function, top) in uses and top == absent.partition(".")[0]:
                            known.setdefault(first_line(other), whole)
                return is_new
        return False

    def _note_gone(self, file: str, line: int, message: str) -> bool:
        """Replace an attribute that a package lacks, as it says, wherever a file takes it: whether that is new."""
        words = set(_WORD.findall(message))
        found = {
            (ast.unparse(node.value), node.attr)
            for statement in _statements(file)
            if statement.lineno <= line <= (statement.end_lineno or statement.lineno)
            for node in ast.walk(statement)
            if isinstance(node, ast.Attribute)
            and node.attr in words
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        }
        known = self._gone.setdefault(file, set())
        is_new = bool(found - known)
        known |= found
        return is_new

    def _replace_useless(
        self,
        error: Exception,
        file: str,
        statements: Iterable[ast.Import | ast.ImportFrom],
        names: Set[str],
    ) -> bool:
        """Replace those imports that bind some of these names: whether there were any that still stood."""
        useless = self._useless.setdefault(file, {})
        found = {
            (statement.lineno, each.whole): _why(error, each.whole)
            for statement in statements
            for each in imports_of(statement)
            if each.bound in names and (statement.lineno, each.whole) not in useless
        }
        useless.update(found)
        self._lines.setdefault(file, set()).update(line for line, _ in found)
        return bool(found)

    def find_distributions(self, name: str | None) -> Iterator[importlib.metadata.Distribution]:
        """A distribution for a project that asks for its own, and is not installed."""
        if name in self._uninstalled:
            yield _UninstalledProject(name)

    def lines_in(self, file: str) -> Set[int]:
        """Where the statements of a file stand that are replaced."""
        return frozenset(self._lines.get(os.path.realpath(file), ()))

    def replaced_in(self, file: str) -> tuple[object, ...]:
        """What of a file is replaced, to be compared with what was at another time."""
        file = os.path.realpath(file)
        return self.lines_in(file), frozenset(self._gone.get(file, ())), frozenset(self._left_out.get(file, ()))

    def replace_in(self, tree: ast.Module, file: str) -> ast.Module:
        """The tree of a file with the statements that failed replaced."""
        lines = self.lines_in(file)
        self._note_renamed(tree, os.path.realpath(file))
        gone = self._gone.get(os.path.realpath(file), set())
        tree = WithoutImports(lines).replace(tree) if lines else tree
        left_out = self._left_out.get(os.path.realpath(file), {})
        tree = WithoutStatements(left_out.keys()).replace(tree) if left_out else tree
        return WithoutAttributes(gone).replace(tree) if gone else tree

    def _note_renamed(self, tree: ast.Module, file: str) -> None:
        """Look at each attribute that may be of a package that has renamed it: functions take it when they run."""
        uses = {(ast.unparse(node.value), node.attr): node.lineno for node in uses_of_renamed(tree)}
        if uses:
            self._uses[file] = uses
            self._gone.setdefault(file, set()).update(uses)

    def serve(self, module: ModuleType, file: str) -> None:
        """Give a module what its replaced statements call; whether it has some, nobody knows before it is read."""
        file = os.path.realpath(file)
        self._found[file] = {}

        def bind(line: int, name: str, part: str, is_alias: bool) -> object:
            return self._bind(module, file, line, ImportedName(name=name, part=part, is_alias=is_alias))

        def attribute(line: int, package: object, name: str) -> object:
            return self._attribute(file, line, package, name)

        def stand_in(line: int, name: str) -> object:
            absent = self._left_out.get(file, {}).get(line, name)
            return StandIn(name, f"needs {absent}, of a package that is not there", self._is_importing)

        vars(module)[IMPORTER] = bind
        vars(module)[STATEMENT] = stand_in
        vars(module)[ATTRIBUTE] = attribute

    def files(self) -> Iterator[str]:
        """The files (resolved) that did not find all that they import."""
        return (file for file, found in sorted(self._found.items()) if found)

    def absent_from(self, file: str, module: ModuleType | None = None) -> tuple[AbsentImport, ...]:
        """What the statements of a file did not find, when it was imported without.

        And the names that its functions use which are others today, as far as they lead from the `module`'s own.
        """
        found = dict(self._found.get(file, {}))
        for (text, attribute), line in self._uses.get(file, {}).items():
            package = _module_called(text, module) if module is not None else None
            renamed = find_renamed(f"{package.__name__}.{attribute}") if package is not None else None
            if package is not None and renamed is not None and not hasattr(package, attribute):
                absent = _renamed_import(line, package.__name__, attribute, renamed[0])
                found.setdefault((line, absent.name), absent)
        return tuple(found.values())

    def _bind(self, module: ModuleType, file: str, line: int, wanted: ImportedName) -> object:
        """What a replaced statement binds: that which it names, where it is there, and else a stand-in."""
        name, part, whole = wanted.name, wanted.part, wanted.whole
        why = self._useless.get(file, {}).get((line, whole))
        if why is not None:
            self._found[file][line, whole] = AbsentImport(line=line, name=whole, why=why)
            return StandIn(whole.lstrip("."), why, self._is_importing)
        try:
            return _import_part(wanted, module.__spec__.parent if module.__spec__ is not None else None)
        except Exception as error:
            raise_own(error)
            renamed = find_renamed(whole) if part or wanted.is_alias else None
            if renamed is not None:
                package, _, attribute = whole.rpartition(".")
                self._found[file][line, whole] = _renamed_import(line, package, attribute, renamed[0])
                return renamed[1]
            why = _why(error, whole)
            top = whole.lstrip(".") if name.startswith(".") else whole.partition(".")[0]
            named = top if isinstance(error, ModuleNotFoundError) and error.name == top else whole
            self._found[file][line, named] = AbsentImport(line=line, name=named, why=why)
            bound = whole if part or wanted.is_alias else top
            if bound != whole and (alone := _package_alone(top)) is not None:
                return alone
            return StandIn(bound.lstrip("."), why, self._is_importing)

    def _attribute(self, file: str, line: int, package: object, name: str) -> object:
        """What a package has by a name, a stand-in if it does not have it."""
        try:
            return getattr(package, name)
        except AttributeError as error:
            if not isinstance(package, ModuleType):
                raise
            said = str(error)
        whole, why = f"{package.__name__}.{name}", f"is not in this version of {package.__name__.partition('.')[0]}"
        renamed = find_renamed(whole)
        if renamed is not None:
            self._found[file].setdefault((line, whole), _renamed_import(line, package.__name__, name, renamed[0]))
            return renamed[1]
        if not _IS_PLAIN.search(said) and said:  # JAX tells what to write in its place
            why = f"{why} ({said.splitlines()[0].rstrip('.')})"
        self._found[file].setdefault((line, whole), AbsentImport(line=line, name=whole, why=why))
        return StandIn(whole, why, self._is_importing)


class _UninstalledProject(importlib.metadata.Distribution):
    """Nothing is known of it but its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """The metadata."""
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: 0.0.0\n" if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        """Where a file of it would be."""
        return Path(path)


def _real_path(file: str) -> str:
    """The real path of a file; importlib's own frames are of none, and are not in the current folder."""
    return file if file.startswith("<") else os.path.realpath(file)


def _named_frames(error: Exception) -> Iterator[tuple[str, int, str]]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield _real_path(frame.f_code.co_filename), line, frame.f_code.co_name


def _needed_stand_in(error: Exception) -> str:
    """The stand-in of which an error says that something needs it, or that something else was expected; else ""."""
    if isinstance(error, AbsentPackageError):
        return str(error).removeprefix("it needs ").partition(",")[0]
    return named_stand_in(str(error))


def _is_importing(error: Exception, place: int) -> bool:
    """Whether a module was being imported behind one place of a traceback."""
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    return "<module>" in names[place + 1 :]


def _is_of_package(error: AttributeError, is_own: Callable[[str], bool], place: int) -> bool:
    """Whether what lacks an attribute is an installed package: a module, or a function of it that is asked for names.

    The place is that of the last frame of the user's own in the traceback.
    """
    later = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)][place + 1 :]
    if not later:
        return isinstance(error.obj, ModuleType) and not is_own(_real_path(getattr(error.obj, "__file__", None) or "<"))
    return all(name in ("__getattr__", "getattr") for name in later)


def _names_on(file: str, line: int, only: int | None) -> frozenset[str]:
    """The names that the statement of a module's body on a line uses, or those of one line of it `only`."""
    for node in _statements(file):
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            return frozenset(each.id for each in names if only in (None, each.lineno))
    return frozenset()


def _registrations(node: ast.stmt) -> Iterator[tuple[str, str, str]]:
    """What a decorator of a statement is called with: `@register(torch.nn.Linear)` has `register` and that name.

    The decorator, the package, and the name as a whole.
    """
    for each in getattr(node, "decorator_list", ()):
        if isinstance(each, ast.Call) and each.args and isinstance(each.args[0], ast.Attribute | ast.Name):
            whole = ast.unparse(each.args[0])
            yield ast.unparse(each.func), whole.partition(".")[0], whole


def _renamed_import(line: int, package: str, attribute: str, instead: str) -> AbsentImport:
    why = f"is not in this version of {package.partition('.')[0]}"
    return AbsentImport(line=line, name=f"{package}.{attribute}", why=why, instead=instead)


def _module_called(text: str, module: ModuleType) -> ModuleType | None:
    """The module that a dotted name leads to from a module's own variables, if it does."""
    found: object = module
    for part in text.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType) else None
    return found if isinstance(found, ModuleType) else None


def _import_part(wanted: ImportedName, package: str | None) -> object:
    name, part = wanted.name, wanted.part
    found = importlib.import_module(name, package)
    if not part:
        return found if wanted.is_alias else importlib.import_module(name.partition(".")[0])
    if hasattr(found, part):
        return getattr(found, part)
    return importlib.import_module(f"{name}.{part}" if name.strip(".") else f"{name}{part}", package)


def _package_alone(top: str) -> object:
    """The package that `import package.part` binds, where it has no such part; None if it cannot be imported."""
    try:
        return importlib.import_module(top)
    except Exception as error:
        raise_own(error)
        return None


def _why(error: Exception, whole: str) -> str:
    """Why the import of a dotted name failed, or its use: what is missing may be what an installed package needs."""
    if not isinstance(error, ModuleNotFoundError):
        said = (str(error).splitlines() or [""])[0]
        return f"cannot be imported ({type(error).__name__}{f': {said}' if said else ''})"
    missing = error.name or whole
    top = missing.partition(".")[0]
    why = f"is not in this version of {top}" if missing != top and _is_there(top) else "is not installed"
    is_itself = whole.startswith(".") or f"{whole}.".startswith(f"{missing}.")
    return why if is_itself else f"needs {missing}, which {why}"


def _import_statements(file: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """The statements of a file that import names one by one, but for those that a `try` or a function is around."""
    todo = _statements(file)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.If | ast.With | ast.For | ast.While):
            todo += [*node.body, *([] if isinstance(node, ast.With) else node.orelse)]
        elif isinstance(node, ast.ImportFrom):
            if all(alias.name != "*" for alias in node.names):
                yield node
        elif isinstance(node, ast.Import):
            yield node


def _statements(file: str) -> list[ast.stmt]:
    try:
        with open(file, "rb") as source:
            return parse_python(source.read()).body
    except (OSError, SyntaxError, ValueError):
        return []


def _is_absent(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether there is no package of the name that a statement begins with."""
    if isinstance(node, ast.ImportFrom):
        return not node.level and node.module is not None and not _is_there(node.module)
    return any(not _is_there(alias.name) for alias in node.names)


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return True
