"""The checker for firmware decides about command streams as `mote.hardware.npu.check` does, and stays inside of the
payload."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mote.hardware.npu.sources import check_files
from mote.hardware.npu.stream import CommandStream, decode, made
from tests.compiler.emit.image.c_runtime import CHECKED, STRICT
from tests.hardware.npu.checker import Status, decided
from tests.hardware.npu.compiled import Compiled, compiled
from tests.helpers.support import examples, needs

CORES = ("ethos-u55-32", "ethos-u55-128", "ethos-u65-256", "ethos-u65-512")
HERE = Path(__file__).parent
MUTANTS = 20_000
MOST_BYTES = {"ethos-u55": 3 << 10, "ethos-u85": 4 << 10}
"""Bytes of flash that the checker may take on a Cortex-M55."""
NEWEST = ("ethos-u85-128", "ethos-u85-256", "ethos-u85-1024", "ethos-u85-2048")


def status(part: Compiled, sizes: Sequence[int] | None = None, writable: Sequence[bool] | None = None) -> Status:
    return decided(part.payload, sizes or part.sizes, part.writable if writable is None else writable)[0]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("model", ["digits", "keywords"])
def test_streams_of_vela_touch_their_own_memory_and_all_of_it(model: str, core: str) -> None:
    for part in compiled(model, core):
        assert status(part) is Status.OK
        used = [i for i in range(3) if i != 2 or "u65" in core]
        for region in used:
            less = [size - 16 * (i == region) for i, size in enumerate(part.sizes)]
            assert status(part, less) is Status.OUTSIDE, f"base pointer {region}"
        assert status(part, writable=(False,) * 3) is Status.READ_ONLY


def test_streams_for_other_hardware_are_refused() -> None:
    part = compiled("digits", "ethos-u85-256")[0]
    assert status(part) is Status.CORE
    assert decided(part.payload, part.sizes, part.writable, "ethos-u85")[0] is Status.OK
    part = compiled("digits", "ethos-u55-128")[0]
    assert decided(part.payload, part.sizes, part.writable, "ethos-u85")[0] is Status.CORE


def edited(stream: CommandStream, name: str, operand: int, occurrence: int = 0) -> bytes:
    """The payload with another operand of a command."""
    places = [i for i, command in enumerate(stream.commands) if command.name == name]
    commands = list(stream.commands)
    commands[places[occurrence]] = stream.command(name, operand)
    return stream.with_commands(commands).encode()


def word_after(payload: bytes, command: bytes, new: int) -> bytes:
    at = payload.index(command) + 4
    return payload[:at] + new.to_bytes(4, "little") + payload[at + 4 :]


def test_each_kind_of_damage_has_its_status() -> None:
    part = compiled("digits", "ethos-u55-128")[0]
    stream = decode(part.payload)

    def refused(payload: bytes) -> Status:
        return decided(payload, part.sizes, part.writable)[0]

    assert refused(edited(stream, "IFM_BASE0", 1 << 40)) is Status.OUTSIDE
    assert refused(edited(stream, "OFM_STRIDE_Y", 0x80000000 << 16)) is Status.OUTSIDE, "below the beginning"
    assert refused(edited(stream, "OFM_BASE0", 0x7FFFFFF0 << 16)) is Status.OUTSIDE
    assert refused(edited(stream, "OFM_REGION", 0)) is Status.READ_ONLY
    assert refused(edited(stream, "OFM_REGION", 3)) is Status.OUTSIDE
    assert refused(edited(stream, "WEIGHT_BASE", 8 << 16)) is Status.ALIGNMENT
    assert refused(edited(stream, "SCALE_LENGTH", 16 << 16)) is Status.VALUE, "too few for the channels"
    assert refused(edited(stream, "IFM_PAD_TOP", 100)) is Status.VALUE, "no row is left"
    assert refused(edited(stream, "OFM_REGION", 8)) is Status.VALUE
    assert refused(edited(stream, "DMA0_LEN", 1 << 40)) is Status.OUTSIDE
    for name in ("IFM_BASE0", "OFM_WIDTH_M1", "WEIGHT_REGION", "DMA0_SRC"):
        less = [c for c in stream.commands if c.name != name]
        assert refused(stream.with_commands(less).encode()) is Status.UNSET, name
    assert refused(stream.with_commands(stream.commands[:-1]).encode()) is Status.COMMAND, "nothing stops it"
    assert refused(stream.with_commands([*stream.commands, stream.commands[-1]]).encode()) is Status.COMMAND
    irq = [stream.command("IRQ", 1), *stream.commands]
    assert refused(stream.with_commands(irq).encode()) is Status.COMMAND, "the driver would take it for the end"
    assert refused(part.payload[:-4]) is Status.PAYLOAD
    assert refused(part.payload + (5).to_bytes(4, "little")) is Status.OK, "padding"
    assert refused(part.payload + part.payload[4:]) is Status.PAYLOAD, "a second stream"
    assert refused(b"COP2" + part.payload[4:]) is Status.PAYLOAD
    assert refused(b"") is refused(b"COP1") is refused(part.payload[:-1]) is Status.PAYLOAD


def test_refusals_say_where() -> None:
    part = compiled("digits", "ethos-u55-128")[0]
    stream = decode(part.payload)
    payload = edited(stream, "OFM_REGION", 3)
    first = next(c for c in stream.commands if c.name == "CONV")
    assert decided(payload, part.sizes, part.writable) == (Status.OUTSIDE, first.offset)


def test_internal_memory_ends_where_the_configuration_says() -> None:
    base = decode(compiled("digits", "ethos-u55-128")[0].payload)

    def transfer(to: int) -> Status:
        said = {
            "DMA0_SRC_REGION": 0,
            "DMA0_SRC": 0,
            "DMA0_DST_REGION": 1 << 8,
            "DMA0_DST": to << 16,
            "DMA0_LEN": 256 << 16,
        }
        commands = [base.command(name, operand) for name, operand in said.items()]
        stream = made(
            "ethos-u55", 128, [*commands, base.command("DMA_START"), base.command("STOP", 0xFFFF)], shram=24 << 10
        )
        return decided(stream.encode(), (256,), (False,))[0]

    assert transfer((24 << 10) - 256) is Status.OK
    assert transfer((24 << 10) - 240) is Status.OUTSIDE


def test_two_cores_share_the_internal_memory() -> None:
    part = compiled("digits", "ethos-u65-512")[0]
    stream = decode(part.payload)
    assert stream.config.shram == 96 << 10
    tables = [n for n, c in enumerate(stream.commands) if c.name == "DMA0_DST" and c.value == (46 << 10)]
    commands = list(stream.commands)
    commands[tables[0]] = stream.command("DMA0_DST", (48 << 10) << 16)
    assert decided(stream.with_commands(commands).encode(), part.sizes, part.writable)[0] is Status.OUTSIDE


@pytest.fixture(scope="module", params=["ethos-u55", "ethos-u85"])
def mutants(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A program with sanitizers that damages payloads, and payloads."""
    needs("gcc")
    folder = tmp_path_factory.mktemp("mutants")
    for name, text in check_files(request.param).items():
        (folder / name).write_text(text, encoding="utf-8")
    program = folder / "mutants"
    sources = [*folder.glob("*.c"), HERE / "mutants.c"]
    subprocess.run(["gcc", *STRICT, f"-I{folder}", *CHECKED, *map(str, sources), "-o", str(program)], check=True)
    files = []
    for core in CORES if request.param == "ethos-u55" else NEWEST:
        files.append(folder / f"{core}.payload")
        files[-1].write_bytes(compiled("digits", core)[0].payload)
    return program, files


@pytest.mark.quick_cases(1)
def test_mutants_never_lead_out_of_the_payload(mutants: tuple[Path, list[Path]]) -> None:
    program, files = mutants
    count = examples(1_000_000, MUTANTS // 2)
    done = subprocess.run([program, "1", str(count), *files], capture_output=True, text=True, check=False)
    seen = re.fullmatch(r"(\d+) tried, (\d+) taken\n", done.stdout)
    assert done.returncode == 0 and seen is not None, done.stderr[-4000:]
    assert int(seen[1]) == count and count / 20 < int(seen[2]) < count / 2


@pytest.mark.parametrize("core", MOST_BYTES)
def test_it_is_small_on_a_core_with_an_npu(core: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc")
    for name, text in check_files(core).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    flags = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-Os", *STRICT, "-c"]
    (source,) = tmp_path.glob("*.c")
    subprocess.run(["arm-none-eabi-gcc", *flags, source.name, "-o", "check.o"], cwd=tmp_path, check=True)
    listed = subprocess.run(["arm-none-eabi-size", "check.o"], cwd=tmp_path, check=True, capture_output=True, text=True)
    text, data, bss = map(int, listed.stdout.splitlines()[1].split()[:3])
    assert (data, bss) == (0, 0) and text <= MOST_BYTES[core]
