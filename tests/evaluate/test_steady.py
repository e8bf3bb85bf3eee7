"""Messages that do not differ from run to run."""

from __future__ import annotations

import tempfile

import pytest

from shapecheck.evaluate.inputs.trials.failure_reasons import describe_error

TEMPORARY = tempfile.gettempdir()
MADE = f"{TEMPORARY}/{tempfile.gettempprefix()}"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("no <function f at 0x7f31c2a04d60> here", "no <function f at 0x...> here"),
        ("0xff is 255", "0xff is 255"),
        (f"No such file: '{TEMPORARY}/shapecheck-a1_b2c3d/2/here/data/x.npz'", "No such file: 'data/x.npz'"),
        (f"'{TEMPORARY}/shapecheck-a1_b2c3d/1/temporary/test_x12/y'", "'<temporary folder>/test_x/y'"),
        (f"{TEMPORARY}/shapecheck-a1_b2c3d/1/temporary/test_x0", "<temporary folder>/test_x"),
        (f"in {TEMPORARY}/shapecheck-a1_b2c3d/2/log", "in <temporary folder>/log"),
        (f"'{MADE}ab12cd3_/weights.bin'", "'<temporary folder>/weights.bin'"),
        (f"{MADE}files/weights.bin", f"{MADE}files/weights.bin"),
        ("/home/me/data/tmpab12cd3_/x", "/home/me/data/tmpab12cd3_/x"),
    ],
)
def test_what_is_given_by_chance_is_left_out(message: str, told: str) -> None:
    assert describe_error(OSError(message)) == f"OSError: {told}"
