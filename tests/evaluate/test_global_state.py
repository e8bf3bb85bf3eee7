"""What a test or an entry sets holds for itself alone; what imports and wider fixtures set holds for those they serve.

Each function of `m.py` has a wrong comment, so that it gives a finding where it is reached; tests reach it if they
see what they should.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import warnings

import jax
import numpy as np
import pytest

from shapecheck.evaluate.global_state import GlobalState, restore, snapshot

KINDS = "jax_config flax_config haiku_config jaxtyping_config environment errors filters draws numpy_draws paths folder"
OF_FIXTURES = "shared_by_module shared_by_class first_parameter second_parameter over restored"

MODULE = """
import jax
import jax.numpy as jnp
import os
from jaxtyping import Array, Float, Float32, Float64

def raises_for_real(x):
    return x + jnp.ones(7)  ~SC301

def double(x: Float64[Array, "n"]) -> Float64[Array, "n"]:
    return 2 * x

def entry_that_sets(x: Float[Array, "n"]) -> Float[Array, "n"]:
    jax.config.update("jax_enable_x64", True)
    return x

def entry_thereafter(x: Float[Array, "n"]) -> Float32[Array, "n"]:
    return x + jnp.ones(x.shape, float)
"""


def reached(names: str) -> str:
    """A function for each name, whose comment is wrong."""
    return "".join(
        f"\ndef {name}(x):\n    y = x + 1  # shape: (n, m)  ~SC201\n    return y\n" for name in names.split()
    )


TESTS = """
import os
import random
import sys
import warnings
import flax
import haiku
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
import m

VECTOR = jnp.ones(3)

def seen():
    return {
        "jax_config": (jax.config.jax_enable_x64, jax.config.jax_numpy_rank_promotion),
        "flax_config": flax.config.flax_preserve_adopted_names,
        "haiku_config": sys.modules["haiku._src.config"].get_config().rng_reserve_size,
        "jaxtyping_config": jaxtyping.config.jaxtyping_disable,
        "environment": (os.environ.get("OF_A_TEST"), os.environ.get("HOME")),
        "errors": np.geterr()["divide"],
        "filters": len(warnings.filters),
        "draws": random.getstate(),
        "numpy_draws": np.random.get_state()[1].tolist(),
        "paths": list(sys.path),
        "folder": os.getcwd(),
    }

AT_FIRST = {**seen(), "folder": ""}
TURNS = []

@pytest.mark.parametrize("turn", [0, 1])
def test_that_sets(turn, tmp_path):
    before = seen()
    AT_FIRST["folder"] = AT_FIRST["folder"] or before["folder"]
    TURNS.append(turn)
    if len(TURNS) == 2:
        for name, value in before.items():
            if value == AT_FIRST[name]:
                getattr(m, name)(VECTOR)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_rank_promotion", "raise")
    flax.config.update("flax_preserve_adopted_names", not flax.config.flax_preserve_adopted_names)
    haiku.config.set(rng_reserve_size=7)
    jaxtyping.config.update("jaxtyping_disable", False)
    os.environ["OF_A_TEST"] = "set"
    del os.environ["HOME"]
    np.seterr(divide="raise")
    warnings.simplefilter("error")
    random.random()
    np.random.rand()
    sys.path.insert(0, str(tmp_path))
    os.chdir(tmp_path)

def test_that_fails_for_real():
    if "OF_A_REAL_RUN" not in os.environ:
        os.environ["OF_A_REAL_RUN"] = "set"
        m.raises_for_real(VECTOR)

def test_in_its_own_precision():
    jax.config.update("jax_enable_x64", True)
    m.double(jnp.ones(3))
"""

# Without the names of what they call, tests run in the order in which they stand.
FIXTURES = """
import os
import jax
import jax.numpy as jnp
import pytest
import m

SEEN = set()

def reach(name):
    if name in SEEN:
        getattr(m, name)(jnp.ones(3))
    SEEN.add(name)

@pytest.fixture(scope="module", autouse=True)
def precise():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)

@pytest.fixture(scope="class", params=["raise", "allow"])
def promotion(request):
    before = jax.config.jax_numpy_rank_promotion
    jax.config.update("jax_numpy_rank_promotion", request.param)
    yield request.param
    jax.config.update("jax_numpy_rank_promotion", before)

@pytest.mark.parametrize("turn", [0, 1])
def test_module(turn):
    if jax.config.jax_enable_x64:
        reach("shared_by_module")

class TestClass:
    def setup_class(cls):
        os.environ["OF_A_CLASS"] = "set"

    def teardown_class(cls):
        del os.environ["OF_A_CLASS"]

    @pytest.mark.parametrize("turn", [0, 1])
    def test_class(self, turn):
        if "OF_A_CLASS" in os.environ:
            reach("shared_by_class")

    @pytest.mark.parametrize("turn", [0, 1])
    def test_parameter(self, promotion, turn):
        if jax.config.jax_numpy_rank_promotion == promotion == "raise":
            reach("first_parameter")
        if jax.config.jax_numpy_rank_promotion == promotion == "allow":
            reach("second_parameter")

@pytest.mark.parametrize("turn", [0, 1])
def test_after_the_class(turn):
    if "OF_A_CLASS" not in os.environ and jax.config.jax_numpy_rank_promotion == "allow":
        reach("over")
"""

AFTER = """
import jax
import jax.numpy as jnp
import m

def test_in_another_module():
    if not jax.config.jax_enable_x64:
        m.restored(jnp.ones(3))
"""


@pytest.mark.parametrize(
    "files",
    [
        {"m.py": MODULE + reached(KINDS), "test_a.py": TESTS},
        {"m.py": reached(OF_FIXTURES), "test_b.py": FIXTURES, "test_c.py": AFTER},
    ],
    ids=["tests", "fixtures"],
)
def test_each_test_and_entry_finds_what_it_should(check_folder, files: dict[str, str]) -> None:
    case = check_folder(files, '[tool.pytest.ini_options]\ntestpaths = ["."]').cases["m.py"]
    print(case.details)
    assert [(line, code) for line, code in case.actual if code != "SC302"] == case.expected


def test_what_a_package_sets_on_import_stays(check_folder) -> None:
    case = check_folder(
        {
            "z/precise.py": 'import jax\njax.config.update("jax_enable_x64", True)\n',
            "m.py": """
import jax
from jaxtyping import Array, Float

def a_lazy_import(x: Float[Array, "n"]) -> Float[Array, "n"]:
    from z import precise
    return x

def thereafter(x: Float[Array, "n"]):
    if jax.config.jax_enable_x64:
        y = 2 * x  # (n, m)  ~SC201
""",
        }
    ).cases["m.py"]
    assert case.as_marked()


@pytest.fixture
def as_before():
    before = snapshot()
    yield
    restore(before)


@pytest.mark.usefixtures("as_before")
def test_what_lasts_survives_and_nothing_else() -> None:
    global_state = GlobalState()
    os.environ["BEFORE"] = "0"
    with global_state.preserve():
        os.environ["BEFORE"] = "1"
        np.seterr(divide="raise")
        with global_state.let_changes_last():
            os.environ["LASTING"] = "1"
            jax.config.update("jax_numpy_rank_promotion", "warn")
            del os.environ["BEFORE"]
        os.environ["LASTING"] = "2"
        random.random()  # noqa: S311
        sys.path.append("nowhere")
        warnings.simplefilter("ignore", ResourceWarning)
    assert os.environ.get("BEFORE") is None
    assert os.environ["LASTING"] == "1"
    assert jax.config.values["jax_numpy_rank_promotion"] == "warn"
    assert np.geterr()["divide"] != "raise"
    assert "nowhere" not in sys.path


@pytest.mark.usefixtures("as_before")
def test_an_error_does_not_keep_it_from_being_put_back() -> None:
    random.seed(3)
    state = random.getstate()
    with contextlib.suppress(ValueError), GlobalState().preserve():
        random.random()  # noqa: S311
        np.random.rand()
        raise ValueError
    assert random.getstate() == state


@pytest.mark.usefixtures("as_before")
def test_a_framework_that_is_half_imported_has_no_settings_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a test unloads it and imports it again, and our own loader runs in the midst of that."""
    config = pytest.importorskip("haiku._src.config")
    assert any(kind == "haiku" for kind, _ in snapshot())
    monkeypatch.delattr(config, "get_config")
    with GlobalState().preserve():
        assert not any(kind == "haiku" for kind, _ in snapshot())
        os.environ["CHANGED"] = "1"
    assert "CHANGED" not in os.environ
