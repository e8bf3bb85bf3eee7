"""The script that the user's interpreter runs. It stays readable to old Pythons, so that it can refuse them in words.

Only the package `shapecheck` itself is made importable, not the folder it lies in: the checker's own dependencies
must not reach the user's code.
"""

import importlib.util
import json
import os
import sys


def _package(folder):  # type: ignore[no-untyped-def]
    if "shapecheck" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "shapecheck", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules["shapecheck"] = module
    spec.loader.exec_module(module)  # type: ignore[union-attr]


def _main():  # type: ignore[no-untyped-def]
    # Python puts this script's folder first on sys.path, where its files would shadow the user's modules.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    if sys.version_info < (3, 10):
        version = "%d.%d" % sys.version_info[:2]
        text = "it is Python %s, and the models must run on Python 3.10 or newer" % version
        sys.stdout.write(json.dumps({"!": "", "v": {"event": "refused", "reason": text}}) + "\n")
        return
    _package(os.path.dirname(os.path.dirname(here)))  # type: ignore[no-untyped-call]
    from shapecheck.stage.process.worker import main

    main()


if __name__ == "__main__":
    _main()  # type: ignore[no-untyped-call]
