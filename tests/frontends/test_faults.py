"""Whose fault it is: what is wrong in a file is said of the file, what is wrong in Mote is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mote.base.errors import InternalError, MoteError, TooLargeError
from mote.bench.evaluation.verify import verify
from mote.bench.measure.run import run
from mote.compiler import line
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.passes import pipeline
from mote.frontends import tflite
from mote.frontends.tflite.file import schema
from mote.frontends.tflite.writer import Writer
from mote.hardware import toolchain
from mote.ir.graph import Graph
from mote.ir.ops.reductions.softmax import Softmax
from mote.ui.cli import BUG, main
from mote.version import __version__
from tests.helpers.network import Net
from tests.helpers.support import needs_litert

DIGITS = Path(__file__).parents[2] / "models" / "digits.tflite"


def one_relu(shape: tuple[int, ...]) -> bytes:
    """A file that says that RELU makes a tensor of this shape from four elements."""
    net = Net()
    return net.finish(net.op("RELU", [net.input(1, 4)], shape))


def without_its_last_operator(graph: Graph) -> Graph:
    return graph.with_ops(graph.ops[:-1])


def stumble(*_: object, **__: object) -> None:
    raise IndexError("list index out of range")


def test_a_graph_that_cannot_be_is_the_files_fault() -> None:
    with pytest.raises(MoteError, match=r"odd\.tflite: .* layer 0 RELU 't1': output 1 has shape"):
        tflite.parse(one_relu((1, 5)), "odd.tflite")


def test_options_of_another_operator_are_the_files_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net()
    y = net.pool(net.input(1, 4, 4, 1), 1, "MAX_POOL_2D")
    with monkeypatch.context() as patched:
        pool = schema.OPTIONS["MAX_POOL_2D"]
        patched.setitem(schema.OPTIONS, "MAX_POOL_2D", replace(pool, number=schema.OPTIONS["SVDF"].number))
        data = net.finish(y)
    with pytest.raises(MoteError, match=r"pooled\.tflite: the file is damaged .*layer 0 MAX_POOL_2D has options #6"):
        tflite.parse(data, "pooled.tflite")


def test_a_pass_that_breaks_the_graph_is_no_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "PASSES", (pipeline.Pass("broken", without_its_last_operator),))
    with pytest.raises(InternalError, match=r"bug in Mote .*InvalidGraphError.*never computed"):
        compile(DIGITS, target="cortex-m4")


def test_a_step_that_stumbles_is_no_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "generate", stumble)
    with pytest.raises(InternalError) as told:
        compile(DIGITS, target="cortex-m4")
    assert isinstance(told.value.__cause__, IndexError) and not isinstance(told.value, MoteError)


@pytest.mark.parametrize("what", [run, verify])
def test_a_bug_is_one_wherever_it_is(what: Callable[[Compiled], object], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile(DIGITS)
    monkeypatch.setattr(toolchain, "find_compiler", stumble)
    with pytest.raises(InternalError, match="bug in Mote"):
        what(compiled)


def test_a_bug_names_the_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Softmax, "evaluate", stumble)
    with pytest.raises(InternalError, match=r"at layer \d+ SOFTMAX '.*' \(IndexError: list index") as told:
        compile(DIGITS, target="cortex-m4")
    assert told.value.where.startswith("layer ") and __version__ in str(told.value)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("error", "reason"), [(MemoryError, "not enough memory"), (RecursionError, "too deeply")])
def test_what_the_machine_cannot_do_is_no_bug(
    error: type[Exception], reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(line, "generate", fail)
    with pytest.raises(TooLargeError, match=rf"digits\.tflite: .*{reason}"):
        compile(DIGITS, target="cortex-m4")
    assert main(["plan", str(DIGITS), "--target", "cortex-m4"]) == 1
    assert reason in capsys.readouterr().err


def test_a_bug_is_called_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(line, "generate", stumble)
    monkeypatch.delenv("MOTE_DEBUG", raising=False)
    assert main(["plan", str(DIGITS), "--target", "cortex-m4", "--json"]) == BUG
    printed = capsys.readouterr()
    assert f"this is a bug in Mote {__version__} (IndexError: list index out of range)" in printed.err
    assert "report it" in printed.err and "Traceback" not in printed.err and DIGITS.name not in printed.err
    assert "bug in Mote" in json.loads(printed.out)["error"]["reason"]


def test_debugging_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "generate", stumble)
    monkeypatch.setenv("MOTE_DEBUG", "1")
    with pytest.raises(InternalError) as told:
        main(["plan", str(DIGITS), "--target", "cortex-m4"])
    assert isinstance(told.value.__cause__, IndexError)


def edges(kind: str) -> bytes:
    """A file with a variable tensor among its inputs or outputs."""
    w = Writer("edges")
    x, y = w.input("x", (1, 4), "int8", scale=0.1), w.tensor("y", (1, 4), "int8", scale=0.1)
    other = w.variable("odd", (1, 4), "int8", 0.1)
    w.op("ADD", [x, other], [y])
    w.output(y)
    (w._inputs if kind == "input" else w._outputs).append(other)
    return w.finish()


@pytest.mark.parametrize("kind", ["input", "output"])
def test_what_can_be_no_edge_of_a_model(kind: str) -> None:
    with pytest.raises(MoteError, match=rf"edges\.tflite: {kind} 'odd' is a variable tensor"):
        tflite.parse(edges(kind), "edges.tflite")


def refused_by_litert() -> bytes:
    """A convolution whose biases have their scales on an axis that they do not have, as those of files from older
    converters have."""
    w = Writer("refused")
    x, y = (w.input("x", (1, 4, 4, 2), "int8", 0.1), w.tensor("y", (1, 4, 4, 3), "int8", 0.3))
    k = w.const("k", np.arange(6, dtype=np.int8).reshape(3, 1, 1, 2), [0.1, 0.2, 0.3])
    b = w.const("b", np.arange(3, dtype=np.int32), [0.01, 0.02, 0.03], axis=3)
    w.op("CONV_2D", [x, k, b], [y])
    w.output(y)
    return w.finish()


@needs_litert
def test_a_model_that_litert_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mote compiles it, and compares it with its own reference, which it says."""
    (tmp_path / "refused.tflite").write_bytes(refused_by_litert())
    command = ["verify", str(tmp_path / "refused.tflite"), "--inputs", "1"]
    assert main(command) == 0
    said = "numpy (LiteRT does not run the model: quantized_dimension must be in range"
    assert f"against {said}" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["passed"] and result["reference"].startswith(said)
