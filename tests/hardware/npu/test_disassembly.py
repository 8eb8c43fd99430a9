"""Command streams as text, from every kind of file that holds them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.offload.ethos_u.artifact import job_words
from mote.compiler.offload.ethos_u.job import NpuJob
from mote.hardware.npu import disassemble
from mote.hardware.npu.commands import Command, named
from mote.hardware.npu.stream import decode, made
from mote.ui.cli import main
from tests.hardware.npu.compiled import Compiled, compiled, compiled_file

CORES = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")


@pytest.mark.parametrize("core", CORES)
def test_every_command_has_a_line_with_its_offset_and_name(core: str) -> None:
    part = compiled("digits", core)[0]
    text = disassemble(part.payload)
    lines = re.findall(r"^ *(\d+)  (\w+)", text, re.MULTILINE)
    assert lines == [(str(c.offset), c.name) for c in decode(part.payload).commands]
    assert text.startswith(f"{core}, architecture ")
    assert "refused" not in text


def test_values_have_names_and_operations_say_what_they_touch() -> None:
    kinds = named("ethos-u55")
    said = {"DMA0_SRC": 16, "DMA0_DST": 1024, "DMA0_LEN": 256}
    commands = [Command(kinds[name]).with_value(value) for name, value in said.items()]
    commands += [Command(kinds["DMA0_SRC_REGION"]), Command(kinds["DMA0_DST_REGION"]).with_value(1, "place")]
    commands += [Command(kinds["DMA_START"]), Command(kinds["IFM_ZERO_POINT"]).with_value(-3), Command(kinds["CONV"])]
    stream = made("ethos-u55", 128, [*commands, Command(kinds["STOP"], 0xFFFF)])
    assert disassemble(stream.encode()).splitlines() == [
        "ethos-u55-128, architecture 1.0.6, 24576 bytes of internal memory: 9 commands in COP1",
        "  base pointer 0: bytes 16 to 272 read",
        "  internal memory: bytes 1024 to 1280 written",
        "",
        "      32  DMA0_SRC             16",
        "      40  DMA0_DST             1024",
        "      48  DMA0_LEN             256",
        "      56  DMA0_SRC_REGION      region=0 place=MEMORY stride_mode=1D",
        "      60  DMA0_DST_REGION      region=0 place=INTERNAL stride_mode=1D",
        "      64  DMA_START",
        "            reads  DMA0_SRC base pointer 0: 16 to 272",
        "            writes DMA0_DST internal memory: 1024 to 1280",
        "      68  IFM_ZERO_POINT       -3",
        "      72  CONV",
        "            refused: register OFM_HEIGHT_M1 was not set before it",
        "      76  STOP                 65535",
    ]


def job(part: Compiled) -> NpuJob:
    return NpuJob(part.payload, part.weights, part.sizes[1], part.sizes[2], (), ())


def test_payloads_files_of_vela_and_jobs_are_disassembled(tmp_path: Path) -> None:
    part = compiled("digits", "ethos-u55-128")[0]
    words = job_words(job(part)).astype("<u4").tobytes()
    files = {
        "payload.bin": part.payload,
        "model_vela.tflite": compiled_file("digits", "ethos-u55-128"),
        "job.bin": words,
        "firmware.bin": b"\x7fELF COP1 is no job" + bytes(50) + words + bytes(100),
    }
    results = {}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        results[name] = mote.disassemble(tmp_path / name)
        (one,) = results[name].streams
        assert [c.command.encode() for c in one.commands] == [c.encode() for c in decode(part.payload).commands]
        assert json.loads(json.dumps(results[name].json()))["streams"][0]["hardware"] == "ethos-u55-128"
    assert results["payload.bin"].streams[0].refused is None
    assert results["model_vela.tflite"].streams[0].refused == ""
    assert [r.streams[0].where for r in results.values()] == [
        "payload",
        "operator 0",
        "job at byte 0",
        "job at byte 69",
    ]
    assert "all of it is memory of the stream" in str(results["model_vela.tflite"])


def test_files_without_streams_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    part = compiled("digits", "ethos-u55-128")[0]
    words = np.array(job_words(job(part)))
    words[20] = 0xFFFF  # inside of the payload
    files = {
        "text.md": (b"no stream", "there is no command stream"),
        "bad.bin": (b"COP1" + bytes(12), "action 0 is none"),
        "bad_job.bin": (words.astype("<u4").tobytes(), "is no command|no action|none that the driver knows"),
        "short.tflite": (b"\x10\x00\x00\x00TFL3", "damaged or is not"),
    }
    for name, (data, reason) in files.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(MoteError, match=reason) as error:
            mote.disassemble(tmp_path / name)
        assert name in error.value.where


def test_streams_outside_of_their_memory_are_shown_as_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(compiled_file("digits", "ethos-u55-128"))
    part = compiled("digits", "ethos-u55-128")[0]
    command = next(c for c in decode(part.payload).commands if c.name == "IFM_BASE0")
    at = data.index(part.payload) + command.offset + 4
    data[at : at + 4] = (1 << 24).to_bytes(4, "little")
    (tmp_path / "model.tflite").write_bytes(bytes(data))
    (one,) = mote.disassemble(tmp_path / "model.tflite").streams
    assert main(["disassemble", str(tmp_path / "model.tflite")]) == 1
    assert "refused: CONV at byte 320: IFM has bytes" in capsys.readouterr().out
    assert one.refused is not None and "IFM has bytes 16777216 to" in one.refused
