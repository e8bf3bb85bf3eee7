"""What Python imports at its start in a program that is run with checks, and in each process that it starts.

The folder of this file stands on PYTHONPATH. It stays readable to old Pythons, and gives way to the user's own.
"""

import importlib
import importlib.util
import os
import sys


def _give_way() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    ours = sys.modules.pop("sitecustomize")
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", ours)


def _begin() -> None:
    if sys.version_info < (3, 10):
        sys.stderr.write("shapecheck: no checks, because Python %d.%d is older than 3.10\n" % sys.version_info[:2])
        return
    if "shapecheck" not in sys.modules:
        folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        spec = importlib.util.spec_from_file_location(
            "shapecheck", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        if spec is None or spec.loader is None:
            raise ImportError("shapecheck is not where it was: " + folder)
        module = importlib.util.module_from_spec(spec)
        sys.modules["shapecheck"] = module
        spec.loader.exec_module(module)
    from shapecheck.runtime.autostart import begin

    begin()


_give_way()
if os.environ.get("SHAPECHECK_DEBUG"):
    try:
        _begin()
    except SystemExit as ending:  # which Python would call a fatal error of its own, here
        sys.stderr.flush()
        os._exit(ending.code if isinstance(ending.code, int) else 1)
