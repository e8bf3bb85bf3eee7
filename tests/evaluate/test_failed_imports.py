"""A file that imports what is not there: what does without it is checked; what needs it is unreached and says so."""

from __future__ import annotations

import contextlib
import re
import runpy
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.evaluate.probes.failed_imports import FailedImports
from shapecheck.evaluate.probes.stand_ins import StandIn

CASES = {
    # one that is imported where it is used first, which an annotation in quotes may never do
    "lazy.py": """
import types
import jax.numpy as jnp
from jaxtyping import Array, Float

class Later(types.ModuleType):
    def __getattr__(self, name):
        raise ModuleNotFoundError(f"No module named {self.__name__!r}")

later = Later("later")

def good(x: Float[Array, "n"], t: "later.Tensor | None" = None) -> Float[Array, "n"]:
    return 2 * x

def bad(x: Float[Array, "n"], t: "later.Tensor | None" = None) -> Float[Array, "n"]:  ~SC203
    return jnp.stack([x, x])
""",
    # what stands for a method has no name to be told
    "decorates.py": """
import abc
import jax.numpy as jnp
from nowhere import described

class Base(abc.ABC):
    @abc.abstractmethod
    @described("x: [b, d]")
    def total(self, x):
        '''x: points of shape (b, d)'''

class Plain(Base):
    def total(self, x):
        '''x: points of shape (b, d)'''
        return x.sum(1)  # (d,)  ~SC201
""",
    "absent.py": """
import nowhere.nn as nn
import nowhere
from nowhere.data import Dataset, utils as u
from jax import gone_long_ago
import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from typing import Generic, Protocol, TypeVar

from guarded import HAS_NOWHERE

T = TypeVar("T")
logger = nowhere.get_logger(__name__)
METRES = 2 * nowhere.units.metre


def good(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x


def bad(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~SC203
    return jnp.stack([x, x])


def needs(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return nn.relu(x)


def needs_constant(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return x * METRES


@nowhere.kernel
def kernel(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return x


class Builder(nowhere.data.Builder, Generic[T], skip_registration=True):
    version: str = "1"


Numbered = Builder[int]


class Described(nn.Module, Protocol):
    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]: ...  ~unreached


class Net(eqx.Module, nn.Module):
    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
        return x


def without(x: Float[Array, "n"], t: "nowhere.Tensor | None" = None) -> Float[Array, "n"]:
    if HAS_NOWHERE or isinstance(x, nowhere.Tensor):
        raise TypeError
    return x


def of_another_kind(x: Float[nowhere.Tensor, "n"]) -> Float[nowhere.Tensor, "n"]:
    return x
""",
    # what a module's body makes by an absent package may be copied there; in a function that needs the package
    "copied.py": """
import copy
import pickle
from jaxtyping import Array, Float
import nowhere

DEFAULT = nowhere.Params(p=3)
OTHER = copy.deepcopy({"params": DEFAULT})
SHALLOW = copy.copy(DEFAULT)
MASK = ~(DEFAULT & OTHER["params"]) // 2 % 2

def good(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x

def copies(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return copy.deepcopy(DEFAULT) * x

def pickles(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return pickle.loads(pickle.dumps(DEFAULT)) * x

def multiplies(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return x @ MASK
""",
    # a package is there without one of its parts, and its name stands for all of it
    "part.py": """
import jax.gone_long_ago
from jaxtyping import Array, Float

def good(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return jax.jit(lambda y: 2 * y)(x)

def needs(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return jax.gone_long_ago.twice(x)
""",
    # an installed package has no longer what the body of a module takes out of it
    "gone.py": """
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

try:
    OLD = jax.gone_long_ago
except AttributeError:
    OLD = None

class Block(eqx.Module):
    norm: jax.gone_long_ago.BatchNorm

    def __init__(self, n: int):
        self.norm = jax.gone_long_ago.BatchNorm(n)

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
        return self.norm(x)

class Derived(jax.gone_long_ago.Module):
    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
        return x

Derived.__init__.__doc__ = "Its constructor is that of what is gone."

def good(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return 2 * x if OLD is None else jnp.stack([x, x])

def needs(x: Float[Array, "n"], act=jax.gone_long_ago.relu) -> Float[Array, "n"]:  ~unreached
    return act(x)
""",
    "guarded.py": """
try:
    import nowhere
except ImportError:
    HAS_NOWHERE = False
else:
    HAS_NOWHERE = True
""",
    # A module's body may ask what is there, and add to it.
    "registers.py": """
import nowhere
from jaxtyping import Array, Float
from nowhere.auto import REGISTRY

if "mine" not in REGISTRY:
    REGISTRY["mine"] = nowhere.Config
if nowhere.is_available() and nowhere.version() >= (2, 0):
    raise ImportError


def same(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return x


def later(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return x if "mine" in REGISTRY else -x
""",
    # What the body of a module does with it may be more than anything can stand in for: without that statement it goes.
    "iterates.py": """
from functools import singledispatch

import jax
import nowhere
from jaxtyping import Array, Float

TABLE = [each for each in nowhere.table()]
if len(nowhere.devices()) > 1:
    WIDTH = 2


@singledispatch
def convert(value):
    return value


@convert.register(nowhere.Tensor)
def _convert_tensor(value: nowhere.Tensor):
    return value.numpy()


def same(x: Float[Array, "n"]) -> Float[Array, "n"]:
    return x


def turned(x: Float[Array, "n d"]) -> Float[Array, "n d"]:  ~SC203
    return x.T


def of_table(x: Float[Array, "n"]) -> Float[Array, "n"]:  ~unreached
    return x * TABLE[0]


def typed(x: Float[Array, "n"], shape: jax.core.GoneShape | None = None) -> Float[Array, "n"]:
    return x
""",
    # an array that is indexed by it, and an integer that is made of it, need the package
    "indexes.py": """
from jaxtyping import Array, Float
from nowhere import order


def chosen(x: Float[Array, "n 37 3"]) -> Float[Array, "n 3"]:  ~unreached
    return x[:, order["N"], :]


def parted(x: Float[Array, "n d"]) -> Float[Array, "m e"]:  ~unreached
    return x.reshape(int(order), -1)
""",
    "returns.py": """
import jax.numpy as jnp
from jaxtyping import Array, Float


class Base:
    def __init__(self, x: Float[Array, "n"]):
        return NotImplemented
""",
}


@pytest.fixture(scope="module")
def checked(check_folder):
    return check_folder(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_rest_of_the_file_is_checked(checked, name: str) -> None:
    marked = checked.cases[name]
    actual = [(line, what) for line, what in dict.fromkeys(marked.actual) if what not in ("SC302", "SC303")]
    assert actual == marked.expected, marked.details


def test_what_needs_it_says_so(checked) -> None:
    reasons = {each.reason for each in checked.report.unreached if each.path == "absent.py"}
    assert any(each.endswith("it needs nowhere.nn.relu, which is not installed") for each in reasons)
    assert "it needs nowhere.kernel, which is not installed" in reasons
    assert "Net cannot be constructed: it needs nowhere.nn.Module, which is not installed" in reasons
    indexed = " ".join(each.reason for each in checked.report.unreached if each.path == "indexes.py")
    assert "it needs nowhere.order, of a package that is not there" in indexed
    assert "it needs nowhere.order, which is not installed" in indexed
    of_table = [each.reason for each in checked.report.unreached if each.path == "iterates.py"]
    assert all("it needs TABLE, which needs nowhere.table, of a package that is not there" in each for each in of_table)


def test_each_absent_name_is_told_once_a_file(checked) -> None:
    notes = [each for each in checked.report.findings if each.code == "SC303" and each.path == "absent.py"]
    assert [(each.span.line, each.message, each.severity) for each in notes] == [
        (1, "import of nowhere failed: it is not installed; what needs it was not evaluated", "note"),
        (
            4,
            "import of jax.gone_long_ago failed: it is not in this version of jax; what needs it was not evaluated",
            "note",
        ),
    ]


def test_a_file_is_checked_alone_in_a_package_that_imports_what_is_absent(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("import nowhere\nfrom .helper import double\n")
    (tmp_path / "pack" / "helper.py").write_text("import nowhere\n\ndef double(x):\n    return 2 * x\n")
    model = tmp_path / "pack" / "model.py"
    model.write_text(
        "from jaxtyping import Array, Float\nfrom .helper import double\n\n"
        'def f(x: Float[Array, "n"]) -> Float[Array, "n"]:\n    return double(x)\n'
    )
    with contextlib.chdir(tmp_path):
        report = check([model], load([model]))
    assert (report.summary.verified, report.summary.unreached) == (2, 0), report


def test_a_version_that_nobody_has_is_what_an_import_needs(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(
        'import nowhere\n\nif nowhere.__version__ >= "2":\n    pass\n\ndef f(x):  # x: (n,)\n    return x\n'
    )
    with contextlib.chdir(tmp_path):
        report = check([tmp_path / "new.py"], load([tmp_path]))
    assert any("it needs nowhere.__version__, which is not installed" in each.message for each in report.findings), (
        report
    )


@pytest.mark.usefixtures("installed_plugins")
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_tests_and_conftest_files_are_imported_without_what_is_absent(mode: str, tmp_path: Path) -> None:
    """Of a checkout that nobody installed the tests are evaluated, but one that needs what is absent."""
    options = f"[project]\nname = 'own-project'\n[tool.pytest.ini_options]\naddopts = '--import-mode={mode}'\n"
    (tmp_path / "pyproject.toml").write_text(options)
    package = tmp_path / "src" / "own"
    package.mkdir(parents=True)
    version = "import importlib.metadata\n\n__version__ = importlib.metadata.version('own-project')\n"
    (package / "__init__.py").write_text(version)
    (package / "core.py").write_text("def f(x, y):\n    z = x + y  # shape: (n,)\n    return z\n")
    tests = tmp_path / "tests"
    (tests / "inner").mkdir(parents=True)
    (tests / "conftest.py").write_text("import nowhere\nimport own.core\n")
    (tests / "inner" / "conftest.py").write_text("import nowhere_else\n")
    (tests / "inner" / "test_core.py").write_text(
        "import jax.numpy as jnp\nfrom nowhere import draw\nfrom own.core import f\n\n"
        "def test_core():\n    f(jnp.ones((2, 3)), jnp.ones(3))\n\n"
        "def test_none():\n    draw()\n"
    )
    with contextlib.chdir(tmp_path):
        report = check([package], load([package]))
    assert [(each.code, each.observed) for each in report.findings] == [("SC201", "(2, 3)")]
    assert report.tests is not None and (report.tests.ok, report.tests.stopped) == (1, 1)
    end = "which is not installed; what needs it was not evaluated"
    assert set(report.tests.problems) == {
        f"tests/conftest.py: it needs nowhere, {end}",
        f"tests/inner/conftest.py: it needs nowhere_else, {end}",
        f"tests/inner/test_core.py: it needs nowhere, {end}",
    }


def test_names_of_projects_without_end_end(tmp_path: Path) -> None:
    """Who asks for another project each time is told so, and is not imported for ever."""
    (tmp_path / "m.py").write_text(
        "import importlib.metadata\nimport time\n\nimportlib.metadata.version(f'p{time.time_ns()}')\n\n"
        "def f(x):  # x: (n,)\n    return x\n"
    )
    with contextlib.chdir(tmp_path):
        report = check([tmp_path / "m.py"], load([tmp_path]))
    assert ["No package metadata was found" in each.message for each in report.findings] == [True]
    assert report.summary.unreached == 1


def test_what_has_another_name_today_is_taken_by_that_and_told(tmp_path: Path) -> None:
    """Also where a function uses it, and in a package whose modules import each other."""
    package = tmp_path / "old"
    package.mkdir()
    (package / "__init__.py").write_text("from . import model\n")
    (package / "helper.py").write_text(
        "import jax\n\ndef halve(tree):\n    return jax.tree_map(lambda a: a / 2, tree)\n"
    )
    (package / "model.py").write_text(
        "import jax\nimport numpy as np\nfrom jax import numpy as jnp\nfrom jax.config import config\n"
        "from jaxtyping import Array, Float\nfrom . import helper\n\n"
        "config.update('jax_enable_x64', False)\n\n"
        'def f(x: Float[Array, "n d"], scale=1, key: "jax.random.KeyArray | None" = None) -> Float[Array, "n d"]:\n'
        "    def inner(a, key: jax.random.KeyArray):\n        return a * np.int(scale)\n\n"
        "    (y,) = jax.tree_leaves([inner(x, key)])\n    return y\n\n"
        'def g(x: Float[Array, "n d"]) -> Float[Array, "n"]:\n    return jnp.product(x, axis=0)\n'
    )
    with contextlib.chdir(tmp_path):
        report = check([package], load([package]))
    told = {each.message for each in report.findings if each.code == "SC303"}
    assert [each.span.line for each in report.findings if each.severity == "error"] == [17]
    assert report.summary.verified == 3
    jax_names = {"jax.config.config": "jax.config", "jax.random.KeyArray": "jax.Array"}
    jax_names |= {"jax.tree_leaves": "jax.tree_util.tree_leaves", "jax.numpy.product": "jax.numpy.prod"}
    assert told == {
        *(
            f"import of {n} failed: it is not in this version of jax; {m} was taken in its place"
            for n, m in jax_names.items()
        ),
        "import of numpy.int failed: it is not in this version of numpy; int was taken in its place",
    }


def test_the_missing_dependency_of_an_installed_package_is_named(tmp_path: Path) -> None:
    """And a name that the failing line does not use is kept, though methods of the class on that line use it."""
    installed = tmp_path / "site-packages" / "installed"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text(
        "import importlib\n\ndef __getattr__(name):\n    return importlib.import_module(f'installed.{name}')\n"
    )
    (installed / "losses.py").write_text("import nowhere\n\nclass Loss:\n    pass\n")
    add = "import sys, pathlib\nsys.path.append(str(pathlib.Path(__file__).parent / 'site-packages'))\n"
    (tmp_path / "direct.py").write_text(
        f"{add}from installed.losses import Loss\n\ndef f(x):  # x: (n,)\n    return x\n"
    )
    (tmp_path / "late.py").write_text(
        f"{add}import dataclasses\nimport installed\nimport jax.numpy as jnp\n"
        "from jaxtyping import Array, Float\n\n"
        "@dataclasses.dataclass\nclass Own(installed.losses.Loss):\n"
        '    def f(self, x: Float[Array, "n"]):\n        return jnp.stack([x])\n\n'
        "@dataclasses.dataclass\nclass Plain:\n    size: int\n\n"
        'def g(x: Float[Array, "n"]) -> Float[Array, "3 n"]:\n    return jnp.stack([x, x])\n'
    )
    files = [tmp_path / "late.py", tmp_path / "direct.py"]
    with contextlib.chdir(tmp_path):
        report = check(files, load(files))
    said = {(each.path, each.span.line): each.message for each in report.findings if each.code == "SC303"}
    end = "it needs nowhere, which is not installed; what needs it was not evaluated"
    assert said == {
        ("direct.py", 3): f"import of installed.losses.Loss failed: {end}",
        ("late.py", 4): f"import of installed failed: {end}",
    }
    assert [(each.code, each.span.line) for each in report.findings if each.severity == "error"] == [("SC203", 17)]


RUN_AT_IMPORT = """
import jax.numpy as jnp

def scores(k):
    turned = jnp.transpose(k, (0, 1, 2))
    return k @ turned

OUT = scores(jnp.ones((2, 10, 8)))
"""


def test_a_shape_error_at_import_is_an_error_of_the_line(check_folder) -> None:
    missing = "import nowhere_at_all\n"
    folder = check_folder(
        {
            "model.py": RUN_AT_IMPORT,
            "uses.py": "from model import OUT\n\nx = OUT  # (b, t)\n",
        }
    )
    found = [(each.path, each.span.line, each.code) for each in folder.report.findings]
    assert found == [("model.py", 5, "SC301"), ("uses.py", 1, "SC303")]
    # What stands for a package that is not there may be what does not fit.
    folder = check_folder({"model.py": missing + RUN_AT_IMPORT})
    assert [each.code for each in folder.report.findings if each.severity == "error"] == []


def test_what_an_absent_decorator_was_to_make_needs_its_package(tmp_path: Path) -> None:
    code = """
import jax.numpy as jnp
from nowhere import register

@register
class Net:
    def __call__(self, x):
        y = jnp.zeros((2, 3))  # shape: (b, t)
        return y

class Plain:
    def __call__(self):
        y = jnp.zeros((2, 3))  # shape: (2, 3)
        z = jnp.zeros((2, 3))  # shape: (3, 2)
        return y + z
"""
    (tmp_path / "net.py").write_text(code)
    with contextlib.chdir(tmp_path):
        report = check([tmp_path / "net.py"], load([tmp_path]))
    assert [(each.code, each.span.line) for each in report.findings if each.severity == "error"] == [("SC201", 14)]
    assert [each.reason for each in report.unreached] == ["it needs nowhere.register, which is not installed"]


@pytest.mark.parametrize("part", [".", "second.py"])
def test_a_package_that_is_imported_again_has_the_modules_that_are_loaded(part: str, tmp_path: Path) -> None:
    """`pkg.first` is complete when `pkg.second` fails, so that a second import of `pkg` does not load it again."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from . import first, second\n")
    (tmp_path / "pkg" / "first.py").write_text("def f(x):  # x: (n,)\n    return x\n")
    (tmp_path / "pkg" / "second.py").write_text(
        "import jax.numpy as jnp\nimport nowhere\nimport pkg.first\n\nf = pkg.first.f\n\n"
        "def g():\n    y = f(jnp.zeros((2, 3)))  # shape: (3, 2)\n    return y\n"
    )
    with contextlib.chdir(tmp_path):
        report = check([tmp_path / "pkg" / part], load([tmp_path]))
    assert [each.message for each in report.findings if each.code == "SC303"] == [
        "import of nowhere failed: it is not installed; what needs it was not evaluated"
    ]
    assert [(each.path, each.span.line) for each in report.findings if each.code == "SC201"] == [("pkg/second.py", 8)]


def test_scripts_that_define_one_flag_are_all_imported(tmp_path: Path) -> None:
    """Each is a program of its own, though here they share a process."""
    pytest.importorskip("absl")
    script = (
        "from absl import flags\nfrom jaxtyping import Array, Float\n\n"
        'SIZE = flags.DEFINE_integer("size", {size}, "how many")\n\n\n'
        'def f(x: Float[Array, "n d"]) -> Float[Array, "n"]:\n    return x.sum({axis})\n'
    )
    for name, axis in (("first", 1), ("second", 0), ("third", 1)):
        (tmp_path / f"{name}.py").write_text(script.format(size=axis, axis=axis))
    report = check([tmp_path], load([tmp_path]))
    false = [Path(each.path).name for each in report.findings if each.code == "SC203"]
    assert false == ["second.py"], report.findings
    assert report.unreached == ()


@pytest.mark.usefixtures("installed_plugins")
def test_a_hook_of_pytest_that_needs_what_is_absent_is_told(tmp_path: Path) -> None:
    """No import fails there which could do without it."""
    (tmp_path / "core.py").write_text('def f(x):\n    """x: array of shape (n,)."""\n    return x * 2  # (n,)\n')
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text("import nowhere\n\ndef pytest_addoption(parser):\n    nowhere.add(parser)\n")
    (tests / "test_core.py").write_text("from core import f\n\ndef test_f():\n    f(1)\n")
    with contextlib.chdir(tmp_path):
        report = check([tmp_path], load([tmp_path]))
    assert not report.bugs
    assert len(report.verified) == 2
    assert any("it needs nowhere.add, which is not installed" in each for each in report.tests.problems)


REGISTERED = """
from functools import singledispatch

@singledispatch
def convert(x): ...

def register(kind):
    def decorate(cls):
        convert.register(kind, cls)
        return cls
    return decorate

@register(absent.First)
class First: ...

@register(absent.parts.Second)
class Second: ...

@register(other.Third)
class Third: ...

@absent.plain
class Fourth: ...
"""


def test_what_is_registered_alike_is_left_out_at_once(tmp_path) -> None:
    file = tmp_path / "registered.py"
    file.write_text(REGISTERED)
    failed = FailedImports(lambda: True)
    absent = StandIn("absent", "of a package that is not there", lambda: True)
    with pytest.raises(Exception, match=re.escape("absent.First")) as raised:
        runpy.run_path(str(file), init_globals={"absent": absent, "other": absent}, run_name="registered")
    assert failed.admit(raised.value, lambda name: name == str(file))
    lines = [number for number, line in enumerate(REGISTERED.splitlines(), 1) if line.startswith("@register(absent.")]
    assert failed.replaced_in(str(file))[-1] == frozenset(lines)
