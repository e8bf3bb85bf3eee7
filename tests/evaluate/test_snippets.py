"""Code of docstrings, documents and `__main__` blocks, as evidence of how functions are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from shapecheck.commands.check import check
from shapecheck.config import load
from shapecheck.model import Report

POOL = '''\
import jax.numpy as jnp


def pool(x, spec):
    """Pool.

    >>> pool(jnp.ones((2, 8, 4)), {"size": 2}).shape
    (2, 8)
    """
    b, t, d = x.shape
    y = x.reshape(b, t // spec["size"], spec["size"], d).max(2)
    z = y.mean(1)  # shape: (b, t)
    return z
'''
MIX = """\
def mix(x, settings):
    y = x @ settings.weight  # shape: (n, k)
    out = y.sum(0)  # shape: (n,)
    return out
"""
README = """\
# Usage

```python
from types import SimpleNamespace

import jax.numpy as jnp
from pkg.model import mix

settings = SimpleNamespace(weight=jnp.ones((4, 5)))
```

Then

```python
mix(jnp.ones((7, 4)), settings)
```
"""
Run = Callable[..., Report]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def check_files(files: Mapping[str, str], *, path: str = "pkg", cache: bool = False, **flags: object) -> Report:
        table = "[tool.shapecheck]\ntests = []\ntest-timeout = 3\n"
        for name, text in {"pyproject.toml": table, "pkg/__init__.py": "", **files}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return check([Path(path)], load([Path(path)], flags={"cache": cache, **flags}))

    return check_files


def errors(report: Report) -> list[tuple[int, str]]:
    return [(finding.span.line, finding.details[-1]) for finding in report.findings if finding.severity == "error"]


def snippets(report: Report) -> list[tuple[str, str]]:
    return [(each.target, each.status) for each in report.entries if each.origin == "snippet"]


def test_a_doctest_shows_what_nothing_describes(run: Run) -> None:
    report = run({"pkg/model.py": POOL})
    assert errors(report) == [(12, "called in pkg/model.py, line 7")]
    assert report.summary.unreached == 0


def test_blocks_of_a_document_go_on_with_the_variables_of_earlier_ones(run: Run) -> None:
    report = run({"pkg/model.py": MIX, "README.md": README})
    assert errors(report) == [(3, "called in README.md, line 15")]
    assert report.summary.verified == 1


def test_a_main_block_runs_with_the_variables_of_its_module(run: Run) -> None:
    main = """
if __name__ == "__main__":
    import jax.numpy as jnp
    class settings:
        weight = jnp.ones((4, 5))
    def call():
        return mix(jnp.ones((7, 4)), settings)
    call()
"""
    report = run({"pkg/model.py": MIX + main})
    assert [line for line, _ in errors(report)] == [3]


def test_what_a_main_block_sets_is_a_size_only_for_functions_that_read_it(run: Run) -> None:
    code = """
def flatten(x, width):
    return x.reshape(width, -1).T  # (n, width)

def split(x):
    return x.reshape(k, -1)  # (k, n)

def mixed(x):
    return x.reshape(k, -1).T  # (k, n)

if __name__ == "__main__":
    import jax.numpy as jnp
    n, k = 4, 5
    flatten(jnp.ones((2, n)), 2)
    flatten(jnp.ones((2, 1)), 2)
    split(jnp.ones((k, 3)))
    mixed(jnp.ones((k, 3)))
"""
    report = run({"pkg/model.py": code})
    assert [line for line, _ in errors(report)] == [9]
    assert report.summary.verified == 2


def test_claims_in_a_main_block_are_held_against_what_it_computes(run: Run) -> None:
    code = """
import jax.numpy as jnp

if __name__ == "__main__":
    x = jnp.ones((3, 4))
    n, d = x.shape
    gram = x @ x.T  # (n, n)
    wrong = x @ x.T  # (n, d)
    open("data.npy")
    n, d = x.T.shape
    turned = x.T  # (n, d)
    raise SystemExit
    late = x  # (n, d)
"""
    report = run({"pkg/model.py": code})
    assert [line for line, _ in errors(report)] == [8]
    assert report.summary.verified == 2
    assert [(each.line, each.reason) for each in report.unreached] == [
        (13, 'the block under `if __name__ == "__main__":` did not come to this line')
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("mix(jnp.ones((7, 4)), SimpleNamespace(weight=jnp.ones((5, 4))))", [("SC301", 2)]),
        # what the block itself gets wrong, or what is not there, says nothing of the code
        ("jnp.ones((7, 4)) @ jnp.ones((5, 4))", []),
        ("mix(open('data.npy'), None)", []),
    ],
)
def test_the_first_shape_error_in_what_a_main_block_runs_is_a_finding(
    run: Run, body: str, found: list[tuple[str, int]]
) -> None:
    main = f"""
if __name__ == "__main__":
    import jax.numpy as jnp
    from types import SimpleNamespace
    {body}
"""
    report = run({"pkg/model.py": MIX + main})
    assert [(each.code, each.span.line) for each in report.findings if each.severity == "error"] == found


def test_a_main_block_has_other_integers_than_those_that_let_a_function_run(run: Run) -> None:
    code = """
import jax
import jax.numpy as jnp

def route(x, w, k):
    # x: (n, d), w: (d, e)
    g, i = jax.lax.top_k(x @ w, k)
    rank = jnp.cumsum(g.swapaxes(0, 1), 0)
    return g * rank

if __name__ == "__main__":
    route(jnp.ones((6, 4)), jnp.ones((4, 5)), 2)
"""
    assert [line for line, _ in errors(run({"pkg/model.py": code}))] == [9]
    assert not errors(run({"pkg/model.py": code.replace("g * rank", "g * rank.swapaxes(0, 1)")}))


def test_an_example_script_and_documents_beside_it(run: Run, tmp_path: Path) -> None:
    script = README.split("```python\n")[1].split("```", maxsplit=1)[0] + "mix(jnp.ones((7, 4)), settings)\n"
    (tmp_path / "docs" / "guide").mkdir(parents=True)
    report = run({"pkg/model.py": MIX, "docs/guide/start.md": README})
    assert errors(report) == [(3, "called in docs/guide/start.md, line 15")]
    (tmp_path / "docs" / "guide" / "start.md").unlink()
    report = run({"pkg/model.py": MIX, "examples/use.py": script})
    assert errors(report) == [(3, "called in examples/use.py, line 7")]
    report = run({}, path=".")  # the script is checked as well
    assert errors(report) == [(3, "called in examples/use.py, line 7")]


def test_what_cannot_run_accuses_nobody(run: Run) -> None:
    readme = """\
```python
import jax.numpy as jnp
from types import SimpleNamespace
from pkg.model import mix, narrow
from elsewhere import load

x = jnp.ones((3, 4))
mix(x, SimpleNamespace(weight=jnp.ones((5, 4))))  # the wrong way round
narrow(x[0], {"scale": 1.0, "to": (7, 9)})  # raises after the comment that it contradicts
x = load("data")
narrow(x, {"scale": 1.0, "to": (3, 4)})
```
"""
    narrow = """

def narrow(x, settings):
    y = x * settings["scale"]  # shape: (n, m)
    return y.reshape(settings["to"])  # shape: (p, q)
"""
    report = run({"pkg/model.py": MIX + narrow, "README.md": readme})
    assert not errors(report)
    # The last call has no `x`: what the line before was to bind is not what it was. Of `mix` its claims say enough.
    assert (report.summary.unreached, report.summary.total) == (2, 4)


def test_the_rest_goes_on_behind_what_cannot_run(run: Run) -> None:
    readme = README.replace("settings = ", "import not_installed\nmodel = unknown(3)\nsettings = ")
    report = run({"pkg/model.py": MIX, "README.md": readme})
    assert [line for line, _ in errors(report)] == [3]
    (reason,) = {each.reason for each in report.entries if each.origin == "snippet"}
    assert reason == "README.md, line 9: ModuleNotFoundError: No module named 'not_installed'"


def test_it_writes_no_file_and_reaches_nobody(run: Run, tmp_path: Path) -> None:
    readme = """\
```python
import pathlib, socket, subprocess, sys
import jax.numpy as jnp
from types import SimpleNamespace
from pkg.model import mix

def attempt(do):
    try:
        do()
    except OSError:
        return 0
    return 1

home = pathlib.Path(sys.argv[0]).parent
done = attempt(lambda: (home / "written").touch())
done += attempt(lambda: subprocess.run([sys.executable, "--version"]))
done += attempt(lambda: socket.create_connection(("127.0.0.1", 9), timeout=1))
done += attempt(lambda: socket.getaddrinfo("localhost", 9))
mix(jnp.ones((7 + done, 4)), SimpleNamespace(weight=jnp.ones((4, 7))))
```
"""
    report = run({"pkg/model.py": MIX, "README.md": readme})
    assert not (tmp_path / "written").exists()
    # Had any of it been done, the sum would have another size than the rows.
    assert snippets(report) == [("README.md:2", "ok")]
    assert report.summary.mismatched == 0


def test_a_snippet_that_stops_stopped_no_function(run: Run) -> None:
    model = MIX.replace("    return", "    if settings.biased:\n        out = out + 1  # shape: (n,)\n    return")
    readme = README.replace("4, 5)))", "4, 7)), biased=False)").replace("settings)\n", "settings)\nraise ValueError\n")
    report = run({"pkg/model.py": model, "README.md": readme})
    (snippet,) = (each for each in report.entries if each.origin == "snippet")
    assert "ValueError" in snippet.reason
    assert [each.reason for each in report.unreached] == ["mix was evaluated, but not along this line"]


def test_a_document_may_call_shapecheck_itself(run: Run) -> None:
    readme = README.replace("settings = ", "import shapecheck\nshapecheck.check('pkg')\nsettings = ")
    report = run({"pkg/model.py": MIX, "README.md": readme})
    assert [line for line, _ in errors(report)] == [3]
    (reason,) = {each.reason for each in report.entries if each.origin == "snippet"}
    assert "What is only shown or made up reaches no other process" in reason


def test_it_has_the_time_of_a_test(run: Run) -> None:
    report = run({"pkg/model.py": MIX, "README.md": README.replace("Then", "```python\nwhile True: pass\n```")})
    (reason,) = {each.reason for each in report.entries if each.origin == "snippet"}
    assert reason == "it took longer than 3 s (--test-timeout)"


def test_what_shows_nothing_new_is_not_run(run: Run) -> None:
    known = MIX.replace("(x, settings)", '(x: Float[Array, "n d"], settings: Settings)')
    known = "from dataclasses import dataclass\nfrom jaxtyping import Array, Float\n@dataclass\n" + (
        f'class Settings:\n    weight: Float[Array, "d k"]\n{known}'
    )
    assert snippets(run({"pkg/model.py": known, "README.md": README})) == []
    assert snippets(run({"pkg/model.py": MIX, "README.md": README.replace("mix", "other")})) == []
    assert snippets(run({"pkg/model.py": MIX, "README.md": README.replace("pkg", "package")})) == []


def test_it_can_be_switched_off(run: Run) -> None:
    report = run({"pkg/model.py": POOL, "README.md": README}, snippets=False)
    assert not snippets(report)
    assert report.summary.unreached == report.summary.total


def test_an_edit_of_a_document_is_seen(run: Run) -> None:
    files = {"pkg/model.py": MIX, "README.md": README}
    assert len(errors(run(files, cache=True))) == 1
    assert len(errors(run(files, cache=True))) == 1
    assert not errors(run({**files, "README.md": README.replace("(4, 5)", "(4, 7)")}, cache=True))
    assert not errors(run({**files, "README.md": "# Usage"}, cache=True))


def test_an_edit_of_the_code_is_seen(run: Run) -> None:
    files = {"pkg/model.py": MIX.replace("mix", "mixed"), "README.md": README}
    assert run(files, cache=True).summary.unreached == 2
    assert len(errors(run({**files, "pkg/model.py": MIX}, cache=True))) == 1


def test_what_is_half_a_function_is_left_out(run: Run) -> None:
    half = README.replace("Then", "```python\ny = 1\nreturn y\n```\n\n```python\nawait y\n```")
    report = run({"pkg/model.py": MIX, "README.md": half})
    assert [line for line, _ in errors(report)] == [3]
    assert not report.bugs


def test_docs_leave_out_what_everybody_imports(run: Run) -> None:
    doctest = MIX.replace(
        "settings):\n",
        'settings):\n    """Mix.\n\n    >>> mk.mix(jnp.ones((7, 4)), mk.Box(weight=jnp.ones((4, 5))))\n    """\n',
    )
    guide = "```python\nimport pkg.model as mk\n```"
    report = run({"pkg/model.py": f"from types import SimpleNamespace as Box\n{doctest}", "docs/guide.md": guide})
    assert [place for _, place in errors(report)] == ["called in pkg/model.py, line 5"]


def test_what_is_shown_to_fail_is_no_evidence(run: Run) -> None:
    shows = """\
try:
    mix(jnp.ones((7, 5)), settings)
except TypeError as error:
    print(error)
import contextlib
with contextlib.suppress(TypeError):
    mix(jnp.ones((4,)), settings)
"""
    readme = README.replace("mix(jnp.ones((7, 4)), settings)\n", shows)
    report = run({"pkg/model.py": MIX, "README.md": readme})
    assert not report.findings
    assert report.summary.unreached == 2


def test_an_object_that_cannot_be_flattened_without_values_is_not_called_again(run: Run) -> None:
    box = """\
import jax


@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, weight, settings):
        self.weight, self.settings = weight, settings

    def mix(self, x):
        return x @ self.weight  # shape: (n, k)

    def tree_flatten(self):
        if isinstance(self.weight, jax.ShapeDtypeStruct):
            raise AttributeError("it has no values")
        return (self.weight,), self.settings

    @classmethod
    def tree_unflatten(cls, settings, children):
        return cls(*children, settings)
"""
    readme = "```python\nfrom pkg.model import Box\nBox(jnp.ones((4, 5)), {}).mix(jnp.ones((7, 4)))\n```"
    report = run({"pkg/model.py": box, "README.md": readme})
    assert (report.summary.verified, report.bugs) == (1, ())


def test_data_for_a_test_may_be_fewer_than_those_for_training(run: Run) -> None:
    code = """
import jax.numpy as jnp

if __name__ == "__main__":
    train = jnp.ones((70, 5))  # (examples, features)
    test = jnp.ones((30, 5))  # (examples, features)
    turned = train.T  # (examples, features)
    sums = test.sum(0)  # (examples, features)
    n, d = train.shape
    late = train[1:]  # (n, d)
"""
    report = run({"pkg/model.py": code})
    assert [line for line, _ in errors(report)] == [7, 8, 10]
    assert [each.line for each in report.unreached] == [6]
