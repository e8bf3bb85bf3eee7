"""From an edit to its diagnostics in the language server, beside a bare import and evaluation of the edited module.

    python tests/bench/bench_lsp.py --rounds 7

The model has about 300 lines: fixtures/gpt twice, under other names. An edit changes a factor in a method, so that
every entry that ran through it runs again; other edits write a remark behind a line, and an empty line above it. The
time is that from the edit to the diagnostics of its version, the debounce (none here) and the protocol included; beside
it stands the processor time of the server and all that it started, which tells more on a busy machine. Bare is what
anybody has to do: run the module's text anew in a process that has JAX and Equinox imported, construct both models and
call them, by `eqx.filter_eval_shape`. Hover and inlay hints come from the last results. With `--others N` the project
has N further modules that the edited one imports, each with work to do on import.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from lsprotocol import types

ROOT = Path(__file__).parents[2]
GPT = ROOT / "fixtures" / "gpt" / "model.py"
LINE = "h = jax.nn.gelu(jax.vmap(self.up)(x))"


def session_class() -> Any:
    """The client of the tests."""
    spec = importlib.util.spec_from_file_location("lsp_session", ROOT / "tests" / "editor" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lsp_session"] = module
    spec.loader.exec_module(module)
    return module.LspSession


def model_text(others: int) -> str:
    """The model, about 300 lines."""
    once = re.sub(r"  # E: SC\d+", "", GPT.read_text())
    start = once.index("class CausalSelfAttention")
    again = once[start:]
    for name in ("CausalSelfAttention", "causal_mask", "MLP", "Block", "GPT", "loss_fn", "sample"):
        again = re.sub(rf"\b{name}\b", f"{name}2" if name[0].islower() else f"Second{name}", again)
    imports = "".join(f"import other_{number}\n" for number in range(others))
    again = again.replace("jax.nn.gelu(jax.vmap(self.up)(x))", "jax.nn.relu(jax.vmap(self.up)(x))")
    return once.replace("import math\n", f"import math\n{imports}", 1) + "\n\n" + again


def bare(text: str, rounds: int) -> list[float]:
    """Seconds of an import and the evaluation of both models, in this process, which is warm."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    def once() -> None:
        module = ModuleType("model")
        sys.modules["model"] = module
        exec(compile(text, "model.py", "exec"), vars(module))  # noqa: S102 - a fixture of ours
        for name in ("GPT", "SecondGPT"):

            def run(tokens: jax.Array, name: str = name) -> Any:
                config = module.Config(n_layer=2, n_embd=48, n_head=4, vocab_size=97)
                return getattr(module, name)(config, key=jax.random.PRNGKey(0))(tokens)

            eqx.filter_eval_shape(run, jax.ShapeDtypeStruct((64,), jnp.int32))

    found = []
    for _ in range(rounds + 1):
        jax.clear_caches()
        start = time.perf_counter()
        once()
        found.append(time.perf_counter() - start)
    return found[1:]


def processor_seconds(process: int) -> float:
    """What a process and all below it have used of the processor, those that have ended included."""
    parents, used = {}, {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(status.parent.name)] = int(fields[1])
        used[int(status.parent.name)] = sum(map(int, fields[11:15]))
    below = {process}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(used.get(each, 0) for each in below) / os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """Seconds of each kind of request, and of the processor for each edit."""

    edits: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    remarks: list[float] = field(default_factory=list)
    blank_lines: list[float] = field(default_factory=list)
    hovers: list[float] = field(default_factory=list)
    hints: list[float] = field(default_factory=list)


async def ours(folder: Path, rounds: int) -> Measured:
    """Edit in a session of the server."""
    file = folder / "model.py"
    found = Measured()
    async with session_class()([folder], options={"debounce": 0, "inlayHints": True}) as session:
        uri = session.open(file)
        await session.status(uri, 1)
        await asyncio.sleep(1.5)
        await session.until(lambda: len(session.statuses) > 1)  # the project
        line = LINE
        for number in range(rounds + 1):
            start, used = time.perf_counter(), processor_seconds(session.pid)
            # each text is a new one: what was seen before is remembered
            version = session.edit(uri, line, line := f"h = {number}.5 * jax.nn.gelu(jax.vmap(self.up)(x))")
            await session.status(uri, version)
            found.edits.append(time.perf_counter() - start)
            await asyncio.sleep(0.2)  # in which the worker ends, and is counted
            found.processor.append(processor_seconds(session.pid) - used)
            for times, new in ((found.remarks, f"{line}  # remark {number}"), (found.blank_lines, f"\n        {line}")):
                start = time.perf_counter()
                version = session.edit(uri, line, new)
                await session.status(uri, version)
                times.append(time.perf_counter() - start)
                await asyncio.sleep(0.2)
                line = new
            start = time.perf_counter()
            assert await session.hover(uri, "y = att @ v  # (n_head, T, C // n_head)\n        y = y.swap")
            found.hovers.append(time.perf_counter() - start)
            whole = types.Range(start=types.Position(0, 0), end=types.Position(1000, 0))
            document = types.TextDocumentIdentifier(uri=uri)
            start = time.perf_counter()
            assert await session.client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
            found.hints.append(time.perf_counter() - start)
            await asyncio.sleep(0.3)
    return found


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--others", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "pyproject.toml").write_text("[tool.shapecheck]\n")
        text = model_text(arguments.others)
        for number in range(arguments.others):
            work = "import time\ntime.sleep(0.1)  # as a module takes that builds tables\n"
            (folder / f"other_{number}.py").write_text(work)
            sys.path.insert(0, name)
        (folder / "model.py").write_text(text)
        found = asyncio.run(ours(folder, arguments.rounds))
        base = bare(text, arguments.rounds)
    edits, alone = found.edits[1:], statistics.median(base)
    print(f"{len(text.splitlines())} lines; {arguments.rounds} edits")
    for name, times in (("edit", edits), ("remark", found.remarks[1:]), ("empty line", found.blank_lines[1:])):
        middle = statistics.median(times)
        spread = f"({min(times):.2f} to {max(times):.2f}); ratio {middle / alone:.1f}"
        print(f"{name} to diagnostics".ljust(26), f"{middle:.2f} s {spread}")
    print("processor for an edit".ljust(26), f"{statistics.median(found.processor[1:]):.2f} s")
    print("bare, warm".ljust(26), f"{alone:.2f} s ({min(base):.2f} to {max(base):.2f})")
    for name, times in (("hover", found.hovers), ("inlay hints", found.hints)):
        print(name.ljust(26), f"{1000 * statistics.median(times):.1f} ms (at most {1000 * max(times):.1f})")


if __name__ == "__main__":
    main()
