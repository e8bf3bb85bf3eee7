"""Import statements that failed: the file is imported again, with stand-ins in the place of what they would import.

So it is with a module that fails when it is first used, with what an installed package no longer has
(`eqx.experimental.BatchNorm`), and with the version of a project that is not installed itself. Only statements and
attributes of the checked files whose failure ended an import are replaced, and nothing in `sys.modules`: a package
that is looked for in a `try` is as absent as before, so that the code goes the way that it has without it.

While modules are imported a stand-in gives way: its attributes can be read, it can be called, subscripted, added to and
derived from, as module bodies do with it, and it is false and has nothing in it. Afterwards nothing can be had of it:
whatever needs it ends, and says which package that is. It stands for no value, so nothing that is seen rests on it.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from shapecheck.evaluate.own_errors import RefusalError, raise_own
from shapecheck.evaluate.parse_python import parse_python
from shapecheck.evaluate.probes.renamed_names import find_renamed, uses_of_renamed
from shapecheck.worker.messages.entry_messages import AbsentImport

IMPORTER: Final = "__shapecheck_imports__"
"""The name that replaced statements call."""

ATTRIBUTE: Final = "__shapecheck_attribute__"
"""The name that replaced attributes call."""

_OWN_CAUSE = "partially initialized module"  # circular imports: the order of imports is to blame


_WORD = re.compile(r"[^\W\d]\w*")
_MOST_UNINSTALLED = 16  # projects whose version is asked for: a name that is another one each time has no end
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

    def concern(self, file: str) -> bool:
        """Whether some statements or attributes of a file (resolved) are replaced."""
        return file in self._lines or file in self._gone

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
        if isinstance(error, AttributeError) and _is_of_package(error, is_own, frames.index(own[-1])):
            return self._note_gone(file, line, str(error))
        statements = {each.lineno: each for each in _import_statements(file)}
        if line not in statements and _is_importing(error, frames.index(own[-1])):
            # A class uses all that its methods name: what failed stands on the line of the error, in most cases.
            used = (_names_on(file, line, line), _names_on(file, line, None))
            return any(self._replace_useless(error, file, statements.values(), names) for names in used)
        if line not in statements or line in self._lines.get(file, ()):
            return False
        found = {line}
        if isinstance(error, ModuleNotFoundError):  # others that are as absent, before they are tried one by one
            found |= {number for number, each in statements.items() if _is_absent(each)}
        self._lines.setdefault(file, set()).update(found)
        return True

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
            for each in _imports_of(statement)
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
        return self.lines_in(file), frozenset(self._gone.get(os.path.realpath(file), ()))

    def replace_in(self, tree: ast.Module, file: str) -> ast.Module:
        """The tree of a file with the statements that failed replaced."""
        lines = self.lines_in(file)
        self._note_renamed(tree, os.path.realpath(file))
        gone = self._gone.get(os.path.realpath(file), set())
        tree = _Replacement(lines).replace(tree) if lines else tree
        return _WithoutAttributes(gone).replace(tree) if gone else tree

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
            return self._bind(module, file, line, _ImportedName(name=name, part=part, is_alias=is_alias))

        def attribute(line: int, package: object, name: str) -> object:
            return self._attribute(file, line, package, name)

        vars(module)[IMPORTER] = bind
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

    def _bind(self, module: ModuleType, file: str, line: int, wanted: _ImportedName) -> object:
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


@dataclass(frozen=True, kw_only=True)
class _ImportedName:
    """One name that an import statement binds: a module, or a part of one."""

    name: str
    part: str
    is_alias: bool
    bound: str = ""

    @property
    def whole(self) -> str:
        """The dotted name of what is imported."""
        return f"{self.name}.{self.part}" if self.part else self.name


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


def _renamed_import(line: int, package: str, attribute: str, instead: str) -> AbsentImport:
    why = f"is not in this version of {package.partition('.')[0]}"
    return AbsentImport(line=line, name=f"{package}.{attribute}", why=why, instead=instead)


def _module_called(text: str, module: ModuleType) -> ModuleType | None:
    """The module that a dotted name leads to from a module's own variables, if it does."""
    found: object = module
    for part in text.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType) else None
    return found if isinstance(found, ModuleType) else None


def _import_part(wanted: _ImportedName, package: str | None) -> object:
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


def _imports_of(node: ast.Import | ast.ImportFrom) -> Iterator[_ImportedName]:
    module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    for each in node.names:
        if module:
            yield _ImportedName(name=module, part=each.name, is_alias=True, bound=each.asname or each.name)
        else:
            bound = each.asname or each.name.partition(".")[0]
            yield _ImportedName(name=each.name, part="", is_alias=each.asname is not None, bound=bound)


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


class _Replacement(ast.NodeTransformer):
    """Puts calls of `IMPORTER` in the place of import statements on some lines."""

    def __init__(self, lines: Set[int]) -> None:
        self._lines = lines

    def replace(self, tree: ast.Module) -> ast.Module:
        """The tree with the calls in it."""
        self.visit(tree)
        return ast.fix_missing_locations(tree)

    def visit_Import(self, node: ast.Import) -> list[ast.stmt] | ast.stmt:
        return self._calls(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt] | ast.stmt:
        return node if any(alias.name == "*" for alias in node.names) else self._calls(node)

    def _calls(self, node: ast.Import | ast.ImportFrom) -> list[ast.stmt] | ast.stmt:
        if node.lineno not in self._lines:
            return node
        return [self._call(node, each) for each in _imports_of(node)]

    def _call(self, node: ast.stmt, wanted: _ImportedName) -> ast.stmt:
        given = (node.lineno, wanted.name, wanted.part, wanted.is_alias)
        arguments: list[ast.expr] = [ast.Constant(each) for each in given]
        call = ast.Call(func=ast.Name(IMPORTER, ast.Load()), args=arguments, keywords=[])
        return ast.copy_location(ast.Assign(targets=[ast.Name(wanted.bound, ast.Store())], value=call), node)


class _WithoutAttributes(ast.NodeTransformer):
    """Puts calls of `ATTRIBUTE` in the place of attributes that packages lack; what a `try` is around stays."""

    def __init__(self, gone: Set[tuple[str, str]]) -> None:
        self._gone = gone

    def replace(self, tree: ast.Module) -> ast.Module:
        """The tree with the calls in it."""
        self.visit(tree)
        return ast.fix_missing_locations(tree)

    def visit_Try(self, node: ast.Try) -> ast.Try:
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or (ast.unparse(node.value), node.attr) not in self._gone:
            return node
        arguments: list[ast.expr] = [ast.Constant(node.lineno), node.value, ast.Constant(node.attr)]
        call = ast.Call(func=ast.Name(ATTRIBUTE, ast.Load()), args=arguments, keywords=[])
        return ast.copy_location(call, node)


_EXCEPTION = re.compile(r"(Error|Exception|Warning)$")

_DEEPEST = 16  # names behind names: who looks for the end of them finds it


class AbsentPackageError(ImportError, RefusalError):
    """Raised where code needs what an absent package has."""


_STAND_IN = "<stand-in for "


def named_stand_in(message: str) -> str:
    """What an error is about that names a stand-in, as an array does that is indexed by one; else ""."""
    return message.partition(_STAND_IN)[2].partition(">")[0]


class StandIn:
    """Stands for `name`, which an absent package has; `why` tells what the matter is with that.

    It gives way while `is_importing`. What begins and ends with two underscores it does not have, so that nobody takes
    it for an array, an iterator or a function of some library's own kind.
    """

    __bases__ = ()  # so that `issubclass` takes it for a class: array types of jaxtyping ask that of what they are of

    def __init__(self, name: str, why: str, is_importing: Callable[[], bool]) -> None:
        self._name, self._why, self._is_importing = name, why, is_importing

    def __getattr__(self, name: str) -> object:
        if (name.startswith("__") and name.endswith("__")) or self._name.count(".") > _DEEPEST:
            raise AttributeError(f"it needs {self._name}.{name}, which {self._why}")
        if _EXCEPTION.search(name):  # which may stand behind `except`
            found: object = type(name, (Exception,), {})
        else:
            found = StandIn(f"{self._name}.{name}", self._why, self._is_importing)
        vars(self)[name] = found
        return found

    def __repr__(self) -> str:
        return f"{_STAND_IN}{self._name}>"

    def __call__(self, *args: object, **kwargs: object) -> StandIn:
        """As a decorator, or what else a module's body calls."""
        if not self._is_importing():
            raise self._error()
        return self

    # Annotations use these, which may be evaluated at any time.
    def __getitem__(self, index: object) -> StandIn:
        return self

    def __or__(self, other: object) -> StandIn:
        return self

    def __ror__(self, other: object) -> StandIn:
        return self

    def __add__(self, other: object) -> StandIn:
        """In constants, as units have them: `2 * units.meter`."""
        return self()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __add__

    def __neg__(self) -> StandIn:
        return self()

    def __iter__(self) -> Iterator[object]:
        raise self._error()

    # What the body of a module may ask of it, before it goes another way or adds to it: there is nothing.
    def __bool__(self) -> bool:
        self()
        return False

    def __contains__(self, item: object) -> bool:
        return bool(self)

    def __index__(self) -> int:
        raise self._error()

    __int__ = __float__ = __complex__ = __len__ = __index__

    def __lt__(self, other: object) -> bool:
        return bool(self)

    __le__ = __gt__ = __ge__ = __lt__

    def __setitem__(self, index: object, value: object) -> None:
        self()

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, cls: type) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """A plain base class in its place: so it goes with any metaclass. No instance can be made of what has it."""
        error = self._error

        def refuse(cls: type, *args: object, **kwargs: object) -> object:
            raise error()

        def initialise(self: object, *args: object, **kwargs: object) -> None:
            """A function, of which module bodies may set the docstring."""

        body: dict[str, object] = {"__new__": refuse, "__init__": initialise}
        return (type(self._name.rpartition(".")[2], (), body),)

    def _error(self) -> AbsentPackageError:
        return AbsentPackageError(f"it needs {self._name}, which {self._why}")
