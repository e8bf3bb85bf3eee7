"""What a file leans on: an edit elsewhere must tell if it can make a difference, and should not if it cannot."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shapecheck.incremental.dependency_graph import DependencyGraph, GraphFile, GraphView
from shapecheck.incremental.module_summary import surface

FILES = {
    "pkg/__init__": "",
    "pkg/sizes": "WIDTH = 4\nHEIGHT = 3\n\ndef double(n, by=2):\n    return by * n\n",
    "pkg/more": "from pkg.sizes import WIDTH\nfrom . import sizes\nDEPTH = WIDTH // 2\nTALL = [sizes.HEIGHT]\n",
    "pkg/again": "from .more import DEPTH as again\nfrom .sizes import *\n",
    "pkg/kinds": "import abc\nimport equinox as eqx\n\nclass Kind(eqx.Module):\n    size: int = 3\n",
    "pkg/other": "import jax\nfrom pkg.kinds import Kind\n\n@jax.jit\ndef f(x): return x\n\nclass One(Kind): pass\n",
}


def told(files: Mapping[str, str], code: str) -> tuple[str, str]:
    """What all lean on, and what the file with this code does."""
    sources = [
        GraphFile(f"/{name}.py", (tuple(name.removesuffix("/__init__").split("/")),), surface(text.encode(), TOPS))
        for name, text in sorted({**files, "pkg/user": code}.items())
    ]
    view = GraphView(DependencyGraph(sources), [source.file for source in sources], [])
    return view.base, view.code_key(["/pkg/user.py"])


TOPS = frozenset({"pkg"})


def changes(code: str, file: str, old: str, new: str) -> tuple[bool, bool]:
    """Whether an edit changes what all lean on, and what this code does."""
    edited = dict(FILES)
    edited[file] = edited.get(file, "") + new if not old else edited[file].replace(old, new)
    assert edited != FILES
    (base, leans), (base_after, leans_after) = told(FILES, code), told(edited, code)
    return base != base_after, leans != leans_after


WIDTH = ("pkg/sizes", "WIDTH = 4", "WIDTH = 5")


@pytest.mark.parametrize(
    ("code", "edit"),
    [
        ("from pkg.sizes import WIDTH\ndef f(): return WIDTH", WIDTH),
        ("from pkg.sizes import WIDTH as w\ndef f(): return w", WIDTH),
        ("import pkg.sizes\ndef f(): return pkg.sizes.WIDTH", WIDTH),
        ("import pkg.sizes as s\ndef f(): return s.WIDTH", WIDTH),
        ("from pkg import sizes\ndef f(): return sizes.WIDTH", WIDTH),
        ("from . import sizes\ndef f(): return sizes.WIDTH", WIDTH),
        ("from .sizes import *\ndef f(): return WIDTH", WIDTH),
        ("from pkg.again import *\ndef f(): return WIDTH", WIDTH),
        ("from pkg.again import WIDTH\ndef f(): return WIDTH", WIDTH),
        ("from pkg.more import DEPTH\ndef f(): return DEPTH", WIDTH),
        ("from pkg.again import again\ndef f(): return again", WIDTH),
        ("from pkg import more\ndef f(): return more.TALL", ("pkg/sizes", "HEIGHT = 3", "HEIGHT = 4")),
        ("from pkg import more\ndef f(): return more.sizes.WIDTH", WIDTH),
        ("def f():\n    from pkg.sizes import WIDTH\n    return WIDTH", WIDTH),
        ("def f():\n    import pkg.sizes\n    return pkg.sizes.WIDTH", WIDTH),
        ("try:\n    from pkg.sizes import HEIGHT\nexcept Exception: HEIGHT = 0\ndef f(): return HEIGHT", WIDTH),
        ("from pkg import sizes\ndef f(name): return getattr(sizes, name)", WIDTH),
        ("from pkg import sizes\ndef f(): return dir(sizes)", ("pkg/sizes", "", "NEW = 1\n")),
        ("from pkg import sizes\ndef f(): return vars(sizes)", ("pkg/sizes", "HEIGHT = 3\n", "")),
        ("import pkg\ndef f(): return look(pkg.sizes)", WIDTH),
        ("import importlib\ndef f(n): return importlib.import_module(n).WIDTH", WIDTH),
        ("from sys import modules\ndef f(n): return modules[n].WIDTH", WIDTH),
        ("def f(m): m.setattr('pkg.sizes.WIDTH', 3)", WIDTH),
        ("def f(x: 'sizes.WIDTH'): pass\nfrom pkg import sizes", WIDTH),
        ("from pkg.sizes import double\ndef f(): return double(1)", ("pkg/sizes", "by=2", "by=3")),
        ("from pkg.sizes import double\ndef f(): return double(1)", ("pkg/sizes", "def double", "def twice")),
        ("from pkg.kinds import Kind\ndef f(k: Kind): pass", ("pkg/kinds", "size: int = 3", "size: int = 4")),
        ("from pkg.kinds import Kind\ndef f(k: Kind): pass", ("pkg/other", "", "class Two(Kind):\n    pass\n")),
        ("from pkg.other import One\ndef f(k: One): pass", ("pkg/kinds", "int = 3", "int = 4")),
        ("from pkg.other import f\ndef g(x): return f(x)", ("pkg/other", "@jax.jit\n", "")),
        ("from pkg import new\ndef f(): return new", ("pkg/new", "", "A = 1\n")),
        ("from pkg.sizes import NEW\ndef f(): return NEW", ("pkg/sizes", "", "NEW = 1\n")),
        ("from pkg.sizes import WIDTH\ndef f(): return WIDTH", ("pkg/sizes", "WIDTH = 4", "WIDTH = 4\nWIDTH = 4")),
        ("import pkg.sizes as s\nW = s.WIDTH\ndef f(): return W", WIDTH),
    ],
)
def test_what_can_be_reached_counts(code: str, edit: tuple[str, str, str]) -> None:
    assert changes(code, *edit) == (False, True)


@pytest.mark.parametrize(
    ("code", "edit"),
    [
        ("from pkg.sizes import HEIGHT\ndef f(): return HEIGHT", WIDTH),
        ("from pkg import sizes\ndef f(): return sizes.HEIGHT", WIDTH),
        ("from pkg.sizes import WIDTH\ndef f(): return WIDTH", ("pkg/sizes", "", "def new(n): return n\n")),
        ("from pkg.sizes import WIDTH\ndef f(): return WIDTH", ("pkg/sizes", "", "import functools\n")),
        ("from pkg.sizes import WIDTH\ndef f(): return WIDTH", ("pkg/sizes", "return by", "return 2 * by")),
        (
            "from pkg.sizes import WIDTH\ndef f(): return WIDTH",
            ("pkg/sizes", "", "if __name__ == '__main__': main()\n"),
        ),
        ("import functools\ndef f(): return functools", ("pkg/sizes", "", "import functools\n")),
        ("import numpy as np\ndef f(x): return np.WIDTH + x.WIDTH", WIDTH),
        ("def f(WIDTH): return WIDTH", WIDTH),
        ("from pkg.kinds import Kind\ndef f(k: Kind): pass", ("pkg/new", "", "class Two: pass\n")),
        (
            "from pkg.sizes import WIDTH\ndef f(): return WIDTH",
            ("pkg/new", "", "from pkg.sizes import double\nA = 1\n"),
        ),
        ("from pkg.sizes import WIDTH\ndef f(): return WIDTH", ("pkg/other", "class One", "class Three")),
    ],
)
def test_what_cannot_be_reached_does_not(code: str, edit: tuple[str, str, str]) -> None:
    assert changes(code, *edit) == (False, False)


@pytest.mark.parametrize(
    "new",
    [
        "REG = {}\nREG['a'] = 1\n",
        "print(WIDTH)\n",
        "@register\ndef f(): pass\n",
        "@register\nclass C: pass\n",
        "class C(unknown.Base): pass\n",
        "class C(metaclass=Meta): pass\n",
        "class Base:\n    def __init_subclass__(cls): pass\nclass C(Base): pass\n",
        "class Base:\n    x = look()\n",
        "import unknown\n",
        "def __getattr__(name): return name\n",
        "x = look()\n",
        "def f(x=look()): pass\n",
        "if look(): pass\n",
        "for x in []: pass\n",
        "del double\n",
        "import jax\njax.config.update('jax_enable_x64', True)\n",
        "import numpy as np\nX = np.random.rand(3)\n",
        "import os\nX = os.environ.setdefault('A', 'b')\n",
        "double.by = 3\n",
        "WIDTH += 1\n",
        "def len(x): return x\nX = len([])\n",
        "import jax\ndef f(x): pass\nX = jax.jit(f)(1)\n",
        "from pkg import kinds\nX = kinds.Kind()\n",
        "(X := 1)\n",
        "this is no Python\n",
    ],
)
def test_what_may_do_more_than_bind_a_name_is_a_matter_of_all(new: str) -> None:
    assert changes("", "pkg/sizes", "", new)[0]


@pytest.mark.parametrize(
    "new",
    [
        "X = 1\n",
        "X, (Y, *Z) = 1, (2, 3)\n",
        "X: int = 3\n",
        "X = [n + 1 for n in range(3)]\n",
        "import jax.numpy as jnp\nX = jnp.ones((3, 4)).at[0].set(2)\n",
        "import numpy as np\nX = np.random.default_rng(0)\n",
        "import jax\nfrom functools import partial\n@partial(jax.jit, static_argnums=0)\ndef f(n, x): pass\n",
        "import jax\n@jax.custom_jvp\ndef f(x): pass\n@f.defjvp\ndef g(p, t): pass\n",
        "import jax\n@jax.custom_vjp\ndef f(x): pass\ndef g(x): pass\nf.defvjp(g, g)\n",
        "import typing as t\nT = t.TypeVar('T')\nclass P(t.Protocol): pass\n",
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int = 3\n",
        "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass P:\n    x: list = field(default=3)\n",
        "import enum\nclass E(enum.Enum):\n    A = 1\n",
        "class C(Exception):\n    @property\n    def a(self): pass\n    @a.setter\n    def a(self, x): pass\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import unknown\n",
        "import sys\nif sys.version_info >= (3, 11):\n    X = 1\nelse:\n    X = 2\n",
        "try:\n    import jax.numpy as jnp\nexcept ImportError:\n    jnp = None\n",
        "__all__ = ['double']\n__all__ += ['WIDTH']\n",
        "'''A text.'''\n...\npass\n",
    ],
)
def test_what_only_binds_names_is_not(new: str) -> None:
    assert not changes("", "pkg/sizes", "", new)[0]


def test_the_order_of_acts_is_that_of_imports() -> None:
    files = {
        **FILES,
        "pkg/a": "REG = {}\n",
        "pkg/b": "from pkg import a\na.REG[1] = 2\n",
        "pkg/c": "from pkg import a\n",
    }
    acts = {**files, "pkg/c": "from pkg import a\na.REG.clear()\n"}
    assert told({**files, "pkg/a0": "import pkg.c\n"}, "")[0] == told(files, "")[0]
    assert told({**acts, "pkg/a0": "import pkg.c\n"}, "")[0] != told(acts, "")[0]


def test_a_value_that_is_taken_before_an_act_is_another_one() -> None:
    code = "from pkg.size import N\ndef f(): return N\n"
    before = {**FILES, "pkg/size": "REG = {}\nN = len(REG)\nREG[1] = 2\n"}
    after = {**FILES, "pkg/size": "REG = {}\nREG[1] = 2\nN = len(REG)\n"}
    assert told(before, code)[1] != told(after, code)[1]


def test_names_of_the_project_are_not_taken_for_those_of_libraries() -> None:
    text = b"import jax\nX = jax.numpy.ones(3)\n"
    assert not any(step.acts for step in surface(text).steps)
    assert any(step.acts for step in surface(text, frozenset({"jax"})).steps)


def test_names_in_comments_count() -> None:
    def leans(width: str) -> str:
        files = {"sizes": f"WIDTH = {width}\n", "user": "from sizes import WIDTH\n"}
        told = {"user": (("WIDTH",),)}
        sources = [
            GraphFile(f"/{n}.py", ((n,),), surface(t.encode()), comment_names=told.get(n, ())) for n, t in files.items()
        ]
        return GraphView(DependencyGraph(sources), [], []).code_key(["/user.py"])

    assert leans("4") != leans("5")
    assert leans("4") == leans("4  # wide")


@pytest.mark.parametrize(
    ("file", "old", "new", "again"),
    [
        ("pkg/sizes", "", "def new(n):\n    return n\n", False),
        ("pkg/sizes", "", "NEW = (3, -1)\n", False),
        ("pkg/sizes", "", "import functools\n", False),
        ("pkg/sizes", "return by", "return 2 * by", False),
        ("pkg/new", "", "raise ValueError\n", False),
        ("pkg/sizes", "WIDTH = 4", "WIDTH = 5", True),
        ("pkg/sizes", "def double(n, by=2)", "def double(n, by=WIDTH)", True),
        ("pkg/sizes", "", "def new(n: unknown):\n    return n\n", True),
        ("pkg/sizes", "", "def new(n=look()):\n    return n\n", True),
        ("pkg/sizes", "", "NEW = 1 / 0\n", True),
        ("pkg/sizes", "", "NEW = -'a'\n", True),
        ("pkg/sizes", "", "import pkg.nowhere\n", True),
        ("pkg/sizes", "", "from functools import nothing\n", True),
        ("pkg/sizes", "def double", "def twice", True),
        ("pkg/kinds", "int = 3", "int = 4", False),
    ],
)
def test_tests_are_collected_again_if_their_import_may_change(file: str, old: str, new: str, *, again: bool) -> None:
    test = "import pytest\nfrom pkg.more import DEPTH\nfrom pkg.sizes import double\n\ndef test_it(): double(DEPTH)\n"

    def importing(files: Mapping[str, str]) -> str:
        sources = [
            GraphFile(f"/{name}.py", (tuple(name.removesuffix("/__init__").split("/")),), surface(text.encode(), TOPS))
            for name, text in sorted({**files, "test_it": test}.items())
        ]
        return GraphView(DependencyGraph(sources), [], []).import_key(["/test_it.py"])

    edited = {**FILES, file: FILES.get(file, "") + new if not old else FILES[file].replace(old, new)}
    assert (importing(FILES) != importing(edited)) == again
