"""The backend `cmsis-nn` with functions of Mote's own that have the documented signatures and semantics: its calls
compile against them, and whole models equal LiteRT."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mote
from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.cmsis_nn import CmsisNN
from mote.compiler.offload.cmsis_nn.files import PACKS, PATH, checkout, sources
from mote.compiler.offload.contract import Offloaded
from mote.compiler.passes.pipeline import optimize
from mote.frontends import load
from mote.hardware import targets
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.recurrent.lstm import LstmLayer
from tests.compiler.offload.cmsis_nn.layers import MODELS, random_layers
from tests.helpers.network import Net
from tests.helpers.support import examples, needs_litert, varied
from tests.ir.ops.recurrent.lstm_models import Config
from tests.ir.ops.recurrent.lstm_models import model as lstm_model

pytestmark = needs_litert


def on_core(made: Compiled) -> list[str]:
    """The operators that kernels of the core compute."""
    return [made.plan.graph.ops[s.ops[0]].kind for s in made.plan.steps if not isinstance(s.kernel, Offloaded)]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", MODELS)
def test_layers(name: str, standin: Path) -> None:
    """With sanitizers: no call reads or writes beside its tensors, constants and working memory."""
    made = mote.compile(MODELS[name](), backend="cmsis-nn")
    assert on_core(made) == []
    result = mote.verify(made, 2, sanitize=True)
    assert result.passed, result.mismatches


@settings(max_examples=examples(3), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(varied(st.integers(0, 2**32 - 1)))
def test_random_layers(standin: Path, seed: int) -> None:
    """Whatever is called equals LiteRT."""
    result = mote.verify(mote.compile(random_layers(seed), backend="cmsis-nn"), 2, sanitize=True)
    assert result.passed, result.mismatches


def test_what_would_differ_is_refused(standin: Path) -> None:
    """With the reason: gates of an LSTM, and int16 that LiteRT scales in double precision."""
    net = Net(0, "int16")
    connected = net.finish(net.fully_connected(net.input(1, 20), 4))
    lstm = lstm_model(Config("int8", seed=3))
    for model, kind, reason in ((connected, FullyConnected, "double precision"), (lstm, LstmLayer, "series")):
        graph = optimize(load(model))[0]
        (op,) = (op for op in graph.ops if isinstance(op, kind))
        refusal = CmsisNN().build(op, graph, targets.load("cortex-m4"))
        assert isinstance(refusal, Refusal) and reason in refusal.why


def test_a_call_that_fails(standin: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The status of a function is the model's."""
    shutil.copytree(standin, tmp_path / "library")
    source = tmp_path / "library" / "Source" / "FullyConnectedFunctions" / "fully_connected.c"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("return ARM_CMSIS_NN_SUCCESS;", "return ARM_CMSIS_NN_ARG_ERROR;"), encoding="utf-8")
    monkeypatch.setenv(PATH, str(tmp_path / "library"))
    with pytest.raises(MoteError, match="12"):
        mote.verify(mote.compile(MODELS["others"](), backend="cmsis-nn"), 1)


def test_no_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (PATH, PACKS):
        monkeypatch.delenv(name, raising=False)
    model = MODELS["others"]()
    with pytest.raises(MoteError, match=f"neither {PATH} nor {PACKS} is set"):
        mote.compile(model, backend="cmsis-nn")
    monkeypatch.setenv(PATH, str(tmp_path))
    with pytest.raises(MoteError, match=r"which has no Include/arm_nnfunctions\.h"):
        mote.compile(model, backend="cmsis-nn")
    monkeypatch.delenv(PATH)
    monkeypatch.setenv(PACKS, str(tmp_path))
    missing = CmsisNN().missing()
    assert missing is not None and "no pack ARM/CMSIS-NN" in missing.what and PATH in missing.remedy


def test_a_pack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The newest version of the pack."""
    monkeypatch.delenv(PATH, raising=False)
    monkeypatch.setenv(PACKS, str(tmp_path))
    for version in ("6.0.0", "10.1.0", "7.0.0"):
        header = tmp_path / "ARM" / "CMSIS-NN" / version / "Include" / "arm_nnfunctions.h"
        header.parent.mkdir(parents=True)
        header.touch()
    assert checkout().name == "10.1.0" and CmsisNN().missing() is None


def test_sources_that_a_function_needs(standin: Path, tmp_path: Path) -> None:
    library = sources(standin)
    assert [path.name for path in library.closure("arm_avgpool_s8")] == ["pooling.c"]
    assert library.has("arm_fully_connected_s8") and not library.has("requantize")
    (tmp_path / "a.c").write_text("int first(int x)\n{\n    return second(x); /* third(x) */\n}\n", encoding="utf-8")
    (tmp_path / "b.c").write_text("static int inner(void) { return 0; }\nint second(int x) { return inner(); }\n")
    (tmp_path / "c.c").write_text("int third(\n    int x);\nint third(\n    int x) {\n    return x;\n}\n")
    own = type(library)((tmp_path,))
    assert [path.name for path in own.closure("first")] == ["a.c", "b.c"]
    assert own.functions(tmp_path / "c.c") == ["third"] and own.functions(tmp_path / "b.c") == ["second"]
