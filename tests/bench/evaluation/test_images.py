"""Images as bytes: the same every time, nothing twice, read back as they were written, and refused where damaged."""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.base.errors import MoteError
from mote.compiler.emit.image import format
from mote.compiler.emit.image.format import HEADER, Feature
from mote.compiler.emit.image.reader import ImageContents, ImageError, read
from mote.compiler.emit.image.writer import Details, write
from mote.compiler.kernels.contract import Fixed
from mote.ui.cli import main
from tests.compiler.emit.image.image_models import DIGITS, MODES, image
from tests.helpers.network import Net
from tests.helpers.support import examples, needs

LABELS = [f"digit {n}" for n in range(10)]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_written_is_read(mode: str) -> None:
    made = image(mode)
    found, program = read(made.data), made.program
    assert found.header["crc"] == zlib.crc32(made.data[16:])
    assert bytes(found.header["source"]) == hashlib.sha256(made.model.data).digest()
    assert found.schedule == program.schedule
    assert [k.id for k in found.kernels] == [r.id for r in made.records] == sorted(r.id for r in made.records)
    assert [op.form for op in found.ops] == [i.form for i in program.instructions]
    assert [op.kernel for op in found.ops] == [i.kernel.name if i.kernel else "" for i in program.instructions]
    assert [op.name for op in found.ops] == [i.name for i in program.instructions]
    for op, i in zip(found.ops, program.instructions, strict=True):
        for operand, given_ in zip(op.operands, i.operands, strict=True):
            assert (operand.place.rows, operand.place.memory) == (given_.place.rows, given_.place.memory)
            assert operand.place.offsets == given_.place.offsets
    graph = made.plan.graph
    for port, t in zip((*found.inputs, *found.outputs), (*graph.inputs, *graph.outputs), strict=True):
        tensor = graph.tensors[t]
        assert (port.name, port.dtype, port.shape, port.nbytes) == (
            tensor.name,
            tensor.dtype,
            tensor.shape,
            tensor.nbytes,
        )
    assert len(found.layers) == len(made.plan.works)


@pytest.mark.parametrize(
    ("mode", "features"),
    [("whole", 0), ("pushed", Feature.PUSHED), ("stream", Feature.STATES), ("branches", Feature.CONTROL)],
)
def test_features_say_what_a_runtime_must_know(mode: str, features: Feature) -> None:
    assert read(image(mode).data).features == features


def test_features_of_kernels_are_named() -> None:
    fused = mote.pack(floats(), target="cortex-m7")
    assert read(fused.data).features == Feature.FUSED
    assert read(mote.pack(floats()).data).features == Feature(0)
    assert read(mote.pack(DIGITS, target="cortex-m4", aligned=True).data).features == Feature.ALIGNED


def floats() -> bytes:
    net = Net(8, "float32")
    return net.finish(net.fully_connected(net.input(1, 6), 4))


def test_more_tensors_than_a_step_takes_are_refused_by_name() -> None:
    net = Net(9)
    parts = [net.input(1, 2, quant=(0.1, 0)) for _ in range(17)]
    with pytest.raises(MoteError, match="17 tensors") as found:
        mote.pack(net.finish(net.concatenate(1, *parts)), runtime=Fixed(lambda kernel: ""))
    assert found.value.remedy and "layer " in found.value.where


def test_the_same_model_gives_the_same_bytes() -> None:
    again = mote.pack(DIGITS, **MODES["rows"][1])  # type: ignore[arg-type]
    assert again.data == image("rows").data


def test_equal_arrays_are_stored_once() -> None:
    made = image("whole")
    data = made.data[made.header["data_offset"] :]
    arrays = {
        value.tobytes()
        for kernel in made.program.kernels
        for value in kernel.params.values()
        if isinstance(value, np.ndarray) and value.nbytes >= 16
    }
    assert arrays and all(data.count(array) == 1 for array in arrays)


def test_a_wide_arena_has_wide_places() -> None:
    made = image("rows").program
    far = [
        replace(i, out=replace(i.out, offsets=tuple(o + (1 << 20) for o in i.out.offsets)))
        if i.out is not None and i.out.offsets
        else i
        for i in made.instructions
    ]
    found = read(write(replace(made, instructions=tuple(far)), Details()))
    assert Feature.WIDE in found.features
    offsets = [op.out.offsets for op in found.ops if op.out is not None and op.out.offsets]
    assert offsets and all(min(o) >= 1 << 20 for o in offsets)


def test_what_tools_read_can_be_left_away() -> None:
    whole, bare = image("whole"), mote.pack(DIGITS, strip=True, **MODES["whole"][1])  # type: ignore[arg-type]
    found = read(bare.data)
    assert found.about == {} and {op.name for op in found.ops} == {""}
    assert [k.name for k in found.kernels] == [k.name for k in read(whole.data).kernels]
    assert len(bare.data) < len(whole.data) - 1000


def test_labels_version_and_product() -> None:
    made = mote.pack(DIGITS, labels=LABELS, model_version=7, product=9)
    found = read(made.data)
    assert found.outputs[0].labels == tuple(LABELS) and found.inputs[0].labels == ()
    assert (found.header["version"], found.header["product"]) == (7, 9)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"labels": ["one"]}, "there are 1 labels"),
        ({"model_version": -1}, "version"),
        ({"model_version": 1 << 32}, "more than four bytes"),
        ({"product": "x"}, "product"),
        ({"red_zones": True}, "red_zones"),
        ({"single_file": True}, "single_file"),
        ({"caller_arena": True}, "caller_arena"),
        ({"check_flash": True}, "check_flash"),
        ({"flash": "4K"}, "needs .* bytes of flash"),
        ({"ram": 100}, "RAM"),
        ({"place_code": "ram", "target": "stm32l4r5"}, "an image holds no code"),
    ],
    ids=str,
)
def test_what_an_image_cannot_be_is_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        mote.pack(DIGITS, **options)  # type: ignore[arg-type]


def patched(data: bytes) -> bytes:
    """An image with the checksum of what it holds now."""
    crc = zlib.crc32(data[format.CHECKED_FROM : HEADER.unpack(data)["bytes"]])
    return data[:12] + crc.to_bytes(4, "little") + data[16:]


def attempt(data: bytes) -> ImageContents | None:
    try:
        return read(data)
    except ImageError as error:
        assert error.reason and error.remedy
        return None


def test_every_truncated_image_is_refused() -> None:
    data = image("branches").data
    assert all(attempt(data[:length]) is None for length in range(len(data)))


def test_every_changed_byte_is_seen() -> None:
    data = image("asks").data
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        assert attempt(bytes(changed)) is None, at


@pytest.mark.parametrize("mode", MODES)
def test_changed_images_with_a_right_checksum_are_refused_or_read(mode: str) -> None:
    """Nothing but an error in words comes of any bytes, whose commands then print what they are."""
    rng, data = random.Random(mode), image(mode).data
    seen = {True: 0, False: 0}
    for _ in range(examples(600)):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            at = rng.choice(
                (rng.randrange(16, 192), rng.randrange(192, 192 + len(data) // 4), rng.randrange(len(data)))
            )
            at = min(at, len(data) - 1)
            changed[at] = rng.choice((0, 1, 255, rng.randrange(256), changed[at] ^ 1 << rng.randrange(8)))
        if bytes(changed[:4]) != format.BEGINS or HEADER.unpack(bytes(changed))["bytes"] > len(changed):
            continue
        seen[attempt(patched(bytes(changed))) is not None] += 1
    assert all(seen.values()), seen


@settings(max_examples=examples(90), deadline=None)
@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_are_refused(data: bytes, begins: bool) -> None:
    assert attempt(format.BEGINS + data if begins else data) is None


def test_bytes_behind_an_image_are_a_signature_or_refused() -> None:
    data = image("whole").data
    signature = format.SIGNATURE.pack(
        {"magic": format.SIGNATURE_MAGIC, "algorithm": 1, "key": range(8), "signature": range(64)}
    )
    found = read(data + signature)
    assert found.signature is not None and found.signature["key"] == bytes(range(8)).hex()
    for behind in (b"x", signature[:-1], signature + b"x", b"\0" * 80):
        assert attempt(data + behind) is None


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_pack_and_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, labels = tmp_path / "digits.mote", tmp_path / "labels.txt"
    labels.write_text("\n".join(LABELS))
    options = ["-t", "cortex-m4", "--model-version", "5", "--labels", str(labels), "-o", str(path)]
    status, out, _ = run(capsys, "pack", DIGITS, *options, "--json")
    told = json.loads(out)
    assert status == 0 and told["bytes"] == path.stat().st_size and told["version"] == 5
    assert path.read_bytes() == mote.pack(DIGITS, target="cortex-m4", model_version=5, labels=LABELS).data
    status, out, _ = run(capsys, "dump", str(path))
    assert status == 0 and "10 labels" in out and "version 5" in out and "7_softmax" in out
    status, out, _ = run(capsys, "dump", str(path), "--json")
    found = json.loads(out)
    assert found["kernels"] and found["crc"] == told["crc"] and found["ops"][0]["kind"] == "CONV_2D"
    assert found["options"]["target"] == "cortex-m4"
    status, out, _ = run(capsys, "pack", DIGITS, *options)
    assert status == 0 and "image: " in out


@pytest.mark.parametrize("mode", ["pushed", "stream", "branches"])
def test_dump_of_other_modes(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.mote"
    image(mode).write(path)
    assert run(capsys, "dump", str(path))[0] == 0
    assert run(capsys, "dump", str(path), "--json")[0] == 0


def test_damaged_files_are_told_from_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, data = tmp_path / "x.mote", image("whole").data
    for content, said in (
        (b"hello", "is no image"),
        (data[:500], "is cut off"),
        (data[:-1] + b"x", "is damaged"),
        (data[:4] + b"\2" + data[5:], "has format 2"),
    ):
        path.write_bytes(content)
        status, _, err = run(capsys, "dump", str(path))
        assert status == 1 and said in err and str(path) in err and "help:" in err
    status, _, err = run(capsys, "dump", str(tmp_path / "absent.mote"))
    assert status == 1 and "cannot read the file" in err


def test_what_is_in_the_way_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    status, _, err = run(capsys, "pack", DIGITS, "-o", str(path))
    assert status == 1 and path.read_text() == "mine" and "notes.txt" in err
    status, _, err = run(capsys, "pack", DIGITS, "-o", str(tmp_path / "x"), "--labels", str(tmp_path / "none"))
    assert status == 1 and "cannot read the file" in err


def test_an_image_as_c_holds_its_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("gcc")
    folder = tmp_path / "c"
    assert run(capsys, "pack", DIGITS, "--c-array", "-o", str(folder), "--name", "model")[0] == 0
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "model_image.h"\n'
        "int main(void) {\n"
        "    return fwrite(model_image, MODEL_IMAGE_BYTES, 1, stdout) != 1 || (uintptr_t)model_image % 8;\n"
        "}\n"
    )
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    program = tmp_path / "program"
    sources = [str(tmp_path / "main.c"), str(folder / "model_image.c")]
    subprocess.run(["gcc", *strict, f"-I{folder}", *sources, "-o", str(program)], check=True)
    written = subprocess.run([str(program)], stdout=subprocess.PIPE, check=True).stdout
    made = mote.pack(DIGITS, name="model")
    assert written == made.data
    assert re.search(rf"MODEL_IMAGE_ARENA_BYTES {made.header['arena'][0]}\n", (folder / "model_image.h").read_text())
