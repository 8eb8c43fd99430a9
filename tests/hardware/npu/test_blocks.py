"""Operations begin when the blocks that they read have been written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.hardware.npu.blocks import BlockBox, ByteRuns, check_blocks, runs
from mote.hardware.npu.check import check, touched
from mote.hardware.npu.commands import Command, named
from mote.hardware.npu.hazards import judge
from mote.hardware.npu.stream import CommandStream, NpuOperation, decode
from tests.hardware.npu.compiled import compiled

CORES = ("ethos-u55-32", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512")


def with_dependency(stream: CommandStream, blocks: int) -> CommandStream:
    changed = [c.with_value(blocks) if c.name == "BLOCKDEP" else c for c in stream.commands]
    return stream.with_commands(changed)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("model", ["digits", "keywords"])
def test_streams_of_vela_begin_in_time(model: str, core: str) -> None:
    for part in compiled(model, core):
        stream = decode(part.payload)
        footprint = check(stream, part.sizes, part.writable)
        check_blocks(stream.config, footprint)
        assert any(c.name == "BLOCKDEP" and c.value for c in stream.commands), "not all of them wait for everything"
        judge(with_dependency(stream, 0), part.sizes, part.writable)
        with pytest.raises(MoteError, match=r"BLOCKDEP lets it begin with 3 blocks outstanding, and .* at byte"):
            judge(with_dependency(stream, 3), part.sizes, part.writable)


def test_a_wait_for_all_operations_takes_its_place() -> None:
    part = compiled("digits", "ethos-u55-128")[0]
    stream = with_dependency(decode(part.payload), 3)
    wait = stream.command("KERNEL_WAIT")
    commands = [x for c in stream.commands for x in ((wait, c) if c.kind.operation else (c,))]
    judge(stream.with_commands(commands), part.sizes, part.writable)


runs_of_bytes = st.builds(
    lambda base, starts, length: ByteRuns(base, np.array(starts, np.int64), length),
    st.integers(0, 1),
    st.lists(st.integers(-20, 60), max_size=6),
    st.integers(1, 12),
)


def covered(of: ByteRuns) -> set[tuple[int, int]]:
    return {(of.base, start + n) for start in of.starts.tolist() for n in range(of.length)}


@given(runs_of_bytes, runs_of_bytes)
def test_runs_overlap_where_they_have_bytes_in_common(a: ByteRuns, b: ByteRuns) -> None:
    assert a.overlap(b) == b.overlap(a) == bool(covered(a) & covered(b))


@given(
    st.tuples(*[st.integers(1, 6)] * 2, st.integers(1, 40)),
    st.tuples(*[st.integers(0, 6)] * 3),
    st.booleans(),
    st.integers(0, 2),
)
def test_runs_of_all_of_a_feature_map_are_its_footprint(
    shape: tuple[int, int, int], tiles: tuple[int, int, int], bricks: bool, bits: int
) -> None:
    kinds = named("ethos-u55")
    said = {"OFM_HEIGHT_M1": shape[0] - 1, "OFM_WIDTH_M1": shape[1] - 1, "OFM_DEPTH_M1": shape[2] - 1}
    said |= dict(zip(("OFM_WIDTH0_M1", "OFM_HEIGHT0_M1", "OFM_HEIGHT1_M1"), tiles, strict=True))
    said |= {"OFM_REGION": 1, "OFM_STRIDE_X": 256, "OFM_STRIDE_Y": 4096, "OFM_STRIDE_C": 1024}
    said |= {f"OFM_BASE{tile}": tile << 16 for tile in range(4)}
    said |= {"IFM_DEPTH_M1": 0, "IFM_REGION": 0, "IFM_STRIDE_X": 0, "IFM_STRIDE_Y": 0, "IFM_WIDTH0_M1": 9}
    said |= {"IFM_HEIGHT0_M1": 9, "IFM_HEIGHT1_M1": 9, **{f"IFM_BASE{tile}": 0 for tile in range(4)}}
    registers = {name: Command(kinds[name]).with_value(value) for name, value in said.items()}
    precision = Command(kinds["OFM_PRECISION"]).with_value(int(bricks), "layout").with_value(bits, "bits")
    registers |= {"OFM_PRECISION": precision, "IFM_PRECISION": Command(kinds["IFM_PRECISION"])}
    operation = NpuOperation(Command(kinds["ELEMENTWISE"]).with_value(6), registers)
    config = decode(compiled("digits", "ethos-u55-128")[0].payload).config
    spans = touched(config, operation).writes
    all_of_it = runs(operation, "OFM", BlockBox(range(shape[0]), range(shape[1]), range(shape[2])))
    for span in spans:
        inside = all_of_it.starts[(all_of_it.starts >= span.first) & (all_of_it.starts < span.end)]
        assert (inside.min(), inside.max() + all_of_it.length) == (span.first, span.end)
    assert sum(len(range(*np.searchsorted(np.sort(all_of_it.starts), s[1:3]))) for s in spans) == all_of_it.starts.size
