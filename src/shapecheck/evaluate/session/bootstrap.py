"""The script that the user's interpreter runs. It stays readable to old Pythons, so that it can refuse them in words.

Only the package `shapecheck` itself is made importable, not the folder it lies in: the checker's own dependencies
must not reach the user's code. With the number of a socket as its argument, it forks workers as that asks for them,
after it has imported the modules that are named behind it.
"""

import importlib.util
import json
import os
import sys


def _package(folder: str) -> None:
    if "shapecheck" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "shapecheck", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError("shapecheck is not where it was: " + folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules["shapecheck"] = module
    spec.loader.exec_module(module)


def _main() -> None:
    # Python puts this script's folder first on sys.path, where its files would shadow the user's modules.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    if sys.version_info < (3, 10):
        version = "%d.%d" % sys.version_info[:2]
        text = "it is Python %s, and the models must run on Python 3.10 or newer" % version
        sys.stdout.write(json.dumps({"!": "StartRefusal", "v": [text]}) + "\n")
        return
    _package(os.path.dirname(os.path.dirname(here)))
    if sys.argv[1:]:
        from shapecheck.evaluate.session.fork_child import fork_workers

        number, preload = int(sys.argv[1]), sys.argv[2:]
        del sys.argv[1:]
        if not fork_workers(number, preload):
            return
    from shapecheck.evaluate.session.worker_main import main

    main()


if __name__ == "__main__":
    _main()
