"""Statements and functions that treat the process they run in badly, and decorators that do strange things."""

from __future__ import annotations

STATEMENTS = """
import builtins; builtins.open = None
import builtins; builtins.isinstance = lambda *a: True
import os; os.getcwd = lambda: 1 / 0
import os; os.chdir('/')
import os, tempfile; p = tempfile.mkdtemp(); os.chdir(p); os.rmdir(p)
import os; os.environ.clear()
import os; [os.close(n) for n in range(3)]
import os; os.closerange(0, 300)
import os; os._exit(0)
import os; os._exit(3)
import os; os.abort()
import os; os.fork()
import os, signal; os.kill(os.getpid(), signal.SIGSTOP)
import os, signal; os.kill(os.getpid(), signal.SIGKILL)
import os, signal; os.kill(os.getpid(), signal.SIGINT)
import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN)
import signal; signal.setitimer(signal.ITIMER_REAL, 0.05)
import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM, signal.SIGINT})
import sys; sys.exit(0)
import sys; sys.exit('a text')
import sys; sys.stdout.close(); sys.stderr.close()
import sys; sys.stdout = sys.stderr = sys.stdin = None
import sys; sys.modules.clear()
import sys; sys.modules['jax'] = None
import sys; sys.modules[__name__] = 3
import sys; del sys.modules[__name__]
import sys; sys.path.clear()
import sys; sys.meta_path.clear()
import sys; sys.path_hooks.clear(); sys.path_importer_cache.clear()
import sys; sys.setrecursionlimit(60)
import sys; sys.setrecursionlimit(10**8)
import sys; sys.settrace(lambda *a: 1 / 0)
import sys; sys.setprofile(lambda *a: 1 / 0)
import sys; sys.settrace(None)
import sys; sys.excepthook = None
import sys; sys.displayhook = sys.excepthook = lambda *a: 1 / 0
import sys; sys.argv = None
import sys; sys.argv.clear()
import sys; sys.dont_write_bytecode = 'x'
import sys; sys.setswitchinterval(1000)
import sys; sys.getrecursionlimit = None
import sys; sys.addaudithook(lambda *a: None)
import gc; gc.disable(); gc.freeze()
import time; time.monotonic = lambda: 0.0
import time; time.monotonic = time.perf_counter = time.time = None
import time; time.sleep(1000)
import itertools; sum(itertools.count())
import threading; threading.Thread(target=lambda: __import__('time').sleep(1000)).start()
import threading; threading.Thread = None
import threading; threading.current_thread = lambda: 1 / 0
import queue; queue.Queue.get = None
import atexit; atexit.register(lambda: __import__('time').sleep(1000))
import atexit; atexit._run_exitfuncs()
import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)
import subprocess; subprocess.Popen = None
import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))
import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
import ast; ast.parse = ast.walk = None
import re; re.compile = re.match = None
import linecache; linecache.getlines = linecache.getline = None
import traceback; traceback.format_exc = traceback.walk_tb = traceback.format_exception = None
import contextlib; contextlib.contextmanager = contextlib.suppress = None
import dataclasses; dataclasses.replace = dataclasses.fields = dataclasses.dataclass = None
import functools; functools.wraps = functools.partial = functools.lru_cache = None
import functools; functools._lru_cache_wrapper = None
import collections; collections.Counter = collections.defaultdict = None
import typing; typing.get_type_hints = typing.get_args = None
import inspect; inspect.signature = inspect.unwrap = inspect.getattr_static = None
import importlib; importlib.import_module = importlib.reload = None
import importlib, shapecheck; importlib.reload(shapecheck)
import json; json.dumps = json.loads = None
import itertools; itertools.count = itertools.chain = None
import warnings; warnings.simplefilter('error')
import warnings; warnings.warn = None
import logging; logging.disable(); logging.root = None
import random; random.setstate = None
import numpy; numpy.ndarray = None
import numpy; numpy.asarray = numpy.dtype = None
import numpy; numpy.seterr(all='raise')
import jax; jax.eval_shape = lambda *a, **k: 3
import jax; jax.tree_util.tree_map = jax.tree.map = None
import jax; jax.config.update('jax_platforms', 'nosuch')
import jax; jax.config.update('jax_disable_jit', True)
import jax; jax.config.update('jax_enable_x64', True)
import jax; jax.config.update('jax_debug_nans', True)
import jax; jax.config.update('jax_numpy_rank_promotion', 'raise')
import jax; jax.config.update('jax_traceback_filtering', 'remove_frames')
import jax; jax.config = None
import jax; jax.clear_caches = jax.vmap = None
import jax; jax.Array.shape = 3
import jax; jax.core.Tracer.__getattr__ = None
import jax; jax.ShapeDtypeStruct = None
import jax; jax.errors.ConcretizationTypeError = ValueError
import jax.numpy as jnp; jnp.zeros = jnp.ones = None
import jaxtyping; jaxtyping.Float = None
import jaxtyping; jaxtyping._array_types = None
import shapecheck; shapecheck.__path__ = []
import shapecheck.model; shapecheck.model.Evaluation = None
import shapecheck.evaluate.limits as limits; limits.time_limit = None
raise KeyboardInterrupt
raise SystemExit
raise GeneratorExit
raise BaseException('this')
raise StopIteration
raise MemoryError
raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})
raise type('Loop', (Exception,), {'__str__': lambda self: str(self)})
raise ExceptionGroup('both', [ValueError(), SystemExit()][:1])
assert False, object()
globals().clear()
globals()['__name__'] = 3
__builtins__ = {}
del __name__
del __file__
__file__ = 'nosuch.py'
__spec__ = __loader__ = None
__path__ = 3
__getattr__ = None
def __getattr__(name): raise SystemExit(name)
def recurse(*a): return recurse(*a)
x = (lambda f: f(f))(lambda f: f(f))
x = [0] * 10**11
x = 'x' * 10**9
x = 10 ** 10 ** 8
x = eval('(' * 80 + ')' * 80)
while True: pass
for _ in iter(int, 1): pass
""".strip().splitlines()

OBJECTS = """
class Odd:
    @property
    def __class__(self): raise SystemExit(7)
class Odd:
    def __getattribute__(self, name): raise ValueError(name)
class Odd:
    def __getattr__(self, name): return self
class Odd:
    def __eq__(self, other): raise ValueError
    __hash__ = None
class Odd:
    def __bool__(self): raise ValueError
    def __len__(self): return -1
class Odd:
    def __call__(self, *a): raise SystemExit(5)
    __wrapped__ = property(lambda self: self)
class Odd:
    shape = dtype = ndim = property(lambda self: 1 / 0)
class Odd:
    def __repr__(self): raise KeyboardInterrupt
class Odd:
    def __del__(self): raise SystemExit(6)
class Odd:
    def __iter__(self): return iter(int, 1)
class Odd(type):
    def __instancecheck__(cls, x): raise ValueError
    def __call__(cls, *a): return cls
    mro = lambda cls: [cls, object]
class Odd(type(__import__('equinox').Module)):
    def __getattribute__(cls, name): raise AttributeError(name)
class Odd(dict):
    def __getitem__(self, key): raise SystemExit
class Odd(int):
    def __add__(self, other): raise ValueError
    __mul__ = __floordiv__ = __eq__ = __lt__ = __add__
    __hash__ = int.__hash__
class Odd(str):
    def __str__(self): return 3
    split = strip = None
"""

DECORATORS = (
    "functools.lru_cache",
    "functools.cache",
    "functools.cached_property",
    "functools.wraps(print)",
    "functools.partial",
    "functools.singledispatch",
    "functools.total_ordering",
    "jax.jit",
    "jax.vmap",
    "jax.grad",
    "jax.checkpoint",
    "jax.custom_jvp",
    "jax.custom_vjp",
    "jax.named_call",
    "jax.eval_shape",
    "jax.linearize",
    "jax.pmap",
    "jax.tree_util.Partial",
    "functools.partial(jax.jit, static_argnums=(0, 1))",
    "functools.partial(jax.vmap, in_axes=3)",
    "eqx.filter_jit",
    "eqx.filter_vmap",
    "eqx.filter_grad",
    "eqx.nn.Lambda",
    "staticmethod",
    "classmethod",
    "property",
    "type",
    "iter",
    "str",
    "id",
    "print",
    "contextlib.contextmanager",
    "contextlib.nullcontext",
    "dataclasses.dataclass",
    "dataclasses.dataclass(slots=True)",
    "dataclasses.dataclass(order=True, frozen=True, kw_only=True)",
    "abc.abstractmethod",
    "typing.no_type_check",
    "typing.overload",
    "typing.final",
    "typing.runtime_checkable",
    "enum.unique",
    "enum.Enum",
    "lambda f: None",
    "lambda f: f(f)",
    "lambda f: lambda *a: f",
    "lambda f: [f]",
    "lambda f: (_ for _ in ())",
    "lambda f: type('Odd', (), {'__call__': f})()",
    "lambda f: setattr(f, '__wrapped__', f) or f",
    "lambda f: setattr(f, '__annotations__', {'x': 1, 'return': 'no['}) or f",
    "lambda f: setattr(f, '__defaults__', (1, 2, 3)) or f",
    "lambda f: setattr(f, '__code__', (lambda: 0).__code__) or f",
    "lambda f: setattr(f, '__signature__', 3) or f",
    "lambda f: setattr(f, '__module__', None) or f",
    "lambda f: setattr(f, '__qualname__', 'a.b.<locals>.c') or f",
    "unittest.mock.Mock",
    "unittest.mock.patch('os.getcwd')",
    "weakref.proxy",
    "operator.attrgetter('nosuch')",
    "asyncio.coroutines.iscoroutinefunction",
    "threading.Thread",
    "pytest.fixture",
    "pytest.mark.parametrize('x', range(3))",
    "atexit.register",
    "exec",
    "exit",
    "nosuch",
)
