"""Regions of the Ethos-U in stripes of rows: rings never lose a row that is read, and results are the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("ethosu.regor")

import mote
from mote.compiler.offload.contract import Offloaded
from mote.compiler.offload.ethos_u import _job
from mote.compiler.offload.ethos_u.exact import multipliers, rounds_once
from mote.compiler.offload.ethos_u.job import TENSORS, WORKING, NpuJob
from mote.compiler.offload.ethos_u.regions import exported, members, regions
from mote.compiler.offload.ethos_u.striped import NotPlainError, RowJobs, by_rows, estimated, striped
from mote.compiler.offload.ethos_u.striped.emit import _tiles
from mote.compiler.offload.ethos_u.striped.program import Access, RowOperation, RowTensor, RowWindow, StreamProgram
from mote.compiler.offload.ethos_u.striped.schedule import arranged, packed
from mote.compiler.offload.ethos_u.striped.sums import sums
from mote.compiler.offload.ethos_u.vela import compiled, configuration
from mote.compiler.passes.pipeline import optimize
from mote.frontends import load
from mote.hardware import targets
from mote.hardware.npu.commands import Command, named
from mote.hardware.npu.functional import execute
from mote.hardware.npu.hazards import judge
from mote.hardware.npu.stream import decode, made, operations
from tests.helpers.network import Net
from tests.helpers.support import examples, fuzzed

DIGITS = Path(__file__).parents[4] / "models" / "digits.tflite"
TARGET = targets.load("corstone-300")
SUMS = sums(configuration(TARGET))
WIDTH = 16
"""Bytes of a row in programs made up here."""


@st.composite
def programs(draw: st.DrawFn) -> tuple[StreamProgram, list[int]]:
    """Windows one after another, and sums with a tensor before; with rows in a stripe of each."""
    rows = draw(st.integers(4, 20))
    tensors = [RowTensor(TENSORS, rows * WIDTH, 0, rows)]
    made_, heights = [], []
    kind = Command(named("ethos-u55")["CONV"])
    for number in range(draw(st.integers(1, 7))):
        kernel, stride = draw(st.integers(1, min(5, rows))), draw(st.integers(1, 2))
        above, below = draw(st.integers(0, kernel - 1)), draw(st.integers(0, kernel - 1))
        after = (rows + above + below - kernel) // stride + 1
        used = (after - 1) * stride + kernel - above - below
        reads = [Access("IFM", number, 0, used, WIDTH, RowWindow(kernel, stride, above, used))]
        alike = [t for t, tensor in enumerate(tensors) if tensor.rows == after]
        if alike and draw(st.booleans()):
            other = draw(st.sampled_from(alike))
            reads.append(Access("IFM2", other, 0, after, WIDTH, RowWindow(1, 1, 0, after)))
        made_.append(RowOperation(kind, {}, tuple(reads), Access("OFM", number + 1, 0, after, WIDTH)))
        tensors.append(RowTensor(WORKING, after * WIDTH, WIDTH if draw(st.integers(0, 3)) else 0, after))
        heights.append(draw(st.integers(1, after)))
        rows = after
    tensors[-1] = replace(tensors[-1], base=TENSORS + 1, pitch=0)
    writers = ((), *((n,) for n in range(len(made_))))
    return StreamProgram(made("ethos-u55", 128, []), tuple(made_), tuple(tensors), writers), heights


@settings(max_examples=150, deadline=None)
@given(programs())
def test_rows_are_there_when_they_are_read(given_: tuple[StreamProgram, list[int]]) -> None:
    """Memory that remembers which row of which tensor was written where last."""
    program, heights = given_
    layout = arranged(program, heights)
    memory: dict[int, tuple[int, int]] = {}
    for stripe in layout.stripes:
        operation = program.operations[stripe.operation]
        for read in operation.reads:
            if program.tensors[read.tensor].placed and read.window is not None:
                low, high, _, _ = read.window.rows_of(stripe.first, stripe.end)
                for row, at in _places(program, layout, read, low, high):
                    assert all(memory[byte] == (read.tensor, row) for byte in range(at, at + WIDTH))
        if program.tensors[operation.write.tensor].placed:
            for row, at in _places(program, layout, operation.write, stripe.first, stripe.end):
                assert at + WIDTH <= layout.size
                memory.update(dict.fromkeys(range(at, at + WIDTH), (operation.write.tensor, row)))
    last = [s for s in layout.stripes if s.operation == len(program.operations) - 1]
    assert [s.first for s in last[1:]] == [s.end for s in last[:-1]] and last[-1].end == program.operations[-1].rows


def _places(program: StreamProgram, layout, access: Access, first: int, end: int):  # type: ignore[no-untyped-def]
    """Rows and their addresses, as the tiles have them."""
    tiles = _tiles(program, layout, access, first, end)
    top = tiles[f"{access.what}_HEIGHT0_M1"] + 1
    for row in range(first, end):
        part, line = ("BASE0", row - first) if row - first < top else ("BASE2", row - first - top)
        yield row, tiles[f"{access.what}_{part}"] + line * WIDTH


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 255)), min_size=1, max_size=12))
def test_buffers_that_live_together_lie_apart(buffers: list[tuple[int, int]]) -> None:
    sizes, live = [size for size, _ in buffers], [mask for _, mask in buffers]
    offsets, total = packed(sizes, live)
    for m in range(len(buffers)):
        assert offsets[m] % 16 == 0 and offsets[m] + sizes[m] <= total
        for n in range(m):
            apart = offsets[m] + sizes[m] <= offsets[n] or offsets[n] + sizes[n] <= offsets[m]
            assert apart or not live[m] & live[n]


def job() -> tuple[NpuJob, int]:
    """The digits as Vela compiles them without stripes, and its estimate of cycles."""
    pytest.importorskip("ethosu.regor", reason="ethos-u-vela is not installed")
    graph = optimize(load(DIGITS))[0]
    (region,) = regions(graph, configuration(TARGET))
    model = compiled(exported(region, graph).data, configuration(TARGET), whole=True)
    return _job(model, [multipliers(graph, op) for op in members(region) if rounds_once(op)]), model.cycles


def computed(job: NpuJob, seed: int) -> list[bytes]:
    memory = areas(job)
    memory[TENSORS] = given_input(job, seed)
    execute(decode(job.payload), memory)
    return [area.tobytes() for area in memory[TENSORS + 1 :]]


def areas(job: NpuJob) -> list[NDArray[np.uint8]]:
    return [np.frombuffer(job.constants, np.uint8), *(np.full(n, 0x5A, np.uint8) for n in job.sizes[1:])]


def given_input(job: NpuJob, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, job.inputs[0], dtype=np.uint8)


def computed_by_rows(rows: RowJobs, given: NDArray[np.uint8]) -> list[bytes]:
    """As the C does it: a row is kept, and its job runs."""
    memory = areas(next(job for job in rows.jobs if job is not None))
    for number, (job, row) in enumerate(zip(rows.jobs, given.reshape(len(rows.jobs), -1), strict=True)):
        at = rows.offset + number % rows.lines * rows.row_bytes
        memory[WORKING][at : at + rows.row_bytes] = row
        if job is not None:
            execute(decode(job.payload), memory)
    return [area.tobytes() for area in memory[TENSORS + 1 :]]


def test_the_same_results_in_less_memory() -> None:
    whole, estimate = job()
    stripes = striped(whole, SUMS)
    assert stripes.job.scratch < whole.scratch and estimated(stripes, estimate) > estimate
    one = striped(whole, SUMS, 1)
    assert len(one.layout.stripes) == sum(operation.rows for operation in one.program.operations)
    for seed in range(3):
        expected = computed(whole, seed)
        assert computed(stripes.job, seed) == expected == computed(one.job, seed)


def test_rows_that_arrive() -> None:
    """The input is never in memory as a whole."""
    whole, _ = job()
    rows = by_rows(whole, 8, SUMS)
    some = next(job for job in rows.jobs if job is not None)
    assert some.scratch < striped(whole, SUMS).job.scratch + whole.inputs[0] and rows.lines < 8
    for seed in range(3):
        assert computed_by_rows(rows, given_input(whole, seed)) == computed(whole, seed)


def test_a_plan_by_rows() -> None:
    """Where the whole input has no room, each row that arrives is one call; run as C, every value is LiteRT's."""
    pytest.importorskip("ethosu.regor", reason="ethos-u-vela is not installed")
    net = Net(1)
    x = net.conv(net.input(1, 32, 96, 3), 16, stride=2)
    model = net.finish(net.pool(net.conv(net.conv(x, 32), 64, 1), (16, 48)))
    options: dict[str, Any] = {"target": "corstone-300", "backend": "ethos-u", "optimize": "speed", "input": "rows"}
    made = mote.compile(model, ram=str(13 << 10), **options)
    calls = [step for step in made.plan.steps if isinstance(step.kernel, Offloaded)]
    assert [step.tap for step in calls] == list(range(32)) and made.plan.ram <= 13 << 10
    assert dict(calls[0].kernel.knobs) == {"variant": "rows"}
    assert mote.verify(made, inputs=2).exact


def test_weights_are_those_of_the_whole_operator() -> None:
    """Operations and weights are the same, in other numbers and at other addresses."""
    whole, _ = job()
    names = ("WEIGHT_BASE", "WEIGHT_LENGTH", "SCALE_BASE", "OFM_DEPTH_M1", "OFM_WIDTH_M1", "KERNEL_STRIDE")

    def seen(job: NpuJob) -> set[tuple[int, ...]]:
        convs = (o for o in operations(decode(job.payload)) if o.name == "CONV")
        return {tuple(o.value(name) for name in names) for o in convs}

    assert seen(striped(whole, SUMS).job) == seen(whole)


def network(seed: int) -> tuple[bytes, int]:
    """A random model of windows, sums, tables and a reduction; and the rows of its input."""
    net, rng = Net(seed), np.random.default_rng(seed)
    rows, width, depth = (int(n) for n in rng.integers((9, 4, 3), (20, 12, 20)))
    x = net.input(1, rows, width, depth)
    for _ in range(int(rng.integers(2, 6))):
        padding = str(rng.choice(["SAME", "VALID"])) if min(net.shapes[x][1:3]) > 4 else "SAME"
        stride = int(rng.integers(1, 3)) if min(net.shapes[x][1:3]) > 4 else 1
        match int(rng.integers(0, 6)):
            case 0:
                x = net.conv(x, int(rng.integers(4, 40)), int(rng.integers(1, 4)), stride=stride, padding=padding)
            case 1:
                x = net.depthwise(x, 1, 3, stride=stride, padding=padding)
            case 2 if min(net.shapes[x][1:3]) > 3:
                x = net.pool(x, 2, str(rng.choice(["MAX_POOL_2D", "AVERAGE_POOL_2D"])), stride=int(rng.integers(1, 3)))
            case 3:
                other = net.depthwise(net.conv(x, net.shapes[x][3], 1))
                x = net.add(x, other)
            case 4:
                x = net.op("HARD_SWISH", [x])
            case _:
                quant = net.quants[x]
                other = net.op("RELU", [net.conv(x, 8, 3)], quant=quant)
                x = net.concatenate(3, x, other)
    match int(rng.integers(0, 3)):
        case 0:
            x = net.pool(x, net.shapes[x][1:3])
        case 1:
            x = net.mean(x)
        case _:
            pass
    return net.finish(x), rows


def same(seed: int, core: str) -> bool:
    """Stripes of one row, of few bytes, and rows that arrive compute what the whole operators compute. Returns whether
    the first operator takes rows."""
    data, rows = network(seed)
    config = configuration(targets.load(core))
    whole = _job(compiled(data, config, whole=True), [])
    expected = computed(whole, seed)
    for stripes in (striped(whole, sums(config), 1), striped(whole, sums(config))):
        judge(decode(stripes.job.payload), stripes.job.sizes, stripes.job.writable)
        assert computed(stripes.job, seed) == expected
    try:
        arriving = by_rows(whole, rows, sums(config))
    except NotPlainError as reason:
        assert "does not read the input by rows" in str(reason)
        return False
    for each in arriving.jobs:
        assert each is None or judge(decode(each.payload), each.sizes, each.writable)
    assert computed_by_rows(arriving, given_input(whole, seed)) == expected
    return True


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["corstone-300", "corstone-300-u65-256"])
def test_random_networks(core: str) -> None:
    pytest.importorskip("ethosu.regor", reason="ethos-u-vela is not installed")
    assert sum(same(seed, core) for seed in range(6)) >= 3


@fuzzed
@pytest.mark.parametrize("core", ["corstone-300", "corstone-300-u55-256", "corstone-300-u65-256"])
def test_more_random_networks(core: str) -> None:
    pytest.importorskip("ethosu.regor", reason="ethos-u-vela is not installed")
    count = examples(54)
    assert sum(same(seed, core) for seed in range(6, 6 + count)) >= count // 2
