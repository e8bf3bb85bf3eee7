"""The command line: mostly with a pipeline that is told what to find, at the end with the real one."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import shapecheck.commands
from shapecheck.cli import main
from shapecheck.config import Config
from shapecheck.model import Finding, Report, Severity, Span, Summary, UnreachedClaim
from shapecheck.rules import RULES
from shapecheck.verdicts.baseline import BaselineError

SRC = str(Path(shapecheck.__file__).parent.parent)
LINES = ("y = x @ w  # (a, b)",)


def finding(severity: Severity = "error", code: str = "SC201") -> Finding:
    return Finding(
        code=code,
        severity=severity,
        path="pkg/a.py",
        span=Span(1, 1, 1, 2),
        message="comment says (a, b), but y is (b, a)",
        claimed="a b",
    )


PASS = Report(
    findings=(),
    summary=Summary(total=2, verified=2, verified_for_all_sizes=1),
    unreached=(),
    entries=(),
    files=1,
    sources=(("pkg/a.py", LINES),),
)
WRONG = replace(
    PASS, findings=(finding(),), summary=Summary(total=2, verified=1, verified_for_all_sizes=1, mismatched=1)
)
NOTED = replace(
    PASS,
    findings=(finding("note", "SC302"),),
    summary=Summary(total=2, verified=1, verified_for_all_sizes=1, mismatched=0, tentative=0, unreached=1),
    unreached=(UnreachedClaim("pkg/a.py", 7, "it decides on a value"),),
)


class Pipeline:
    """Stands for shapecheck.commands.check: returns or raises `result`, and remembers what it was asked."""

    def __init__(self) -> None:
        self.result: Report | BaseException = PASS
        self.paths: Sequence[Path] = ()
        self.config = Config(root=Path())
        self.stdin: tuple[str, bytes] | None = None
        self.echo = False

    def check(
        self,
        paths: Sequence[Path],
        config: Config,
        *,
        progress: Callable[[str, int, int], None] | None = None,
        stdin: tuple[str, bytes] | None = None,
        echo: bool = False,
        start: object = None,
    ) -> Report:
        self.paths, self.config, self.stdin, self.echo = paths, config, stdin, echo
        if progress is not None:
            progress("evaluating", 1, 2)
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_text("y = x @ w  # (a, b)\n")
    fake = Pipeline()
    module = ModuleType("shapecheck.commands.check")
    vars(module)["check"] = fake.check
    monkeypatch.setitem(sys.modules, "shapecheck.commands.check", module)
    monkeypatch.setattr(shapecheck.commands, "check", module, raising=False)
    return fake


Capture = pytest.CaptureFixture[str]


# --- what it says and how it ends


def test_a_path_alone_is_checked(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = WRONG
    assert main(["pkg"]) == main(["check", "pkg"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("pkg/a.py:1:1: SC201 comment says (a, b), but y is (b, a)\n    1 | y = x @ w  # (a, b)\n")
    assert "2 claims: 1 verified (1 for all sizes), 1 mismatched" in err
    assert pipeline.paths == (Path("pkg"),)


def test_without_a_path_it_is_the_working_directory(pipeline: Pipeline) -> None:
    assert main(["check", "--select", "SC201"]) == 0
    assert pipeline.paths == (Path(),)


def test_options_may_come_first(pipeline: Pipeline) -> None:
    assert main(["--select", "SC201", "pkg"]) == 0
    assert pipeline.config.select == ("SC201",)


@pytest.mark.parametrize(
    ("report", "flags", "code"),
    [
        (PASS, [], 0),
        (WRONG, [], 1),
        (replace(WRONG, findings=(finding("warning", "SC301"),)), [], 1),
        (WRONG, ["--exit-zero"], 0),
        (NOTED, [], 0),
        (NOTED, ["--fail-on-unreached"], 1),
        (NOTED, ["--fail-on-unreached", "--exit-zero"], 0),
        (PASS, ["--fail-on-unreached"], 0),
        (replace(WRONG, broken=("a.py:3: a:example: what to change",)), ["--exit-zero"], 2),
    ],
)
def test_exit_code(report: Report, flags: list[str], code: int, pipeline: Pipeline) -> None:
    pipeline.result = report
    assert main(["pkg", *flags]) == code


def test_a_flag_can_switch_off_what_the_file_switches_on(pipeline: Pipeline) -> None:
    Path("pyproject.toml").write_text("[tool.shapecheck]\nfail-on-unreached = true\noutput-format = 'concise'")
    pipeline.result = NOTED
    assert main(["pkg"]) == 1
    assert main(["pkg", "--no-fail-on-unreached"]) == 0


def test_a_pipe_is_no_source_file(tmp_path: Path, capsys: Capture) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert main([str(tmp_path / "pipe.py")]) == 2
    assert "neither a file nor a folder" in capsys.readouterr().err


def test_findings_go_to_stdout_and_all_else_to_stderr(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = replace(WRONG, unreached=NOTED.unreached)
    main(["pkg", "--output-format", "json", "--statistics", "--show-unreached", "-v"])
    out, err = capsys.readouterr()
    assert json.loads(out)["findings"][0]["code"] == "SC201"
    assert "1  SC201  comment-mismatch" in err
    assert "pkg/a.py:7: it decides on a value" in err
    assert "configuration: none found" in err


def test_quiet_leaves_the_findings(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = WRONG
    main(["pkg", "-q", "--output-format", "concise"])
    assert capsys.readouterr() == ("pkg/a.py:1:1: SC201 comment says (a, b), but y is (b, a)\n", "")


def test_the_format_of_the_file_and_of_the_flag(pipeline: Pipeline, capsys: Capture) -> None:
    Path("pyproject.toml").write_text("[tool.shapecheck]\noutput-format = 'github'")
    pipeline.result = WRONG
    main(["pkg"])
    assert capsys.readouterr().out.startswith("::error ")
    main(["pkg", "--output-format", "json-lines"])
    assert capsys.readouterr().out.startswith("{")


def test_output_file(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = WRONG
    assert main(["pkg", "--output-format", "json", "--output-file", "out.json"]) == 1
    assert capsys.readouterr().out == ""
    assert json.loads(Path("out.json").read_text())["version"] == 1
    assert sorted(os.listdir()) == ["out.json", "pkg"]


def test_an_output_file_that_cannot_be_written(pipeline: Pipeline, capsys: Capture) -> None:
    assert main(["pkg", "--output-file", "missing/out.txt"]) == 2
    assert "there is no folder missing" in capsys.readouterr().err
    assert pipeline.paths == (), "said before the work, not after it"
    assert main(["pkg", "--output-file", "/dev/stdout"]) == 0


# --- colours


@pytest.mark.parametrize(
    ("flags", "environment", "coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, False),
    ],
)
def test_colours(
    flags: list[str],
    environment: dict[str, str],
    coloured: bool,
    pipeline: Pipeline,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    pipeline.result = WRONG
    main(["pkg", *flags])
    assert ["\x1b[" in stream for stream in capsys.readouterr()] == [coloured, coloured]


def test_a_file_gets_colours_only_on_request(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    pipeline.result = WRONG
    main(["pkg", "--output-file", "out.txt"])
    assert "\x1b" not in Path("out.txt").read_text()
    main(["pkg", "--output-file", "out.txt", "--color", "always"])
    assert "\x1b" in Path("out.txt").read_text()


# --- what goes into the configuration


def test_flags_reach_the_pipeline(pipeline: Pipeline) -> None:
    flags = ["--select", "SC2,SC301", "--select", "SC1", "--ignore", "SC207,", "--strict-comments", "--timeout", "2.5"]
    more = ["--memory", "3", "--report-unused-ignores", "--python", sys.executable, "--baseline", "b.json"]
    assert main(["pkg", *flags, *more]) == 0
    config = pipeline.config
    assert (config.select, config.ignore) == (("SC2", "SC301", "SC1"), ("SC207",))
    assert (config.strict_comments, config.report_unused_ignores, config.fail_on_unreached) == (True, True, False)
    assert (config.timeout, config.memory) == (2.5, 3.0)
    assert config.python == Path(sys.executable)
    assert config.baseline == Path.cwd() / "b.json"


def test_another_configuration_file(pipeline: Pipeline) -> None:
    Path("pyproject.toml").write_text("[tool.shapecheck]\ntimeout = 1")
    Path("other.toml").write_text("[tool.shapecheck]\ntimeout = 2")
    main(["pkg", "--config", "other.toml"])
    assert pipeline.config.timeout == 2.0


def test_flags_reach_the_configuration(pipeline: Pipeline) -> None:
    main(
        ["pkg", "--budget", "400", "--test-timeout", "3", "--jobs", "2", "--no-cache", "--no-tests", "--force-exclude"]
    )
    config = pipeline.config
    assert (config.budget, config.test_timeout, config.jobs) == (400.0, 3.0, 2)
    assert (config.cache, config.tests, config.force_exclude) == (False, (), True)
    main(["pkg"])
    assert (pipeline.config.cache, pipeline.config.tests, pipeline.echo) == (True, None, False)
    main(["pkg", "-v"])
    assert pipeline.echo


def test_stdin(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x = 1  # \xff\n")))
    (Path("pkg") / "pyproject.toml").write_text("[tool.shapecheck]\ntimeout = 9")
    assert main(["-", "--stdin-filename", "pkg/new.py"]) == 0
    assert pipeline.stdin == ("pkg/new.py", b"x = 1  # \xff\n")
    assert pipeline.paths == ()
    assert pipeline.config.timeout == 9.0, "the configuration is that of the file's place"


# --- baseline


def test_a_baseline_is_written_from_a_run_without_one(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = WRONG
    assert main(["pkg", "--baseline", "b.json", "--update-baseline"]) == 0
    assert pipeline.config.baseline is None
    out, err = capsys.readouterr()
    assert out == ""
    assert "Recorded 1 finding in" in err
    assert json.loads(Path("b.json").read_text())["findings"][0]["path"] == "pkg/a.py"


def test_a_baseline_can_stand_in_the_configuration(pipeline: Pipeline) -> None:
    Path("pyproject.toml").write_text("[tool.shapecheck]\nbaseline = 'b.json'")
    assert main(["pkg", "--update-baseline"]) == 0
    assert Path("b.json").exists()


# --- what goes wrong


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["missing.py"], "There is no file or folder 'missing.py'."),
        (["explian"], "Did you mean the command 'explain'?"),
        (["pkg", "missing.py"], "There is no file or folder 'missing.py'."),
        (["pkg", "--frobnicate"], "No such option"),
        (["pkg", "--output-format", "xml"], "'xml' is not one of 'full', 'concise'"),
        (["pkg", "--timeout", "0"], "--timeout"),
        (["pkg", "--budget", "x"], "'x' is not a valid number of seconds"),
        (["pkg", "--select", "SC9"], "--select: there is no rule 'SC9'; did you mean"),
        (["pkg", "--python", "no-such-python"], "--python: there is no Python interpreter 'no-such-python'"),
        (["pkg", "--config", "no.toml"], "no.toml: cannot be read"),
        (["pkg", "--update-baseline"], "--update-baseline needs --baseline FILE"),
        (["-"], "needs --stdin-filename"),
        (["-", "pkg", "--stdin-filename", "a.py"], "cannot be mixed"),
        (["pkg", "--stdin-filename", "a.py"], "needs the path `-`"),
        (["explain", "SC211"], "did you mean 'SC201'?"),
        (["claims"], "Missing argument 'PATH...'"),
        (["claims", "missing.py"], "There is no file or folder 'missing.py'."),
    ],
)
def test_usage_errors(args: list[str], message: str, pipeline: Pipeline, capsys: Capture) -> None:
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_a_bad_configuration_is_no_bug_of_ours(pipeline: Pipeline, capsys: Capture) -> None:
    Path("pyproject.toml").write_text("[tool.shapecheck]\nslect = []")
    assert main(["pkg"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("Error: ")
    assert "did you mean 'select'?" in err


def test_a_bad_baseline_is_no_bug_of_ours(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = BaselineError("b.json: is not a baseline")
    assert main(["pkg"]) == 2
    assert capsys.readouterr() == ("", "Error: b.json: is not a baseline\n")


@pytest.mark.parametrize("error", [ValueError("oh no"), BrokenPipeError(32, "the worker went away"), EOFError("oh no")])
def test_our_own_bug_asks_to_be_reported(error: Exception, pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = error
    assert main(["pkg", "--exit-zero"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" in err
    assert f"This is a bug in shapecheck {shapecheck.__version__}" in err


def test_a_bug_that_the_run_outlived_is_shown_after_the_findings(pipeline: Pipeline, capsys: Capture) -> None:
    bugs = tuple(f"RuntimeError: number {number}\n" for number in range(5))
    pipeline.result = replace(WRONG, bugs=bugs)
    assert main(["pkg", "--exit-zero"]) == 2
    out, err = capsys.readouterr()
    assert "SC201" in out
    assert "number 2" in err
    assert "number 3" not in err
    order = ["1 mismatched", "number 0", "(2 more like these) This is a bug in shapecheck"]
    assert [err.index(text) for text in order] == sorted(err.index(text) for text in order)


def test_what_cannot_be_read_is_named(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = replace(PASS, unread=(("pkg/closed", "cannot be read: Permission denied"),))
    assert main(["pkg", "-q"]) == 0
    assert capsys.readouterr().err == "Not checked: pkg/closed: cannot be read: Permission denied\n"


def test_an_interrupt_is_not_a_traceback(pipeline: Pipeline, capsys: Capture) -> None:
    pipeline.result = KeyboardInterrupt()
    assert main(["pkg", "--output-file", "out.txt"]) == 130
    assert capsys.readouterr() == ("", "\nInterrupted.\n")
    assert os.listdir() == ["pkg"]


# --- the other commands


def test_alone_it_shows_help_and_does_not_count_as_a_clean_run(capsys: Capture) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "shapecheck src/" in err


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_teaches(flag: str, capsys: Capture) -> None:
    assert main([flag]) == 0
    text = capsys.readouterr().out
    for word in ("verified", "mismatched", "unreached", "Exit code: 0", "pyproject.toml", "ignore[SC201]", "explain"):
        assert word in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_help_of_commands_and_rules(capsys: Capture) -> None:
    assert main(["help", "check"]) == 0
    assert "Usage: shapecheck check" in capsys.readouterr().out
    assert main(["help", "SC201"]) == 0
    assert "comment-mismatch" in capsys.readouterr().out
    assert main(["help", "chek"]) == 2
    assert "There is no command 'chek', and no rule has that name. Did you mean 'check'?" in capsys.readouterr().err


def test_help_of_check_names_every_option(capsys: Capture) -> None:
    assert main(["check", flag := "--help"]) == 0
    text = capsys.readouterr().out
    assert flag in text
    assert "--stdin-filename" in text and "--update-baseline" in text


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"shapecheck {shapecheck.__version__}\n"


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_explain(rule: Any, capsys: Capture) -> None:
    assert main(["explain", rule.code.lower()]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{rule.code} {rule.name} ({rule.severity})\n")
    assert textwrap.indent(rule.bad, "    ") in text
    assert textwrap.indent(rule.good, "    ") in text


def test_explain_takes_a_name_and_lists_all(capsys: Capture) -> None:
    assert main(["explain", "comment-mismatch"]) == 0
    assert capsys.readouterr().out.startswith("SC201 ")
    assert main(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(RULES)


# --- as a process


def test_explain_of_a_group_names_its_rules(capsys: Capture) -> None:
    assert main(["explain", "SC3"]) == 2
    assert (
        "There is no rule 'SC3'; did you mean one of SC301, SC302, SC303, SC304, SC305, SC306?"
        in capsys.readouterr().err
    )


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SRC}
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, env=environment, check=False, timeout=60, **options
    )


@pytest.mark.parametrize("module", ["shapecheck", "shapecheck.cli"])
def test_importing_it_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{'jax', 'libcst', 'rich', 'pathspec', 'numpy'}} & set(sys.modules)))"
    assert run("-c", code).stdout == "\n"


def test_the_face_of_the_package_needs_the_standard_library_only() -> None:
    """It must work in the user's interpreter, where our dependencies are absent: -S leaves site-packages out."""
    result = run("-S", "-c", "from shapecheck import example; print(example(lambda: 3)())")
    assert result.stdout == "3\n", result.stderr


def test_it_runs_as_a_module() -> None:
    result = run("-m", "shapecheck", "--version")
    assert (result.returncode, result.stdout) == (0, f"shapecheck {shapecheck.__version__}\n")


FAKE = """
import sys, time, types
from dataclasses import replace
import shapecheck.commands
from shapecheck.model import Finding, Report, Span, Summary
def check(paths, config, *, progress=None, stdin=None, echo=False, start=None):
    progress("evaluating models", 1, 4)
    time.sleep({seconds})
    finding = Finding(code="SC201", severity="error", path="a.py", span=Span(1, 1, 1, 2), message="{message}")
    summary = Summary(total=1, mismatched=1)
    return Report(findings=(finding,) * {count}, summary=summary, unreached=(), entries=())
shapecheck.commands.check = sys.modules["shapecheck.commands.check"] = types.ModuleType("shapecheck.commands.check")
shapecheck.commands.check.check = check
from shapecheck.cli import main
sys.exit(main())
"""


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes a program that is shapecheck with a pipeline of the given properties, and returns its command."""

    def _fake(seconds: float = 0, count: int = 1, message: str = "m") -> list[str]:
        program = tmp_path / "program.py"
        program.write_text(FAKE.format(seconds=seconds, count=count, message=message), encoding="utf-8")
        return [sys.executable, str(program), str(tmp_path)]

    return _fake


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYTHONPATH", SRC)
    yield


def test_a_reader_who_goes_away_is_no_error(fake: Callable[..., list[str]]) -> None:
    process = subprocess.Popen(fake(count=100_000), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) == 1
    assert "100000 problems" in err
    assert "Traceback" not in err and "BrokenPipe" not in err


def test_an_encoding_that_lacks_letters_is_no_error(fake: Callable[..., list[str]]) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    result = subprocess.run(fake(message="größe → 日本"), capture_output=True, env=environment, check=False, timeout=60)
    assert result.returncode == 1
    assert b"gr\xf6\xdfe \\u2192" in result.stdout


def test_control_c(fake: Callable[..., list[str]]) -> None:
    process = subprocess.Popen(fake(seconds=30), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)  # past the imports
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert out == ""
    assert err == "\nInterrupted.\n"


def terminal(command: list[str]) -> str:
    """What the command writes to a terminal on its stderr."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=child, env=environment)
    os.close(child)
    parts = []
    try:
        while part := os.read(parent, 4096):
            parts.append(part)
    except OSError:  # Linux says so when the other end was closed
        pass
    os.close(parent)
    process.wait(30)
    return b"".join(parts).decode()


def test_a_progress_bar_comes_after_a_second_on_a_terminal_only(fake: Callable[..., list[str]]) -> None:
    slow = terminal(fake(seconds=2))
    assert "evaluating models" in slow
    assert "1/4" in slow
    assert "evaluating" not in terminal(fake(seconds=0))
    result = subprocess.run(fake(seconds=1.5), capture_output=True, text=True, check=False, timeout=60)
    assert "evaluating" not in result.stderr
    assert "\x1b" not in result.stderr + result.stdout


# --- the real thing

MODEL = """\
from jaxtyping import Array, Float


def project(x: Float[Array, "batch d"], w: Float[Array, "d hidden"]):
    y = x @ w  # (hidden, batch)
    return y
"""


def real(folder: Path, *args: str, **options: Any) -> tuple[int, str, str]:
    result = run("-m", "shapecheck", *args, cwd=folder, **options)
    return result.returncode, result.stdout, result.stderr


def test_a_finding_from_first_run_to_baseline_and_suppression(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    code, out, err = real(tmp_path, ".")
    assert code == 1
    assert out.startswith("model.py:5:18: SC201 comment says (hidden, batch), but y is (batch, hidden)\n")
    assert "    5 |     y = x @ w  # (hidden, batch)\n      |                  ^^^^^^^^^^^^^^^\n" in out
    assert "3 claims: 2 verified (2 for all sizes), 1 mismatched" in err

    assert real(tmp_path, "model.py", "--baseline", "baseline.json", "--update-baseline")[0] == 0
    file.write_text("# a new first line\n\n" + MODEL)
    code, out, err = real(tmp_path, "model.py", "--baseline", "baseline.json")
    assert (code, out) == (0, "")
    assert "(1 in the baseline)" in err

    file.write_text(MODEL.replace("batch)\n", "batch)  # shapecheck: ignore[SC201]\n"))
    code, out, err = real(tmp_path, "model.py", "--report-unused-ignores")
    assert (code, out) == (0, "")
    assert "(1 suppressed)" in err


def test_text_on_stdin_stands_for_the_file(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("# saved, and not yet right\n")
    code, out, _ = real(tmp_path, "-", "--stdin-filename", "model.py", "--output-format", "concise", input=MODEL)
    assert (code, out) == (1, "model.py:5:18: SC201 comment says (hidden, batch), but y is (batch, hidden)\n")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that not even root can read")
@pytest.mark.parametrize("command", ["check", "claims"])
def test_a_file_that_cannot_be_read_is_no_bug_of_ours(command: str, tmp_path: Path) -> None:
    (tmp_path / "locked.py").symlink_to("/proc/self/mem")
    result = run("-m", "shapecheck", command, "locked.py", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "Error: locked.py: cannot be read: Input/output error\n"


def test_claims(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("raise SystemExit('imported')\n" + MODEL)
    code, out, err = real(tmp_path, "claims", "model.py")
    assert code == 0
    assert "model.py:6:18: comment y: [hidden batch]\n" in out
    assert "model.py:5:16: annotation x: Float[batch d]\n" in out
    assert err == "3 claims in 1 file\n"
    code, out, err = real(tmp_path, "claims", ".", "--output-format", "json")
    document = json.loads(out)
    assert (code, err, document["version"]) == (0, "", 1)
    keys = {"path", "line", "column", "notation", "spec", "target", "sure", "scope"}
    assert [set(claim) for claim in document["claims"]] == [keys] * 3


def test_a_file_of_the_name_of_a_library_s_module_runs_in_the_worker_alone(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "model.py").write_text(MODEL)
    code, out, _ = real(tmp_path, "model.py")
    assert code == 1
    assert out.startswith("model.py:5:18: SC201 ")


@pytest.mark.parametrize("group", [False, True], ids=["one process", "process group"])
def test_control_c_leaves_no_worker_behind(
    group: bool, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A terminal sends the signal to the whole group, an editor to one process."""
    pid = tmp_path_factory.mktemp("worker") / "pid"
    slow = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    (tmp_path / "model.py").write_text(MODEL + slow)
    command = [sys.executable, "-m", "shapecheck", "model.py"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, "", "\nInterrupted.\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_file_that_is_no_python_is_no_silent_pass(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("def f(:\n")
    code, out, error = real(tmp_path, "new.py", "--select", "SC201")
    assert (code, out, error) == (0, "", "1 file could not be parsed: nothing in it was checked or counted (SC104).\n")
    assert real(tmp_path, "new.py", "--select", "SC201", "--fail-on-unreached")[0] == 1
    code, out, _ = real(tmp_path, "new.py")
    assert code == 1
    assert out.startswith("new.py:1:7: SC104 this file cannot be parsed, so nothing in it is checked: invalid syntax\n")
