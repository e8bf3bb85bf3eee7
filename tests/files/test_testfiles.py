"""Where the user's tests are looked for: as pytest's configuration says, else in the usual places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shapecheck.files import find_tests

FILES = ("pkg/a.py", "pkg/a_test.py", "pkg/test_b.py", "tests/test_x.py", "extra/unit/test_y.py", "test/notes.txt")
BESIDE = ["pkg/a_test.py", "pkg/test_b.py"]
INI = "[tool.pytest.ini_options]\ntestpaths = "

Find = Callable[..., list[str]]


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """The tests of pkg/a.py in a project of `FILES` and of `{file: text}`."""

    def function(texts: dict[str, str]) -> list[str]:
        for name, text in {"pyproject.toml": "", **dict.fromkeys(FILES, ""), **texts}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return [path.relative_to(tmp_path).as_posix() for path in find_tests([tmp_path / "pkg" / "a.py"])]

    return function


@pytest.mark.parametrize(
    "config",
    ["", "[tool.pytest.ini_options]\naddopts = '-q'", INI + "[]", INI + "3", "[tool]\npytest = 3", "not TOML ["],
)
def test_without_testpaths_it_is_the_usual_folders_that_hold_python_and_files_beside_the_code(find: Find, config: str):
    assert find({"pyproject.toml": config}) == [*BESIDE, "tests"]


@pytest.mark.parametrize(
    ("file", "config", "expected"),
    [
        ("pyproject.toml", INI + '["extra"]', ["extra", *BESIDE]),
        ("pyproject.toml", INI + '"extra tests"', ["extra", *BESIDE, "tests"]),
        ("pyproject.toml", INI + '["*/unit"]', ["extra/unit", *BESIDE]),
        ("pyproject.toml", INI + '["./tests/test_x.py", "test/notes.txt", "nowhere"]', [*BESIDE, "tests/test_x.py"]),
        ("pyproject.toml", INI + '["extra", "extra/unit", "extra/unit/test_y.py"]', ["extra", *BESIDE]),
        ("pyproject.toml", '[tool.pytest]\ntestpaths = ["extra"]', ["extra", *BESIDE]),
        ("pytest.toml", '[pytest]\ntestpaths = ["extra"]', ["extra", *BESIDE]),
        ("pytest.ini", "[pytest]\ntestpaths = extra\n    tests\n", ["extra", *BESIDE, "tests"]),
        ("tox.ini", "[pytest]\ntestpaths = extra\n", ["extra", *BESIDE]),
        ("setup.cfg", "[tool:pytest]\ntestpaths = extra\n", ["extra", *BESIDE]),
        ("setup.cfg", "no section\n", [*BESIDE, "tests"]),
    ],
)
def test_testpaths_are_read_from_every_file_that_pytest_reads(find: Find, file: str, config: str, expected: list[str]):
    assert find({file: config}) == expected


def test_testpaths_may_be_the_package_itself_or_everything(find: Find):
    assert find({"pyproject.toml": INI + '["pkg"]'}) == ["pkg"]
    assert find({"pyproject.toml": INI + '["."]'}) == ["."]


def test_testpaths_may_be_absolute(find: Find, tmp_path: Path):
    assert find({"pyproject.toml": f'{INI}["{tmp_path}/extra"]'}) == ["extra", *BESIDE]


def test_the_first_file_that_configures_pytest_decides(find: Find):
    assert find({"pyproject.toml": INI + '["extra"]', "pytest.ini": "[pytest]\n"}) == [*BESIDE, "tests"]
    assert find({"tox.ini": "[pytest]\ntestpaths = tests\n", "pytest.ini": ""}) == [*BESIDE, "tests"]


def test_a_folder_inside_of_another_project_has_that_ones_tests_only(find: Find):
    assert find({"pkg/pyproject.toml": "", "pkg/test/deep/test_z.py": ""}) == ["pkg/a_test.py", "pkg/test", BESIDE[1]]


def test_installed_code_has_no_tests_but_those_beside_it(tmp_path: Path):
    for name in ("pyproject.toml", "tests/test_x.py", "lib/site-packages/pkg/a.py", "lib/site-packages/pkg/test_a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    pkg = tmp_path / "lib/site-packages/pkg"
    assert find_tests([pkg / "a.py"]) == [pkg / "test_a.py"]
