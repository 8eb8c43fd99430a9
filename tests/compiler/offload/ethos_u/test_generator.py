"""The backend `ethos-u`: which operators it claims, what Vela makes of them, and what becomes of it in a plan."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.offload.contract import Artifact, Offloaded
from mote.compiler.offload.ethos_u import EthosU
from mote.compiler.offload.ethos_u.artifact import HEAD
from mote.compiler.offload.ethos_u.job import NpuJob, linked
from mote.compiler.offload.ethos_u.regions import exported, problem, regions
from mote.compiler.offload.ethos_u.vela import NotAcceptedError, VelaTensor, compiled, configuration
from mote.compiler.passes.pipeline import optimize
from mote.frontends import load
from mote.frontends.tflite.writer import Writer
from mote.hardware import targets
from mote.hardware.npu.stream import decode, operations
from mote.ir.graph import Graph
from tests.helpers.network import Net

pytest.importorskip("ethosu.regor", reason="ethos-u-vela is not installed")
DIGITS = Path(__file__).parents[4] / "models" / "digits.tflite"
TARGET = targets.load("corstone-300")


def graph(model: bytes | Path) -> Graph:
    return optimize(load(model))[0]


def built(model: bytes | Path) -> list[Artifact]:
    g = graph(model)
    (region,) = regions(g, configuration(TARGET))
    made = EthosU().build(region, g, TARGET)
    assert isinstance(made, list)
    return made


def adding(shape: tuple[int, ...] = (1, 6, 5, 8)) -> bytes:
    """Two inputs, and an operator between two others that the Ethos-U does not compute."""
    w = Writer("adding")
    x, y = (w.input(name, shape, "int8", 0.05, 3) for name in "xy")
    total, turned, last = (w.tensor(name, shape, "int8", 0.1, -4) for name in ("total", "turned", "last"))
    w.op("ADD", [x, y], [total], fused_activation_function="NONE")
    w.op("REVERSE_V2", [total, w.const("axis", np.array([1], np.int32))], [turned])
    w.op("ADD", [turned, x], [last], fused_activation_function="NONE")
    w.output(last, total)
    return w.finish()


def test_the_whole_of_a_model() -> None:
    """One region; the payload is one for the target, and the driver's alignments are asked for."""
    for made in (artifact for artifact in built(DIGITS) if not artifact.sums):
        words = made.blobs[0].data
        payload = words[HEAD:].tobytes()
        assert int(words[0]) == len(payload) and int(words[1]) == 5
        assert decode(payload).config.name == "ethos-u55-128"
        assert made.alignment == 32 and made.memories == ("sram",) and made.cost > 2000
        assert list(words[2:10]) == [made.blobs[1].data.nbytes, made.scratch, 0, *words[5:7], 0, 0, 0]


def test_a_plan() -> None:
    """The planner takes the region, places its tensors where the Ethos-U reaches them, and counts its blobs."""
    made = mote.compile(str(DIGITS), target="corstone-300", backend="ethos-u", optimize="speed")
    (step,) = made.plan.steps
    assert isinstance(step.kernel, Offloaded) and step.kernel.name == "ethos-u"
    tensors = (*made.plan.graph.inputs, *made.plan.graph.outputs)
    assert {made.plan.memories[made.plan.place[t].memory].name for t in tensors} == {"sram"}
    assert all(made.plan.place[t].offset % 32 == 0 for t in tensors)
    (size,) = re.findall(r"bytes\[(\d+)\];\n} digits_memory MOTE_ALIGN\(32\)", made.project.files["digits.c"])
    assert int(size) % 32 == 0 and 0 <= int(size) - made.plan.arena < 32
    assert "npu_ethosu.c" in made.project.sources


def test_a_region_of_unlike_shapes() -> None:
    """Its first operator has kernels of the core with layouts of their own; the region as a whole has none."""
    net = Net()
    data = net.finish(net.mean(net.depthwise(net.input(1, 40, 40, 16, quant=(0.05, -128)), 1, (3, 3))))
    made = mote.compile(data, target="corstone-300", backend="ethos-u", optimize="speed")
    assert [step.kernel.name for step in made.plan.steps] == ["ethos-u"]
    pins = {made.plan.works[0][0].name: "ethos-u[variant=fast]"}
    mote.compile(data, target="corstone-300", backend="ethos-u", optimize="speed", kernels=pins)


def chain(*widths: int) -> bytes:
    """Fully connected layers."""
    w, rng = Writer("chain"), np.random.default_rng(1)
    x = w.input("x", (1, widths[0]), "int8", 0.05, 3)
    for n, (inputs, outputs) in enumerate(pairwise(widths)):
        y = w.tensor(f"y{n}", (1, outputs), "int8", 0.1, -5)
        weights = w.const(f"w{n}", rng.integers(-127, 128, (outputs, inputs)).astype(np.int8), 0.002, 0)
        w.op("FULLY_CONNECTED", [x, weights], [y], fused_activation_function="NONE")
        x = y
    w.output(x)
    return w.finish()


def test_working_memory_in_the_place_of_the_output() -> None:
    """Tensors in the middle lie where the output will, and that where the input was."""
    data = chain(256, 64, 64, 128, 64, 256)
    *_, made = built(data)
    assert (made.variant, made.in_place, made.scratch) == ("shared", True, 64)
    pinned = mote.compile(
        data, target="corstone-300", backend="ethos-u", optimize="speed", kernels={"y4": "ethos-u[variant=shared]"}
    )
    assert pinned.plan.arena == 256 + 64 and mote.verify(pinned, inputs=3).exact
    assert all(made.variant != "shared" for made in built(chain(256, 64, 32))), "nothing would be gained"


def test_rows_that_operators_see_differently() -> None:
    """One operation writes rows, and the next reads all of them as one: no variant keeps less than that."""
    w, rng = Writer("mean"), np.random.default_rng(0)
    x = w.input("x", (1, 160, 3), "int8", 0.05, 3)
    mean, y = w.tensor("mean", (1, 160), "int8", 0.03, -4), w.tensor("y", (1, 2), "int8", 0.1, 5)
    w.op("MEAN", [x, w.const("axis", np.array([2], np.int32))], [mean], keep_dims=False)
    weights = w.const("weights", rng.integers(-127, 128, (2, 160)).astype(np.int8), 0.01, 0)
    w.op("FULLY_CONNECTED", [mean, weights], [y], fused_activation_function="NONE")
    w.output(y)
    assert all(made.scratch >= 640 + 160 for made in built(w.finish()))


def test_the_rest_stays_on_the_core() -> None:
    g = graph(adding())
    config = configuration(TARGET)
    reasons = [problem(g, op, config) for op in g.ops]
    assert [op.kind for op, reason in zip(g.ops, reasons, strict=True) if not reason] == ["ADD", "ADD"]
    assert len(list(regions(g, config))) == 2


def test_inputs_have_base_pointers_of_their_own() -> None:
    """Vela gives inputs one base pointer together: each gets its own, and the same commands otherwise."""
    g = graph(adding())
    first, _ = regions(g, configuration(TARGET))
    model = compiled(exported(first, g).data, configuration(TARGET))
    tensors = (*model.inputs, *model.outputs)
    assert [t.base for t in tensors] == [3, 3, 4]
    stream = decode(linked(model.payload, tensors))
    (add,) = (o for o in operations(stream) if o.name == "ELEMENTWISE")
    areas = {(add.value(f"{what}_REGION"), add.value(f"{what}_BASE0")) for what in ("IFM", "IFM2")}
    assert areas == {(3, 0), (4, 0)} and add.value("OFM_REGION") == 5
    with pytest.raises(MoteError, match="6 inputs and outputs: Ethos-U has base pointers for 5"):
        linked(model.payload, [VelaTensor(3, 0, 1)] * 6)


def test_fully_connected_rounds_once() -> None:
    """LiteRT's FULLY_CONNECTED rounds once, convolutions twice."""
    words = built(DIGITS)[0].blobs[0].data
    modes = [
        (o.name, o.value("KERNEL_HEIGHT_M1"), o.said("OFM_PRECISION", "round_mode"))
        for o in operations(decode(words[HEAD:].tobytes()))
        if o.name in ("CONV", "DEPTHWISE")
    ]
    assert modes[-1][2] == "NATURAL" and {mode for *_, mode in modes[:-1]} == {"DOUBLE"}


def test_jobs_say_what_they_touch() -> None:
    job = NpuJob(b"", b"123", 4, 0, (5, 6), (7,))
    assert job.sizes == (3, 4, 0, 5, 6, 7) and job.writable == (False, True, True, False, False, True)


def test_refusals(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Vela's reasons are Mote's, and what it prints does not appear."""
    with pytest.raises(NotAcceptedError, match="Unsupported"):
        w = Writer("cosine")
        x = w.input("x", (4,), "float32")
        y = w.tensor("y", (4,), "float32")
        w.op("COS", [x], [y])
        w.output(y)
        compiled(w.finish(), configuration(TARGET))
    assert capfd.readouterr().out == ""
    with pytest.raises(MoteError, match="backend 'ethos-u' does not serve the target cortex-m4"):
        mote.compile(str(DIGITS), target="cortex-m4", backend="ethos-u")
    npu = 'core = "ethos-u55-128"\nsystem_config = "Mine"\nmemory_mode = "Shared_Sram"\n'
    (tmp_path / "mine.toml").write_text(f'extends = "cortex-m55"\n[npu]\n{npu}', encoding="utf-8")
    with pytest.raises(MoteError, match=r"no section \[System_Config.Mine\]"):
        mote.compile(str(DIGITS), target=str(tmp_path / "mine.toml"), backend="ethos-u")
    (tmp_path / "mine.toml").write_text(f'extends = "cortex-m55"\n[npu]\n{npu}config = "x.ini"', encoding="utf-8")
    with pytest.raises(MoteError, match=r"x\.ini: cannot be read: No such file"):
        mote.compile(str(DIGITS), target=str(tmp_path / "mine.toml"), backend="ethos-u")
