from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from shapecheck.config import Config, ConfigError, Example, interpreter, load

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a pyproject.toml with the given [tool.shapecheck] and returns its folder, the working directory."""
    monkeypatch.chdir(tmp_path)

    def _write(text: str) -> Path:
        (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\n" + text, encoding="utf-8")
        return tmp_path

    return _write


def error(folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load([folder])
    assert str(caught.value).startswith(str(folder / "pyproject.toml"))
    return str(caught.value).removeprefix(str(folder / "pyproject.toml")).removeprefix(": ")


def test_everything_at_once(write: Write) -> None:
    root = write("""
select = ["SC2", "SC301"]
ignore = ["SC207"]
exclude = ["build/", "*_pb2.py"]
strict-comments = true
fail-on-unreached = true
report-unused-ignores = true
timeout = 5
memory = 0.5
baseline = "ci/baseline.json"
output-format = "concise"
src = ["src", "lib"]
force-exclude = true
tests = ["."]
budget = 90
test-timeout = 2
jobs = 3
cache = false

[tool.shapecheck.per-file-ignores]
"tests/**" = ["SC1"]

[tool.shapecheck.sizes]
batch = 3
d_model = 48

[[tool.shapecheck.example]]
call = "pkg.gpt:GPT"
init = {d_model = 48, dims = [1, 2], config = {act = "gelu"}}
args = ["i32[batch seq]", 3, 2.5, true]
kwargs = {inference = true}
method = "decode"
""")
    assert load([root]) == Config(
        root=root,
        file=root / "pyproject.toml",
        select=("SC2", "SC301"),
        ignore=("SC207",),
        per_file_ignores=(("tests/**", ("SC1",)),),
        exclude=("build/", "*_pb2.py"),
        strict_comments=True,
        fail_on_unreached=True,
        report_unused_ignores=True,
        timeout=5.0,
        memory=0.5,
        sizes={"batch": 3, "d_model": 48},
        examples=(
            Example(
                call="pkg.gpt:GPT",
                init={"d_model": 48, "dims": [1, 2], "config": {"act": "gelu"}},
                args=("i32[batch seq]", 3, 2.5, True),
                kwargs={"inference": True},
                method="decode",
            ),
        ),
        baseline=root / "ci/baseline.json",
        output_format="concise",
        src=(root / "src", root / "lib"),
        force_exclude=True,
        tests=(root / ".",),
        budget=90.0,
        test_timeout=2.0,
        jobs=3,
        cache=False,
    )


def test_defaults_without_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load([]) == Config(root=tmp_path)


def test_every_field_of_the_config_can_be_set_by_key(write: Write) -> None:
    """The unknown-key error lists what exists; this keeps it and the reader in step."""
    values = {
        "example": '[[tool.shapecheck.example]]\ncall = "a:b"',
        "sizes": "sizes = {}",
        "per-file-ignores": "per-file-ignores = {}",
        "timeout": "timeout = 1",
        "memory": "memory = 1",
        "budget": "budget = 1",
        "test-timeout": "test-timeout = 1",
        "jobs": "jobs = 1",
        "executor": 'executor = "dask://local:2"',
        "baseline": 'baseline = "b"',
        "cache-dir": 'cache-dir = "c"',
        "output-format": 'output-format = "json"',
        "python": f"python = {str(sys.executable)!r}",
    }
    for each in fields(Config):
        key = "example" if each.name == "examples" else each.name.replace("_", "-")
        if key in ("root", "file"):
            continue
        kind = "true" if each.type == "bool" else "[]"
        load([write(values.get(key, f"{key} = {kind}"))])


def test_the_nearest_file_with_a_table_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    deep = inner / "deep" / "pkg"
    deep.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "pyproject.toml").write_text("[tool.shapecheck]\nsizes = {outer = 1}")
    (inner / "deep" / "pyproject.toml").write_text("[project]\nname = 'x'")
    assert load([deep]).sizes == {"outer": 1}
    (inner / "pyproject.toml").write_text("[tool.shapecheck]\nsizes = {inner = 1}")
    assert load([deep / "a.py"]).sizes == {"inner": 1}
    assert load([deep]).root == inner
    assert load([deep], file=tmp_path / "pyproject.toml").sizes == {"outer": 1}


def test_else_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "pyproject.toml").write_text("[tool.shapecheck]\nsizes = {here = 1}")
    monkeypatch.chdir(tmp_path / "here")
    assert load([tmp_path / "there"]).sizes == {"here": 1}
    assert load([]).sizes == {"here": 1}


def test_flags_win_and_absent_flags_do_not(write: Write) -> None:
    root = write('select = ["SC2"]\ntimeout = 5\nstrict-comments = true')
    config = load([root], flags={"select": ("SC3",), "timeout": None, "strict_comments": False})
    assert (config.select, config.timeout, config.strict_comments) == (("SC3",), 5.0, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slect = []", "unknown key 'slect'; did you mean 'select'?"),
        ("strict_comments = true", "unknown key 'strict_comments'; did you mean 'strict-comments'?"),
        ("per-file-ignore = {}", "unknown key 'per-file-ignore'; did you mean 'per-file-ignores'?"),
        ('"" = 1', "unknown key ''; did you mean"),
        (
            "[[tool.shapecheck.example]]\ncall = 'a:b'\nargss = []",
            "unknown key 'example[0].argss'; did you mean 'example[0].args'?",
        ),
        ("[[tool.shapecheck.example]]\nscript = 'train.py'", "example[0].script: there is no file 'train.py'"),
        ("[[tool.shapecheck.example]]\nscript = 'a.py'\ncall = 'a:b'", "example[0].call: is for `call`"),
        ("[[tool.shapecheck.example]]\ncall = 'a:b'\nargv = []", "example[0].argv: is for a script"),
        ("tests = ['nowhere']", "tests: there is no file or folder 'nowhere'"),
        ("jobs = -1", "jobs: expected a number of workers"),
        ("[[tool.shapecheck.example]]\nargs = []", 'example[0]: needs `call = "package.module:name"`'),
        (
            "[[tool.shapecheck.example]]\ncall = 'pkg.gpt.GPT'",
            "example[0].call: expected package.module:name, got 'pkg.gpt.GPT'",
        ),
        ("[[tool.shapecheck.example]]\ncall = ':GPT'", "example[0].call: expected package.module:name"),
        (
            "[[tool.shapecheck.example]]\ncall = 'a:b'\nargs = 'f32[b]'",
            "example[0].args: expected an array, got a string ('f32[b]')",
        ),
        (
            "[[tool.shapecheck.example]]\ncall = 'a:b'\nargs = [2020-01-01]",
            "example[0].args[0]: expected a string, number",
        ),
        ("[tool.shapecheck.example]\ncall = 'a:b'", "example: expected an array, got a table"),
        ("select = 'SC201'", "select: expected an array, got a string ('SC201')"),
        ("select = [201]", "select[0]: expected a string, got an integer (201)"),
        ("strict-comments = 1", "strict-comments: expected true or false, got an integer (1)"),
        ("strict-comments = 'yes'", "strict-comments: expected true or false, got a string ('yes')"),
        ("timeout = true", "timeout: expected a number, got true or false (True)"),
        ("timeout = 0", "timeout: expected a number above 0, at most 1000000, got 0"),
        ("memory = nan", "memory: expected a number above 0, at most 1000000, got nan"),
        ("memory = inf", "memory: expected a number above 0, at most 1000000, got inf"),
        ("sizes = {batch = 1.5}", "sizes.batch: expected an integer, got a number (1.5)"),
        ("sizes = {batch = true}", "sizes.batch: expected an integer, got true or false (True)"),
        ("sizes = {batch = -1}", "sizes.batch: expected a size of 1 or more, got -1"),
        ("sizes = {batch = 0}", "sizes.batch: expected a size of 1 or more, got 0"),
        ("sizes = {'batch size' = 1}", "sizes.batch size: 'batch size' is no name of a dim"),
        ("output-format = 'xml'", "output-format: expected one of full, concise, json"),
        ("baseline = 3", "baseline: expected a string, got an integer (3)"),
        ("per-file-ignores = {a = 'SC201'}", "per-file-ignores.'a': expected an array, got a string ('SC201')"),
    ],
)
def test_what_does_not_fit(text: str, message: str, write: Write) -> None:
    assert error(write(text)).startswith(f"tool.shapecheck: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select = ['SC211']", "select: there is no rule 'SC211'; did you mean 'SC201'?"),
        ("ignore = ['sc311']", "ignore: there is no rule 'sc311'; did you mean 'SC301'?"),
        ("per-file-ignores = {a = ['SC9']}", "per-file-ignores.'a': there is no rule 'SC9'; did you mean"),
        ("select = ['']", "select: there is no rule ''"),
        ("python = 'no-such-python'", "python: there is no Python interpreter 'no-such-python'"),
        ("python = 'bin/python'", "python: there is no Python interpreter 'bin/python'"),
    ],
)
def test_what_does_not_exist(text: str, message: str, write: Write) -> None:
    assert error(write(text)).startswith(message)


def test_a_bad_code_on_the_command_line(write: Write) -> None:
    with pytest.raises(ConfigError, match=r"^--ignore: there is no rule 'SC8'"):
        load([write("")], flags={"ignore": ("SC8",)})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e12])
def test_a_limit_on_the_command_line_that_no_clock_can_count(number: float, write: Write) -> None:
    with pytest.raises(ConfigError, match=r"--timeout: expected a number above 0, at most 1000000, got"):
        load([write("")], flags={"timeout": number})


def test_malformed_toml_names_the_line(write: Write) -> None:
    assert re.search(r"is not valid TOML: .*line 3", error(write("\ntimeout = \nmemory = 1")))


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nshapecheck = 3"])
def test_tables_that_are_none(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)
    if "shapecheck" in text:
        assert error(tmp_path) == "tool.shapecheck: expected a table, got an integer (3)"
    else:
        assert load([tmp_path]).file is None


def test_a_file_that_is_not_utf8_or_not_there(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    with pytest.raises(ConfigError, match="cannot be read"):
        load([], file=file)
    file.write_bytes(b"# caf\xe9")
    with pytest.raises(ConfigError, match="UTF-8"):
        load([], file=file)
    file.write_bytes("\ufeff[tool.shapecheck]\nsizes = {b = 2}".encode())
    assert load([], file=file).sizes == {"b": 2}


def test_an_interpreter_is_a_path_or_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "bin" / "python3.99"
    link.parent.mkdir()
    link.symlink_to(sys.executable)
    assert interpreter("bin/python3.99", tmp_path, "--python") == link, "a link out of a virtual environment is kept"
    monkeypatch.setenv("PATH", str(link.parent) + os.pathsep + os.environ["PATH"])
    assert interpreter("python3.99", tmp_path, "--python") == link
    with pytest.raises(ConfigError, match="--python: there is no Python interpreter"):
        interpreter(str(tmp_path), tmp_path, "--python")


def test_python_in_the_file_is_relative_to_it(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = write("python = '.venv/bin/python'")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    (root / "sub").mkdir()
    monkeypatch.chdir(root / "sub")
    assert load([root]).python == root / ".venv/bin/python"
