"""The server over its real pipes: each feature once, and where it has to go on although something is wrong."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from tests.editor.conftest import LspSession, Project, SharedServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux lists them")

MODEL = """\
import jax.numpy as jnp
from jaxtyping import Array, Float


def scores(q: Float[Array, "s h d"], k: Float[Array, "t h d"]) -> Float[Array, "h s t"]:
    scaled = q / jnp.sqrt(q.shape[-1])
    out = jnp.einsum("shd,thd->sht", scaled, k)  # (h, s, t)
    return out.transpose(1, 0, 2)  # (h, s, t)


def mean(x: Float[Array, "b d"]) -> Float[Array, "b"]:
    total = x.sum(-1)
    return total / x.shape[-1]  # (b,)
"""


def position_of(text: str, needle: str) -> types.Position:
    """Where an ASCII text stands first."""
    before = text[: text.index(needle)].split("\n")
    return types.Position(line=len(before) - 1, character=len(before[-1]))


def apply_edits(text: str, edits: list[types.TextEdit]) -> str:
    """The ASCII text with edits that do not overlap."""
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        first, last = (starts[place.line] + place.character for place in (edit.range.start, edit.range.end))
        text = text[:first] + edit.new_text + text[last:]
    return text


NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
FALSE = 'thd->sht", scaled, k)  # (h, s, t)'
TRUE = 'thd->sht", scaled, k)  # (s, h, t)'


def test_what_is_typed_is_checked_and_what_is_said_moves_along(project: Project) -> None:
    file = project.write("model.py", MODEL)

    async def run() -> None:
        async with project.session() as session:
            uri = session.open(file)
            assert await session.status(uri, 1) == "verified 7 of 8, version 1"
            assert session.codes(uri) == [("SC201", 7)]
            (found,) = session.diagnostics(uri)
            assert found.severity == types.DiagnosticSeverity.Error
            assert found.source == "shapecheck"
            assert found.message.splitlines()[0] == "comment says (h, s, t), but out is (s, h, t)"
            assert found.code_description is not None
            assert found.code_description.href.endswith("rules/SC201.md")
            related = found.related_information or ()
            assert {each.location.range.start.line + 1 for each in related} == {5}
            session.published.clear()

            version = session.edit(uri, "import jax.numpy", "# a line above\nimport jax.numpy")
            await session.until(lambda: session.published)
            first = session.published[0]  # before any run over the new text
            assert (first.version, [d.range.start.line + 1 for d in first.diagnostics]) == (version, [8])
            await session.status(uri, version)
            assert session.codes(uri) == [("SC201", 8)]

            version = session.edit(uri, FALSE, TRUE)
            assert await session.status(uri, version) == f"verified 8 of 8, version {version}"
            assert session.codes(uri) == []
            assert session.published[-1].version == version
            assert file.read_text() == MODEL  # nothing but the open text was looked at

    asyncio.run(run())
    assert project.left_over() == []


def test_hover_says_what_values_are_and_what_claims_mean(server: SharedServer) -> None:
    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        assert "scaled: float32[s, h, d]" in await session.hover(uri, "scaled = q")
        false = await session.hover(uri, "(h, s, t)\n    return")
        assert "False: comment says (h, s, t), but out is (s, h, t)." in false
        assert '- `h` from `q: Float[Array, "s h d"]` (line 5)' in false
        assert "Verified: it holds for all sizes." in await session.hover(uri, "(b,)")
        assert await session.hover(uri, "import jax.numpy") == ""

    server.run(run, "hover.py", MODEL)


def test_inlay_hints_show_proved_shapes_where_nothing_is_claimed_and_only_when_asked_for(project: Project) -> None:
    file = project.write("model.py", MODEL + "\n\ndef unsure(x):\n    y = x + 1\n    return y  # (a, b)\n")

    async def run(options: dict[str, object]) -> list[tuple[int, str]]:
        async with project.session(options=options) as session:
            uri = session.open(file)
            await session.status(uri, 1)
            document = types.TextDocumentIdentifier(uri=uri)
            whole = types.Range(start=types.Position(0, 0), end=types.Position(100, 0))
            hints = await session.client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
            assert not options or "inlay" in session.refreshed
            return [(hint.position.line + 1, str(hint.label)) for hint in hints or ()]

    assert asyncio.run(run({})) == []
    shown = asyncio.run(run({"inlayHints": True}))
    assert (6, ": float32[s, h, d]") in shown
    assert (12, ": float32[b]") in shown
    assert 7 not in [line for line, _ in shown]  # there is a claim


def test_settings_may_change(project: Project) -> None:
    file = project.write("model.py", MODEL)

    async def run() -> None:
        async with project.session() as session:
            uri = session.open(file)
            await session.status(uri, 1)
            document = types.TextDocumentIdentifier(uri=uri)
            whole = types.Range(start=types.Position(0, 0), end=types.Position(100, 0))

            async def hints() -> int:
                found = await session.client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
                return len(found or ())

            assert await hints() == 0
            change = types.DidChangeConfigurationParams({"shapecheck": {"inlayHints": True}})
            session.client.workspace_did_change_configuration(change)
            await session.until(lambda: "inlay" in session.refreshed)
            assert await hints() == 2
            session.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
            assert await hints() == 2

    asyncio.run(run())


def test_quick_fixes_write_the_true_shape_or_silence_the_rule(server: SharedServer) -> None:
    typo = server.write(
        "typo.py",
        "import jax\nfrom jaxtyping import Array, Float\n\n"
        'def f(x: Float[Array, "batch tokens"]) -> Float[Array, "batch tokens"]:\n'
        "    y = jax.nn.softmax(x)  # (batch, tokns)\n    return y\n",
    )

    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        actions = await session.actions(uri, FALSE)
        fix, ignore, *_ = actions
        assert (fix.title, fix.is_preferred) == ("Write the true shape: (s, h, t)", True)
        assert [d.code for d in fix.diagnostics or ()] == ["SC201"]
        assert TRUE in session.apply(uri, fix)
        assert FALSE + "  # shapecheck: ignore[SC201]" in session.apply(uri, ignore)

        session.edit(uri, FALSE, FALSE + " ")  # the line is another one now: no edit from what was
        assert await session.actions(uri, FALSE, ["quickfix"]) == []
        version = session.edit(uri, FALSE + " ", FALSE + "  # shapecheck: ignore[SC201]")
        await session.status(uri, version)
        assert session.codes(uri) == []

        other = session.open(typo)
        await session.status(other, 1)
        (correct, *_) = await session.actions(other, "(batch, tokns)")
        assert correct.title == "Correct the name: (batch, tokens)"
        assert "# (batch, tokens)" in session.apply(other, correct)

    server.run(run, "fixed.py", MODEL)


def test_fix_all_writes_what_fix_writes(server: SharedServer) -> None:
    text = (
        "import jax\nfrom jaxtyping import Array, Float\n\n@jax.jit\n"
        'def f(x: Float[Array, "a"]):\n    jax.debug.print(f"x {x}")\n    return x  # (a,)\n'
    )

    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        assert [code for code, _ in session.codes(uri)] == ["SC401"]
        (action,) = await session.actions(uri, "import jax\n", ["source.fixAll"])
        assert action.kind == "source.fixAll.shapecheck"
        assert 'jax.debug.print("x {x}", x=x)' in session.apply(uri, action)

    server.run(run, "prints.py", text)


def test_a_syntax_error_while_typing_leaves_the_earlier_verdicts(server: SharedServer) -> None:
    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        version = session.edit(uri, "total = x.sum(-1)", "total = x.sum((-1")
        await session.status(uri, version)
        assert ("SC201", 7) in session.codes(uri)
        assert "scaled: float32[s, h, d]" in await session.hover(uri, "scaled = q")
        version = session.edit(uri, "total = x.sum((-1", "total = x.sum(0)")
        await session.status(uri, version)
        assert session.codes(uri) == [("SC201", 7), ("SC203", 11), ("SC201", 13)]

    server.run(run, "broken.py", MODEL)


def test_beside_a_syntax_error_answers_are_about_the_right_lines(server: SharedServer) -> None:
    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        version = session.edit(uri, "import jax.numpy", "import (\n# one\n# two\nimport jax.numpy")
        assert "Python cannot read this" in await session.status(uri, version)
        assert session.codes(uri) == [("SC104", 1), ("SC201", 10)]
        assert "Verified" in await session.hover(uri, "(h, s, t)\n\n")
        (action, *_) = await session.actions(uri, "(h, s, t)\n    return")
        assert "scaled, k)  # (s, h, t)" in session.apply(uri, action)
        document = types.TextDocumentIdentifier(uri=uri)
        place = position_of(session.texts[uri], "(b,)")
        place = types.Position(place.line, place.character + 1)
        found = await session.client.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(include_declaration=True), document, place)
        )
        assert [each.range.start.line + 1 for each in found or ()] == [14, 14, 16]

    server.run(run, "beside.py", MODEL)


def test_after_many_edits_the_last_one_counts_and_nothing_queues(project: Project) -> None:
    file = project.write("model.py", MODEL)

    async def run() -> None:
        async with project.session() as session:
            uri = session.open(file)
            await session.status(uri, 1)
            most = 0
            for number in range(200):
                shift = 1 + number % 7  # code, so that nothing of the last run will do
                version = session.edit(uri, "total = x", f"shift = {shift}; total = x")
                await asyncio.sleep(0.05)  # more than the debounce: each edit begins a run
                if number % 20 == 0:
                    most = max(most, len(project.processes()))
            assert most < 10  # the server, its fork server, and the workers of one run, with those that are ending
            version = session.edit(uri, FALSE, TRUE)
            assert await session.status(uri, version) == f"verified 8 of 8, version {version}"
            assert session.codes(uri) == []
            versions = [int(text.rpartition(" ")[2]) for _, _, text in session.statuses]
            assert versions == sorted(versions)
            await asyncio.sleep(2.5)  # were there a queue, its results would come now
            assert {text for _, _, text in session.statuses if text.endswith(f"version {version}")} == {
                f"verified 8 of 8, version {version}"
            }
            assert int(session.statuses[-1][2].rpartition(" ")[2]) == version
            assert session.messages == []

    asyncio.run(run())
    assert project.left_over() == []


def test_saving_checks_the_whole_project_with_its_tests(project: Project) -> None:
    layers = project.write("pkg/layers.py", "def double(x):\n    y = x + x  # shape: (n, 2)\n    return y\n")
    project.write("pkg/__init__.py", "")
    user = project.write(
        "pkg/user.py",
        "from jaxtyping import Array, Float\nfrom pkg.layers import double\n\n"
        'def f(x: Float[Array, "n 3"]) -> Float[Array, "n 3"]:\n    return double(x)  # (n, 3)\n',
    )

    async def run() -> None:
        async with project.session() as session:
            uri = session.open(layers)
            await session.until(lambda: ("SC201", 2) in session.codes(uri))  # by way of the file that is not open
            session.edit(uri, "(n, 2)", "(n, 3)")
            session.edit(uri, "return y", "return y.T")
            session.save(layers)
            closed = user.as_uri()
            await session.until(lambda: session.codes(closed))
            assert [line for _, line in session.codes(closed)] == [4, 5]
            assert all(each.version is None for each in session.published if each.uri == closed)
            session.edit(uri, "return y.T", "return y")
            session.save(layers)
            await session.until(lambda: session.codes(closed) == [])

    asyncio.run(run())


def test_the_configuration_is_read_again(project: Project) -> None:
    file = project.write("model.py", MODEL)

    async def run() -> None:
        async with project.session() as session:
            uri = session.open(file)
            await session.until(lambda: session.codes(uri) == [("SC201", 7)])
            config = project.write("pyproject.toml", '[tool.shapecheck]\nignore = ["SC201"]\n')
            change = types.FileEvent(uri=config.as_uri(), type=types.FileChangeType.Changed)
            session.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=[change]))
            await session.until(lambda: session.codes(uri) == [])
            project.write("pyproject.toml", '[tool.shapecheck]\nignore = ["SC999"]\n')
            session.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes=[change]))
            await session.until(lambda: session.messages)
            assert "there is no rule 'SC999'" in session.messages[0].message

    asyncio.run(run())


def test_without_jax_it_says_once_what_to_do(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    bare = tmp_path_factory.mktemp("bare") / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    file = project.write("model.py", MODEL)

    async def run() -> None:
        async with project.session(options={"python": str(bare)}) as session:
            uri = session.open(file)
            await session.until(lambda: session.messages)
            (message,) = session.messages
            assert message.type == types.MessageType.Error
            assert "JAX cannot be imported there" in message.message
            assert "--python" in message.message
            assert "`python` in [tool.shapecheck]" in message.message
            session.edit(uri, "import jax.numpy", "# 1\nimport jax.numpy")
            await asyncio.sleep(2)
            assert len(session.messages) == 1
            assert "cannot check" in session.statuses[-1][2]

    asyncio.run(run())


def test_a_worker_that_somebody_kills_is_replaced(project: Project) -> None:
    slow = MODEL.replace("def mean", "import time\ntime.sleep(1.5)\n\ndef mean")
    file = project.write("model.py", MODEL)

    async def run() -> None:
        async with project.session() as session:
            uri = session.open(file)
            await session.until(lambda: session.codes(uri) == [("SC201", 7)])
            await asyncio.sleep(2)  # the run over the project
            version = session.edit(uri, "def mean", "import time\ntime.sleep(1.5)\n\ndef mean")
            assert session.texts[uri] == slow
            await asyncio.sleep(1)
            workers = [pid for pid in project.processes() if pid != session.pid]
            for pid in workers:  # the fork server among them
                os.kill(pid, signal.SIGKILL)
            assert workers
            assert await session.status(uri, version) == f"verified 7 of 8, version {version}"
            assert session.codes(uri) == [("SC201", 7)]
            assert any("another takes its place" in each.message for each in session.messages)

    asyncio.run(run())
    assert project.left_over() == []


def test_several_folders_have_each_their_configuration(project: Project) -> None:
    one, other = project.write("one/model.py", MODEL), project.write("other/model.py", MODEL)
    project.write("one/pyproject.toml", "[tool.shapecheck]\n")
    project.write("other/pyproject.toml", '[tool.shapecheck]\nignore = ["SC201"]\n')

    async def run() -> None:
        async with project.session("one", "other") as session:
            first, second = session.open(one), session.open(other)
            await session.status(first, 1)
            await session.status(second, 1)
            await asyncio.sleep(3)
            assert (session.codes(first), session.codes(second)) == ([("SC201", 7)], [])

    asyncio.run(run())


def test_a_client_that_asks_for_diagnostics_is_not_sent_them(project: Project) -> None:
    file = project.write("model.py", MODEL)

    async def run() -> None:
        session = project.session()
        session.capabilities.text_document = types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities()
        )
        assert session.capabilities.workspace is not None
        session.capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
        async with session:
            uri = session.open(file)
            await session.until(lambda: "diagnostics" in session.refreshed)
            params = types.DocumentDiagnosticParams(text_document=types.TextDocumentIdentifier(uri=uri))
            report = await session.client.text_document_diagnostic_async(params)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            assert [d.code for d in report.items] == ["SC201"]
            assert [each for each in session.published if each.uri == uri] == []

    asyncio.run(run())


def test_progress_is_shown_of_what_takes_longer_than_a_second(server: SharedServer) -> None:
    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        await session.until(lambda: session.progress and session.progress[-1] == "end")
        assert session.progress[0] == "begin"
        session.progress.clear()

    server.run(run, "slow.py", "import time\ntime.sleep(2)\n" + MODEL)


@pytest.mark.parametrize("kill", [False, True])
def test_it_ends_with_its_client(project: Project, kill: bool) -> None:
    file: Path = project.write("model.py", "import time\ntime.sleep(20)\n" + MODEL)

    async def run() -> None:
        session = project.session()
        await session.__aenter__()
        session.open(file)
        await asyncio.sleep(4)
        assert len(project.processes()) > 1
        if kill:
            os.kill(session.pid, signal.SIGTERM)
            await asyncio.sleep(0.5)
            await session.client.stop()
        else:
            await session.__aexit__()

    asyncio.run(run())
    assert project.left_over() == []


def test_a_dim_is_renamed_in_its_scope_alone(server: SharedServer) -> None:
    text = MODEL + '\n\ndef other(x: Float[Array, "b s"]):\n    heads = 3\n    return x  # (b, s)\n'

    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        document = types.TextDocumentIdentifier(uri=uri)
        place = position_of(text, 'h d"], k')
        context = types.ReferenceContext(include_declaration=True)
        found = await session.client.text_document_references_async(
            types.ReferenceParams(text_document=document, position=place, context=context)
        )
        assert [each.range.start.line + 1 for each in found or ()] == [5, 5, 5, 7, 8]
        renamed = await session.client.text_document_rename_async(types.RenameParams(document, place, "heads"))
        assert renamed is not None
        assert renamed.changes is not None
        after = apply_edits(text, list(renamed.changes[uri]))
        assert '"s heads d"], k: Float[Array, "t heads d"]) -> Float[Array, "heads s t"]' in after
        assert "(heads, s, t)" in after
        assert "thd->sht" in after  # no claim
        assert 'other(x: Float[Array, "b s"])' in after
        with pytest.raises(JsonRpcException, match="s is another dim"):
            await session.client.text_document_rename_async(types.RenameParams(document, place, "s"))

    server.run(run, "renamed.py", text)


def test_a_dim_is_renamed_where_it_was_typed_just_now(project: Project) -> None:
    file = project.write("model.py", MODEL)

    async def run() -> None:
        async with project.session(options={"debounce": 60_000}) as session:
            uri = session.open(file)
            await session.status(uri, 1)
            session.edit(uri, "total = x.sum(-1)", "total = x.sum(-1)  # (b,)\n")
            document = types.TextDocumentIdentifier(uri=uri)
            place = position_of(session.texts[uri], 'b d"]')
            renamed = await session.client.text_document_rename_async(types.RenameParams(document, place, "batch"))
            assert renamed is not None
            assert renamed.changes is not None
            after = apply_edits(session.texts[uri], list(renamed.changes[uri]))
            assert after.count("(batch,)") == 2

    asyncio.run(run())


def test_an_integer_of_the_program_is_not_renamed_in_claims(server: SharedServer) -> None:
    text = "def f(x):\n    B, T = x.shape\n    y = x * 2  # (B, T)\n    return y\n\n\n"
    text += 'from jaxtyping import Array, Float\ndef g(x: Float[Array, "a b"]):\n    return f(x)  # (a, b)\n'
    text += '\n\ndef h(x: Float[Array, "B d"]):\n    return x\n'  # another B

    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        place = position_of(text, "B, T)")
        params = types.PrepareRenameParams(types.TextDocumentIdentifier(uri=uri), place)
        with pytest.raises(JsonRpcException, match="the program's own integer"):
            await session.client.text_document_prepare_rename_async(params)
        other = types.PrepareRenameParams(params.text_document, position_of(text, 'B d"]'))
        assert await session.client.text_document_prepare_rename_async(other) is not None

    server.run(run, "integers.py", text)


def test_names_are_completed_inside_of_claims(server: SharedServer) -> None:
    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        session.edit(uri, "total = x.sum(-1)", "total = x.sum(-1)  # (")
        document = types.TextDocumentIdentifier(uri=uri)

        async def complete(needle: str) -> list[str]:
            place = position_of(session.texts[uri], needle)
            place = types.Position(place.line, place.character + len(needle))
            found = await session.client.text_document_completion_async(types.CompletionParams(document, place))
            items = found.items if isinstance(found, types.CompletionList) else found or []
            return [item.label for item in sorted(items, key=lambda item: item.sort_text or "")]

        assert (await complete("x.sum(-1)  # ("))[:2] == ["b", "d"]
        assert await complete("total = x.sum(") == []

    server.run(run, "completed.py", MODEL)


def test_lenses_stand_on_models_and_where_claims_were_not_reached(server: SharedServer) -> None:
    text = (
        "import equinox as eqx\nimport jax\nfrom jaxtyping import Array, Float\n\n\n"
        "class Net(eqx.Module):\n    out: eqx.nn.Linear\n\n"
        "    def __init__(self, d: int, *, key):\n        self.out = eqx.nn.Linear(d, d, key=key)\n\n"
        '    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:\n'
        "        return jax.vmap(self.out)(x)\n\n\n"
        "def lost(config, x):\n    for name in config.names:\n        x = x + config[name]\n"
        "    return x  # shape: (a, b)\n"
    )

    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        await session.status(uri, 1)
        params = types.CodeLensParams(types.TextDocumentIdentifier(uri=uri))
        lenses = await session.client.text_document_code_lens_async(params) or []
        shown = {each.range.start.line + 1: each.command for each in lenses}
        assert shown[6] is not None
        assert shown[6].title == "verified 2 of 2 | template"
        assert shown[16] is not None
        assert shown[16].title.startswith("1 claim not reached: ")
        await session.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command=shown[16].command, arguments=shown[16].arguments)
        )
        await session.until(lambda: session.edits)
        after = apply_edits(text, session.edits[0].changes[uri])
        assert "def lost_example():\n    return lost, Float[Array" in after
        assert "from shapecheck import example\nimport equinox as eqx" in after
        assert "Net  f32[n," in await session.hover(uri, "Net(eqx")

    server.run(run, "net.py", text)


def test_cells_of_a_notebook_are_one_module(server: SharedServer) -> None:
    cells = [
        "%matplotlib inline\nimport jax.numpy as jnp\nfrom jaxtyping import Array, Float",
        'def f(x: Float[Array, "b d"]) -> Float[Array, "d b"]:\n    y = x * 2\n    return y.T  # (b, d)\n',
        'def g(x: Float[Array, "n 3"]):\n    return f(x)  # (3, n)\n',
    ]

    async def run(session: LspSession, file: Path) -> None:
        first, second, third = session.open_notebook(file, cells)
        await session.until(lambda: session.codes(second))
        assert [session.codes(uri) for uri in (first, second, third)] == [[], [("SC201", 3)], []]
        assert "y: float32[b, d]" in await session.hover(second, "y = x")
        fix, *_ = await session.actions(second, "(b, d)\n")
        assert "# (d, b)" in session.apply(second, fix)
        session.edit_cell(file, second, cells[1].replace("# (b, d)", "# (d, b)"))
        await session.until(lambda: not session.codes(second))
        session.edit_cell(file, third, "# above\n" + cells[2].replace("(3, n)", "(n, 3)"))
        await session.until(lambda: session.codes(third) == [("SC201", 3)])

    server.run(run, "cells.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')


def test_a_notebook_may_come_as_one_text_of_python(server: SharedServer) -> None:
    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file, MODEL)  # as JupyterLab sends it
        assert await session.status(uri, 1) == "verified 7 of 8, version 1"
        assert session.codes(uri) == [("SC201", 7)]
        session.client.text_document_did_save(
            types.DidSaveTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=uri))
        )
        version = session.edit(uri, FALSE, TRUE)
        assert await session.status(uri, version) == f"verified 8 of 8, version {version}"
        assert session.codes(uri) == []

    server.run(run, "one.ipynb", NOTEBOOK)


@pytest.mark.parametrize(("encoding", "extra"), [("utf-8", 4), ("utf-16", 1), ("utf-32", 0)])
def test_columns_are_counted_as_the_client_wants_them(project: Project, encoding: str, extra: int) -> None:
    line = '    out = jnp.einsum("shd,thd->sht", scaled, k) if "é\U0001f600" else None  # (h, s, t)'
    text = "\n".join(line if "thd->sht" in each else each for each in MODEL.split("\n"))
    file = project.write("model.py", text)

    async def run() -> None:
        session = project.session()
        kind = types.PositionEncodingKind(encoding)
        session.capabilities.general = types.GeneralClientCapabilities(position_encodings=[kind])
        async with session:
            uri = session.open(file)
            await session.status(uri, 1)
            (found,) = session.diagnostics(uri)
            assert found.range.start.character == line.index("(h, s, t)") + extra

    asyncio.run(run())


def test_paths_may_have_spaces_and_other_letters(server: SharedServer) -> None:
    async def run(session: LspSession, file: Path) -> None:
        uri = session.open(file)
        assert "%20" in uri
        await session.status(uri, 1)
        assert session.codes(uri) == [("SC201", 7)]

    server.run(run, "my models é/model.py", MODEL)
