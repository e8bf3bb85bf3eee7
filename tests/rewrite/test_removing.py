"""What was inserted can be taken out again: the bytes of the file are those that it had."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shapecheck.claims import read_module
from shapecheck.model import INSERTED, Module
from shapecheck.rewrite import RewriteError, RewriteOptions, instrument, remove

ROOT = Path(__file__).parents[2]
EVERYTHING = RewriteOptions(shapes=True, numerics=True, breakpoint=True, prints=("*",))
FIXTURES = sorted((ROOT / "fixtures").rglob("*.py"))[1::8]  # all of them: tests/bench/bench_instrument.py


def as_code(module: Module) -> list[tuple[object, ...]]:
    """The claims, without the lines on which they stand."""
    return [(c.notation, c.spec, c.dtype, c.target, c.scope, c.select, c.sure, c.sites) for c in module.claims]


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.parent.name)
def test_fixtures_come_back_byte_for_byte_and_claim_the_same(file: Path) -> None:
    data = file.read_bytes()
    result = instrument(file.name, data, EVERYTHING).data
    assert remove(file.name, result) == data
    assert instrument(file.name, result, EVERYTHING).data == result
    compile(result, file.name, "exec")
    before, after = read_module("m.py", data), read_module("m.py", result)
    assert as_code(before) == as_code(after)
    lines = result.decode().splitlines()
    for claim in after.claims:
        assert not lines[claim.span.line - 1].endswith(INSERTED)


def test_what_a_run_inserts_depends_on_its_own_options_only() -> None:
    data = MODEL.encode()
    earlier = instrument("m.py", data, EVERYTHING).data
    shapes = RewriteOptions(shapes=True)
    assert instrument("m.py", earlier, shapes).data == instrument("m.py", data, shapes).data != earlier


BLOCKS = [
    "x = f(a)  # shape: (b, s)",
    "x = f(a)  # shape: (b, s)\\\n",
    "x = (f(a) +\n  {i}# shape: (b, s)\n  a)",
    "# shape: (b, s)\n{i}x = f(a)",
    "x = f(a)\n{i}# shape: (b, s)",
    "x = f(a); y = x  # shape: (b, s)",
    "if a: x = f(a)  # shape: (b, s)",
    "if a:\n{i}  x = f(a)  # shape: (b, s)\n{i}else:\n{i}  # shape: (b,)\n{i}  y = a",
    "for x in a:  # shape: (b,)\n{i}\n{i}  # what follows\n{i}  y = x",
    "while a:\n{i}  a = f(a)  # (b, s)\n{i}  break",
    "with f(a) as x:  # shape: (b, s)\n{i}  pass",
    "try:\n{i}\tx = f(a)  # shape: (b, s)\n{i}finally:\n{i}\tx: Float[Array, 'b'] = a",
    "match a:\n{i}  case [x, *_]:\n{i}    y = x  # shape: (b, s)\n{i}  case _: y = 1  # shape: (b, s)",
    "global z\n{i}z = f(a)  # shape: (b, s)",
    "if (y := f(a)) is None: pass  # shape: (b, s)",
    'z = """\n# shape: (b, s)\n   # shapecheck: inserted\n"""  # shape: (b, s)',
    "é = f(a)  # shape: (b, s)",
    "return x  # shape: (b, s)",
    "\f",
    "",
]
HEADERS = [
    "def g(a):",
    "def g(a): # shape: (b, s)",
    'def g(a, x: Float[Array, "b s"]):\n  """Doc.\n\n  Args:\n    a: array of shape (b, s)\n  """',
    "@decorated\n# why\ndef g(\n  a,  # (b, s)\n) -> Float[Array, 'b']:\n  # below",
    "async def g(a):",
    "class C:",
    "if a:",
]
HEADS = [
    "",
    "#!/usr/bin/env python\n",
    '"""Doc."""\n',
    "from __future__ import annotations\nimport jax\n",
    "import os; import jax\n",
]
FROM_JAXTYPING = "from jaxtyping import Array, Float\n"


@st.composite
def files(draw: st.DrawFn) -> bytes:
    text = draw(st.sampled_from(HEADS)) + FROM_JAXTYPING
    for header in draw(st.lists(st.sampled_from(HEADERS), max_size=3)):
        text += f"{header}\n" + "".join(
            f"  {block.format(i='  ')}\n" for block in [*draw(st.lists(st.sampled_from(BLOCKS), max_size=4)), "pass"]
        )
    for block in draw(st.lists(st.sampled_from([b for b in BLOCKS if "return" not in b]), max_size=3)):
        text += block.format(i="") + "\n"
    lines = text.splitlines(keepends=True)
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=3))
    text = "".join(re.sub(r"\n\Z", ends[number % len(ends)], line) for number, line in enumerate(lines))
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1"]))
    cookie = "# coding: latin-1\n" if encoding == "latin-1" else ""
    return (cookie + text).encode(encoding)


def is_python(data: bytes) -> bool:
    try:
        compile(data, "m.py", "exec")
    except SyntaxError:
        return False
    return True


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    files().filter(is_python), st.sampled_from([EVERYTHING, RewriteOptions(shapes=True), RewriteOptions(numerics=True)])
)
def test_odd_layouts_come_back_byte_for_byte(data: bytes, options: RewriteOptions) -> None:
    try:
        result = instrument("m.py", data, options).data
    except RewriteError as error:  # a file that libcst itself does not give back is left alone
        assert "libcst would not give it back as it is" in str(error)
        assert cst.parse_module(data).bytes != data
        return
    assert remove("m.py", result) == data
    assert instrument("m.py", result, options).data == result
    assert is_python(result)
    assert as_code(read_module("m.py", data)) == as_code(read_module("m.py", result))


def test_a_file_that_libcst_does_not_give_back_is_named_and_left_alone() -> None:
    text = "#!/usr/bin/env python\r\n{0}x = f(a)  # shape: (b, s)\\\r\n"
    data = text.format(FROM_JAXTYPING).encode()
    assert is_python(data)
    assert cst.parse_module(data).bytes != data
    with pytest.raises(RewriteError, match=r"line \d: libcst would not give it back as it is .*backslash"):
        instrument("m.py", data, EVERYTHING)
    plain = data.replace(b"\\\r\n", b"\r\n")
    assert remove("m.py", instrument("m.py", plain, EVERYTHING).data) == plain


MODEL = """
import jax.numpy as jnp
from jaxtyping import Array, Float


def f(x: Float[Array, "batch features"]):
    hidden_activations_of_the_layer = g(x)  # (batch, features)
    return h(hidden_activations_of_the_layer)
"""


def test_what_was_edited_meanwhile_stays() -> None:
    result = instrument("m.py", MODEL.encode(), EVERYTHING).data.decode()
    edited = result.replace("return h(", "return 2 * k(").replace("import jax.numpy", "import os\nimport jax.numpy")
    left = MODEL.replace("return h(", "return 2 * k(").replace("import jax.numpy", "import os\nimport jax.numpy")
    assert remove("m.py", edited.encode()) == left.encode()


def test_what_a_formatter_made_of_an_inserted_line_goes_with_it(formatted: Callable[[bytes], bytes]) -> None:
    result = formatted(instrument("m.py", MODEL.encode(), EVERYTHING).data)
    assert result.count(b"\n") > instrument("m.py", MODEL.encode(), EVERYTHING).data.count(b"\n")
    assert remove("m.py", result) == formatted(MODEL.encode())


@pytest.fixture
def formatted(tmp_path: Path) -> Callable[[bytes], bytes]:
    def function(data: bytes) -> bytes:
        import subprocess
        import sys

        file = tmp_path / "m.py"
        file.write_bytes(data)
        command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "60", str(file)]
        subprocess.run(command, check=True, capture_output=True)
        return file.read_bytes()

    return function


ALONE = {
    b"def f(:\n": "line 1",
    b"<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n": "merge conflict",
    b'x = """\n<<<<<<< ours\n=======\n>>>>>>> theirs\n"""\n': "merge conflict",
    b"\xff\xfe": "decoded",
    f"if x:\n    pass  {INSERTED}\n".encode(): "empty",
}


@pytest.mark.parametrize("data", ALONE)
def test_files_that_nobody_could_give_back_are_left_alone(data: bytes) -> None:
    with pytest.raises(RewriteError, match=ALONE[data]):
        remove("m.py", data)
    with pytest.raises(RewriteError, match=ALONE[data]):
        instrument("m.py", data, EVERYTHING)


# Python takes both files, and libcst does not take the first, nor give back the second as it is.
NOT_LIBCSTS = {
    b"if a:\n  if b:\n\t  y = a\n": "libcst cannot parse line 1: .*dedent",
    b"x = 1\n\x0cy = 2\n": "line 2: libcst would not give it back",
}


@pytest.mark.parametrize("data", NOT_LIBCSTS)
def test_files_that_libcst_does_not_take_are_left_alone(data: bytes) -> None:
    with pytest.raises(RewriteError, match=NOT_LIBCSTS[data]):
        instrument("m.py", data, EVERYTHING)


def test_long_chains_are_not_too_deep() -> None:
    chain = "if a:\n  pass\n" + "elif b:\n  x = f(a)\n" * 400 + f"y = a{'.b()' * 400}\n"
    result = instrument("m.py", chain.encode(), EVERYTHING).data
    assert result.count(INSERTED.encode()) == 402
    assert remove("m.py", result) == chain.encode()


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (f"x = 1\n# a\ny = f(  {INSERTED}\n    x\n)\n\n# b\nz = 2\n", "x = 1\n# a\n\n# b\nz = 2\n"),
        (f"if x:\n  y = 1\n  # a\n  z = 1  {INSERTED}\n# b\n", "if x:\n  y = 1\n  # a\n# b\n"),
        (f"@a\n# b\n@c  {INSERTED}\n# d\nclass E:\n  {INSERTED}\n  x = 1\n", "@a\n# b\n# d\nclass E:\n  x = 1\n"),
    ],
)
def test_comments_around_an_inserted_line_stay(data: str, left: str) -> None:
    assert remove("m.py", data.encode()) == left.encode()


def test_code_that_shares_its_line_with_a_mark_stays() -> None:
    data = f"x = 1; y = 2  {INSERTED}\nif x: y = 3  {INSERTED}\ny = '''\n{INSERTED}\n'''\n".encode()
    assert remove("m.py", data) == data
