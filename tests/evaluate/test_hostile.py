"""Modules that break what the worker stands on: their claims are unreached, all others are judged as without them."""

from __future__ import annotations

import pytest

CLAIMS = """
from jaxtyping import Array, Float

def bad(x: Float[Array, "b d"]) -> Float[Array, "b d"]:{mark}
    return x.T

def good(x: Float[Array, "b d"]) -> Float[Array, "d b"]:{quiet}
    return x.T

"""

MARKS = ((" ~unreached", " ~unreached"), (" ~SC203", ""))

# What a module does, and how the reason of its claims begins.
DAMAGE = {
    "builtin": ("import builtins\nbuiltins.open = None\n", "replaced builtins.open"),
    "builtin_gone": ("import builtins\nvars(builtins).pop('len')\n", "replaced builtins.len"),
    "all_of_os": (
        """
import os
def broken(*args, **kwargs): raise ValueError
for name in list(vars(os)):
    if callable(getattr(os, name)): setattr(os, name, broken)
""",
        "replaced os.",
    ),
    "inspect": ("import inspect\ninspect.signature = lambda *a, **k: 3\n", "replaced inspect.signature"),
    "jax": ("import jax\njax.eval_shape = lambda *a, **k: 3\n", "replaced jax.eval_shape"),
    "tracers": ("import jax\njax.core.Tracer.__getattr__ = None\n", "replaced Tracer.__getattr__"),
    "typing": ("import typing\ntyping.get_args = None\n", "replaced typing.get_args"),
    "types_of_c": ("import itertools\nitertools.chain = None\n", "replaced itertools.chain"),
    "data_classes": ("import dataclasses\ndataclasses.replace = None\n", "replaced dataclasses.replace"),
    "methods": ("import queue\nqueue.Queue.get = None\n", "replaced queue.Queue.get"),
    "then_raises": ("import json\njson.dumps = None\nraise ValueError\n", "replaced json.dumps"),
    "streams": ("import os\nfor number in range(3): os.close(number)\n", "closed the file descriptor 0"),
    "all_descriptors": ("import os\nos.closerange(0, 200)\n", "ended the process with exit status"),
    "of_sys": ("import sys\nsys.getrecursionlimit = None\n", "replaced sys.getrecursionlimit"),
    "modules": ("import sys\nsys.modules.clear()\n", "took builtins out of sys.modules"),
    "recursion": ("import sys\nsys.setrecursionlimit(120)\n", "lowered Python's recursion limit"),
    "looked_at": (
        "import os\nclass Odd:\n    @property\n    def __class__(self): os._exit(3)\nbad = Odd()\n",
        "ended the process with exit status 3",
    ),
    "limits": (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))\n",
        "lowered the limit RLIMIT_NOFILE",
    ),
    "configuration": ("import jax\njax.config = None\n", "replaced jax.config"),
    "swallows": (
        "import builtins\ntry:\n    builtins.isinstance = lambda *a: True\nexcept Exception: pass\n",
        "replaced builtins.isinstance",
    ),
}
TAKES = """
class Net:
    def __init__(self, n: int): self.n = n
def takes(net: Net, x: Float[Array, "b d"]) -> Float[Array, "d b"]:
    return x.T
"""
CLEARS = """
class Clears:
    def __init__(self, n: int): globals().clear() ~SC302
def last(net: Clears, x: Float[Array, "b d"]) -> Float[Array, "d b"]: ~unreached
    return x.T
"""
# What looks like it and is none.
HARMLESS = {
    "prints": "import builtins\nbefore = print\nbuiltins.print = lambda *a, **k: before(*a, **k)\n",
    "adds": "import builtins, jax\nbuiltins.profile = lambda f: f\njax.tree_map = jax.tree_util.tree_map\n",
    "folder_gone": "import os, tempfile\nplace = tempfile.mkdtemp()\nos.chdir(place)\nos.rmdir(place)\n",
    "puts_back": "import builtins\nbefore, builtins.open = open, None\nbuiltins.open = before\n",
    "no_streams": "import sys\nsys.stdout = sys.stderr = sys.stdin = None\n",
    "forks": "import os\nif os.fork() == 0: pass\n",
    "says_its_class": "class Odd:\n    @property\n    def __class__(self): raise SystemExit(7)\nodd = [Odd()]\n",
    "no_module": "import typing\nclass Odd(typing.NamedTuple):\n    w: float\nOdd.__module__ = None\n"
    "def of_record(p, x):\n    y = p.w * x + p.b  # (n,) ~unreached\n    return y\n",
    "no_arguments": "import sys\nsys.argv = None\n",
    # As torch does: its own function passes on what it does not know.
    "library_looks": "exec(compile('import inspect\\nbefore = inspect.getfile\\ndef find(o): return before(o)\\n"
    "inspect.getfile = find\\n', '/lib/site-packages/library.py', 'exec'))\n",
    "hooks": "import sys, threading, warnings\nthreading.excepthook = warnings.showwarning = sys.excepthook = print\n",
    "encodes": "import json\njson.JSONEncoder.default = lambda self, value: str(value)\n",
    "no_name": TAKES + "del __name__, __file__\n",
    "clears": CLEARS,
    "wraps_a_class": f"import functools\n{TAKES}Net.go = functools.wraps(type(bad))(lambda self: 0)\n",
    # As a test does that pretends a framework is not installed.
    "in_place_of_modules": "import sys, types\nclass Missing(types.ModuleType):\n"
    "    def __getattr__(self, name): raise ImportError(name)\n"
    "for name in ('flax', 'flax.linen', 'flax.configurations'): sys.modules[name] = Missing(name)\n",
    "more_recursion": "import sys\nsys.setrecursionlimit(5000)\n",
}
# What only the compiler minds, and not the parser, is the file's own fault.
COMPILED = 'from jaxtyping import Array, Float\nreturn 3\nx: Float[Array, "b"] = 1\n'
# Messages that nobody can read, or that never end.
MESSAGES = """
from jaxtyping import Array, Float

class Odd(Exception):
    def __str__(self): raise SystemExit(4)

class Loops(Exception):
    def __str__(self): return str(self)

def odd(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    raise Odd ~SC302

def loops(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    raise Loops ~SC302

def long(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    raise type("A" * 10**5, (Exception,), {})("x" * 10**7) ~SC302

def helper(x):
    return helper(x + 1) ~SC302

def recurs(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    return helper(x)

def bad(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
    return x.T
"""
WHEN_CALLED = """
def hostile(x: Float[Array, "b d"]) -> Float[Array, "d b"]: ~unreached
    import builtins
    builtins.len = None
    return x.T
"""
# jaxtyping takes what is in braces for any Python; what is no attribute, number or len() of one is not evaluated.
BRACES = """
from jaxtyping import Array, Float

class Sized:
    def __init__(self, n: int = 3):
        self.sizes = {"n": n}
        self.n = n

    def unread(self, x: Float[Array, '{self.sizes["n"]} d']) -> Float[Array, "{self.n} d"]: ~unreached
        return x

    def read(self, x: Float[Array, "{self.n} d"]) -> Float[Array, "d {self.n}"]:
        return x.T

def zero(x: Float[Array, "{n%0} d"], n: int) -> Float[Array, "d"]: ~unreached
    return x[0]

def formatted(x: Float[Array, "{n!r:>{n}} d"], n: int) -> Float[Array, "d"]: ~unreached
    return x[0]

def bad(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
    return x.T
"""
# What stands under a name, or is made for an argument, raises what code around it takes for something of its own.
OBJECTS = """
import weakref
from jaxtyping import Array, Float

@weakref.proxy
def gone(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    return x.T

class Stops:
    def __init__(self, n: int):
        raise StopIteration ~SC302

def needs(net: Stops, x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~unreached
    return x.T

def bad(x: Float[Array, "b d"]) -> Float[Array, "b d"]: ~SC203
    return x.T
"""
MALFORMED = [f'def f{n}(x: Float[Array, "{text} d"]): return x\n' for n, text in enumerate(["{", "{}", "{1 +}", "}{"])]


@pytest.fixture(scope="module")
def folder(check_folder):
    unreached, judged = (CLAIMS.format(mark=mark, quiet=quiet) for mark, quiet in MARKS)
    return check_folder(
        {
            **{f"{name}.py": unreached + text for name, (text, _) in DAMAGE.items()},
            **{f"harmless_{name}.py": judged + text for name, text in HARMLESS.items()},
            "when_called.py": judged + WHEN_CALLED,
            "a_first.py": judged,
            "z_last.py": judged,
            "braces.py": BRACES,
            "compiled.py": COMPILED,
            "messages.py": MESSAGES,
            "objects.py": OBJECTS,
            "malformed.py": BRACES.split("class", maxsplit=1)[0] + "".join(MALFORMED),
        }
    )


@pytest.mark.parametrize("name", DAMAGE)
def test_what_the_worker_needs_is_told_when_it_is_broken(folder, name):
    checked = folder.cases[f"{name}.py"]
    lines = [line for line, code in checked.actual if code == "unreached"]
    assert lines == [line for line, code in checked.expected]
    reasons = {each.reason for each in folder.report.unreached if each.path == f"{name}.py"}
    assert all(f"the import stopped the worker: {DAMAGE[name][1]}" in reason for reason in reasons), reasons


@pytest.mark.parametrize("name", [*(f"harmless_{name}" for name in HARMLESS), "when_called", "a_first", "z_last"])
def test_all_others_are_judged_as_without_them(folder, name):
    checked = folder.cases[f"{name}.py"]
    assert [each for each in checked.actual if each[1] != "SC304"] == checked.expected, checked.details
    assert not folder.report.bugs


def test_code_that_breaks_it_when_it_is_called_is_named(folder):
    notes = [each.message for each in folder.cases["when_called.py"].findings if each.code == "SC304"]
    assert len(notes) == 1
    assert "when_called:hostile" in notes[0]
    assert "builtins.len" in notes[0]


def test_braces_that_are_not_evaluated_leave_their_entry_unreached_with_the_reason(folder):
    checked = folder.cases["braces.py"]
    assert checked.actual == checked.expected, checked.details
    reasons = [each.reason for each in folder.report.unreached if each.path == "braces.py"]
    assert sum("in braces only attributes" in reason for reason in reasons) >= 2
    assert sum("{n%0} cannot be computed" in reason for reason in reasons) >= 1


def test_what_only_the_compiler_minds_is_a_failed_import(folder):
    (found,) = folder.cases["compiled.py"].findings
    assert (found.code, found.span.line) == ("SC303", 2)
    assert "'return' outside function" in found.message


def test_messages_that_cannot_be_read_are_cut_short(folder):
    checked = folder.cases["messages.py"]
    assert checked.actual == checked.expected, checked.details
    assert all(len(each.reason) < 2000 for each in folder.report.unreached)


def test_objects_that_raise_are_their_own_entrys_reason(folder):
    checked = folder.cases["objects.py"]
    assert checked.actual == checked.expected, checked.details
    assert not folder.report.bugs


def test_malformed_braces_are_findings(folder):
    assert [each.code for each in folder.cases["malformed.py"].findings] == ["SC101"] * len(MALFORMED)
