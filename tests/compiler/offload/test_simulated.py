"""Simulated accelerators: Python computes what a driver asks for, on the host, on emulated cores and in a library."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mote
from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.bench.execute.host_library import HostModel
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import firmware
from mote.compiler.offload.backends import GENERATORS
from mote.compiler.offload.contract import Artifact, Blob, Generator, Invocation, Pointer
from mote.deploy.boards.placing import board_model
from mote.frontends.tflite.writer import Writer
from mote.hardware.targets import Target
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.devices import SimulatedDevice, answered
from mote.ir.graph import Graph, Op

COUNT = 300
HEADER = """\
#include <stdint.h>
int lookup_init(void);
int lookup(const uint8_t *table, const int8_t *in, int8_t *out, uint32_t count);
"""
REAL = """\
#error "this is the driver of a chip"
"""
DRIVER = """\
#include "lookup_driver.h"
#include "mote_device.h"

int lookup_init(void) {
    return 0;
}

int lookup(const uint8_t *table, const int8_t *in, int8_t *out, uint32_t count) {
    void *const memory[3] = {(void *)(uintptr_t)table, (void *)(uintptr_t)in, out};
    const uint32_t bytes[3] = {256, count, count};
    const int status = mote_device_call("lookup", memory, bytes, 3);
    if (status != 0) {
        for (uint32_t i = 0; i < count; i++) {
            out[i] = (int8_t)status;
        }
    }
    CRASH
    return status;
}
"""


def model(layers: int = 2) -> bytes:
    """An accelerator's layers between those of the core."""
    w = Writer("functions")
    x = w.input("x", (1, COUNT), "int8", 0.05, 3)
    for i in range(layers):
        y = w.tensor(f"table{i}", (1, COUNT), "int8", 1 / 256, -128)
        w.op("LOGISTIC", [x], [y])
        x = w.tensor(f"sum{i}", (1, COUNT), "int8", 0.02, 5)
        w.op("ADD", [y, w.const(f"c{i}", np.arange(COUNT).astype(np.int8)[None], 0.1, 0)], [x])
    w.output(x)
    return w.finish()


class Lookup(Generator):
    """Looks functions up in an accelerator, which is a few lines of NumPy."""

    name = "lookup"

    def __init__(self, folder: Path, *, crash: str = "", **changes: Any) -> None:
        self.folder, self.crash, self.changes = folder, crash, changes
        self.calls = 0

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [op for op in graph.ops if op.table(graph) is not None]

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact:
        (self.folder / "driver.c").write_text(REAL, encoding="utf-8")
        table = region.table(graph)
        assert table is not None
        x, y = region.inputs[0], region.outputs[0]
        artifact = Artifact(
            calls=(Invocation("lookup", (*map(Pointer, ("table", x, y)), COUNT)),),
            cost=10.0,
            header="lookup_driver.h",
            blobs=(Blob("table", table.view(np.uint8).reshape(-1)),),
            sources=(str(self.folder / "driver.c"),),
            simulated={"lookup_driver.h": HEADER, "lookup_driver.c": DRIVER.replace("CRASH", self.crash)},
            init="lookup_init",
        )
        return replace(artifact, **self.changes)

    def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
        table, values, out = memory
        self.calls += 1
        out[:] = table[values.view(np.int8).astype(np.int32) + 128]
        return 0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = dict(GENERATORS)
    yield tmp_path
    GENERATORS.clear()
    GENERATORS.update(before)


def compiled(generator: Generator, **options: Any) -> Compiled:
    mote.register_generator(generator)
    return mote.compile(model(), backend=generator.name, **options)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("target", "emulator"), [("host", None), ("cortex-m55", "qemu"), ("cortex-m4", "unicorn"), ("rv32imc", "qemu")]
)
def test_judged_exact(folder: Path, target: str, emulator: str | None) -> None:
    """Every tensor equals the reference, and the instructions are those of the core."""
    generator = Lookup(folder)
    made = compiled(generator, target=target)
    assert not any("lookup_driver" in file for file in made.project.files)
    assert mote.verify(made, inputs=3, emulator=emulator, sanitize=target == "host").exact
    assert generator.calls == 6
    if target != "host":
        graph = made.plan.graph
        with temporary_folder() as work, bench(made, work, emulator=emulator) as on:
            raw = [[case[t].tobytes() for t in graph.inputs] for case in stimuli(graph, 1)]
            run, profile = on.execute(Mode.MEASURE, raw), on.execute(Mode.PROFILE, raw)
        counted = mote.run(mote.compile(model(), target=target), emulator=emulator).instructions
        assert run.instructions and profile.instructions and counted
        assert abs(run.instructions[0] - profile.instructions[0]) < 100
        assert run.instructions[0] < counted, "the driver does next to nothing"


def test_a_library_of_the_host(folder: Path) -> None:
    generator = Lookup(folder)
    host = HostModel(compiled(generator))
    graph = host.graph
    cases = stimuli(graph, 40)
    (outputs,) = host.run(cases)
    assert generator.calls == 80
    for case, output in zip(cases, outputs, strict=True):
        assert np.array_equal(output, graph.evaluate(case)[graph.outputs[0]].reshape(output.shape))


class Failing(Lookup):
    """Fails in its second layer."""

    error: Exception = ValueError("no such table")

    def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
        if self.calls:
            raise self.error
        return super().simulate(memory)


@pytest.mark.parametrize(("target", "emulator"), [("host", None), ("cortex-m55", "qemu"), ("cortex-m4", "unicorn")])
def test_what_simulate_raises(folder: Path, target: str, emulator: str | None) -> None:
    """The layer is told by its constants, which are in the memory that is passed."""
    made = compiled(Failing(folder), target=target)
    why = "generator 'lookup', layer 'table1': simulating its accelerator failed: ValueError: no such table"
    with pytest.raises(MoteError, match=re.escape(why)) as error:
        mote.verify(made, inputs=1, emulator=emulator)
    assert isinstance(error.value.__cause__, ValueError)


def test_other_failures(folder: Path) -> None:
    with pytest.raises(MoteError, match="simulating its accelerator failed: ValueError: no such table"):
        HostModel(compiled(Failing(folder))).run(stimuli(compiled(Failing(folder)).plan.graph, 2))

    class Refusing(Failing):
        error = MoteError("writes outside of its memory", where="command 3", remedy="compile it anew")

    with pytest.raises(MoteError, match="layer 'table1': command 3: writes outside") as error:
        mote.verify(compiled(Refusing(folder)), inputs=1)
    assert error.value.remedy == "compile it anew"
    assert SimulatedDevice(lambda memory: 0, {"a": [b"x"], "b": [b"x"]}).layer([]) == "'a' or 'b'"

    class Odd(Lookup):
        def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
            return None  # type: ignore[return-value]

    with pytest.raises(MoteError, match="simulate returned None, which is no status"):
        mote.verify(compiled(Odd(folder)), inputs=1)

    class Coded(Lookup):
        def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
            return 77

    assert not mote.verify(compiled(Coded(folder)), inputs=1).passed
    assert np.array_equal(np.frombuffer(_traced(compiled(Coded(folder))), np.int8), [77] * COUNT)


def _traced(made: Compiled) -> bytes:
    with temporary_folder() as work, bench(made, work) as on:
        raw = [case[t].tobytes() for case in stimuli(made.plan.graph, 1) for t in made.plan.graph.inputs]
        return on.execute(Mode.DUMP, [raw]).dumps[0][0]


@pytest.mark.parametrize("crash", ["*(volatile int *)8 = 1;", 'mote_device_call("x", memory, bytes, 3);'])
def test_a_crash_hangs_nobody(folder: Path, crash: str) -> None:
    began = time.monotonic()
    with pytest.raises(MoteError, match=r"the model crashed|a driver calls the device 'x', and there is no generator"):
        mote.verify(compiled(Lookup(folder, crash=crash)), inputs=1)
    assert time.monotonic() - began < 60


def test_a_call_that_is_cut_short(tmp_path: Path) -> None:
    """The run ends in the middle of a call, or calls with nonsense."""
    devices = {"x": SimulatedDevice(lambda memory: 0)}
    with answered(devices, tmp_path):
        (tmp_path / "mote_device_calls").write_bytes(b"\1\0\0\0\1\0\0\0x")
    assert not list(tmp_path.iterdir())
    with pytest.raises(MoteError, match="what is no call"), answered(devices, tmp_path):
        (tmp_path / "mote_device_calls").write_bytes(b"\xff" * 8)
        with (tmp_path / "mote_device_answers").open("rb", buffering=0) as answers:
            assert answers.read(8) == bytes(8)
    with pytest.raises(KeyError), answered(devices, tmp_path):
        raise KeyError


def test_refusals(folder: Path) -> None:
    with pytest.raises(MoteError, match="simavr runs no model with a simulated accelerator"):
        mote.verify(compiled(Lookup(folder), target="atmega2560"), inputs=1)
    with pytest.raises(MoteError, match=r"'\.\./x\.c', which is not a plain name"):
        compiled(Lookup(folder, simulated={"../x.c": ""}))
    with pytest.raises(MoteError, match="no driver for a board is known"):
        board_model(firmware(compiled(Lookup(folder, sources=()))))
    with pytest.raises(MoteError, match="of an external generator is another file"):
        compiled(Lookup(folder, simulated={"model.h": ""}))
