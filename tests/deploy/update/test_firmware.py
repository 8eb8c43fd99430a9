"""Firmware in the emulator, its model updated over a serial line from end to end: `examples/over_the_air`."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from mote.base.files import fill
from mote.compiler.emit.image.format import CHECKED_FROM, HEADER
from mote.compiler.packer import pack
from mote.deploy import keys
from mote.deploy.runtime import runtime
from mote.deploy.signature import split
from mote.deploy.update.header import load_image
from mote.deploy.update.session import Patience, Session, UpdatePlan, update
from mote.deploy.wire.links import ConnectionLostError, Opened, Serial
from mote.frontends import tflite
from mote.hardware import targets, toolchain
from mote.ui.cli import main
from tests.helpers.support import emulated, needs

ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "over_the_air"
MODELS = ROOT / "models"
PRODUCT = 7
VERSION = next(at for at, field in HEADER.placed if field.name == "version")
SECONDS = 300.0
PATIENCE = Patience(answer_s=0.5, tries=200)


@dataclass(frozen=True)
class Firmware:
    """What was built: the firmware, and images that it is to run."""

    elf: Path
    images: dict[str, Path]
    outputs: dict[str, list[int]]


def expected(model: bytes) -> list[int]:
    """What a model gives for the firmware's input, by the reference; the firmware prints so many values."""
    graph = tflite.parse(model, "model")
    tensor = graph.tensors[graph.inputs[0]]
    count = int(np.prod(tensor.shape))
    given = (np.arange(count) * 37 + 11).astype(np.uint8).view(np.int8).reshape(tensor.shape)
    return [int(x) for x in graph.evaluate({graph.inputs[0]: given})[graph.outputs[0]].ravel()[:16]]


def retrained(model: bytes) -> bytes:
    """The same network with other weights in its last layer that has any."""
    graph = tflite.parse(model, "model")
    weights = [t.data for op in graph.ops for t in map(graph.tensors.__getitem__, op.inputs) if t.data is not None]
    last = [w for w in weights if w.dtype == np.int8][-1]
    assert model.count(last.tobytes()) == 1
    return model.replace(last.tobytes(), np.roll(last, 1, axis=0).tobytes())


def with_words(image: bytes, words: dict[int, int]) -> bytes:
    """An image with other numbers at some offsets, and a CRC-32 that is right."""
    changed = bytearray(image)
    for at, word in words.items():
        changed[at : at + 4] = word.to_bytes(4, "little")
    changed[CHECKED_FROM - 4 : CHECKED_FROM] = crc32(changed[CHECKED_FROM:]).to_bytes(4, "little")
    return bytes(changed)


def linked(folder: Path, files: dict[str, str], sources: list[str]) -> Path:
    """The example with the runtime, compiled as it says on the box."""
    fill(folder, files)
    target = targets.load("cortex-m4")
    compiler = toolchain.find_compiler(target)
    if compiler.kind != "gcc":
        pytest.skip("the example is linked as gcc does it")
    flags = [*target.gcc_flags, "-std=gnu99", "-Os", "-fwrapv", "-ffunction-sections", "-fdata-sections", f"-I{folder}"]
    link = ["-nostartfiles", "-Wl,--gc-sections", f"-T{EXAMPLE / 'board.ld'}", "--specs=nano.specs", "-lm"]
    paths = [str(EXAMPLE / "firmware.c"), *(str(folder / name) for name in sources)]
    elf = folder / "firmware.elf"
    subprocess.run([*compiler.command, *flags, *paths, *link, "-o", str(elf)], check=True)
    return elf


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    folder = tmp_path_factory.mktemp("firmware")
    target = targets.load(emulated("cortex-m4"))
    needs("qemu-system-arm")
    key, stranger = (ed25519.Ed25519PrivateKey.generate() for _ in range(2))
    digits = (MODELS / "digits.tflite").read_bytes()
    models = {"first": digits, "second": retrained(digits)}
    library = runtime([digits], target=target, optimize="size", update=True)
    packed = {
        name: pack(model, library.settings, runtime=library.manifest.fixed, product=PRODUCT).data
        for name, model in models.items()
    }
    versions = {"first": ("first", 1), "second": ("second", 2), "third": ("first", 3)}
    made = {name: with_words(packed[model], {VERSION: version}) for name, (model, version) in versions.items()}
    elf = linked(folder, {**library.files, "public_key.h": keys.c_array(keys.public_of(key))}, library.sources)
    made["foreign"] = with_words(made["third"], {HEADER.unpack(made["third"])["kernels_offset"]: 12345})
    images = {"forged": folder / "forged.mote"} | {name: folder / f"{name}.mote" for name in made}
    for name, image in made.items():
        images[name].write_bytes(keys.sign(split(image, name), key).data)
    images["forged"].write_bytes(keys.sign(split(made["first"], "forged"), stranger).data)
    return Firmware(elf, images, {name: expected(models[model]) for name, (model, _) in versions.items()})


@dataclass(frozen=True)
class Board:
    """A board that runs."""

    port: str
    log: Path

    def said(self, line: str) -> None:
        """Wait until the firmware has said a line last."""
        until = time.monotonic() + SECONDS
        while not (text := self.log.read_text()).endswith(f"{line}\n"):
            assert time.monotonic() < until and "trap" not in text, text
            time.sleep(0.05)


@contextmanager
def running(firmware: Firmware, folder: Path) -> Iterator[Board]:
    log = folder / "text"
    log.touch()
    ports = ["-serial", "pty", "-serial", f"file:{log}"]
    command = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", *ports]
    process = subprocess.Popen([*command, "-kernel", str(firmware.elf)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        found = re.search(r"/dev/\S+", process.stdout.readline())
        assert found
        yield Board(found[0], log)
    finally:
        process.kill()
        process.communicate()


class Breaking(Serial):
    """A line that breaks once, after so many bytes."""

    def __init__(self, port: str, after: int) -> None:
        super().__init__(port, 115_200)
        self.left = after

    def send(self, data: bytes) -> None:
        before, self.left = self.left, self.left - len(data)
        if before > 0 >= self.left:
            super().send(data[: len(data) // 2])
            raise ConnectionLostError("somebody pulled the plug")
        super().send(data)


@pytest.mark.slow
def test_models_change_without_other_firmware(
    firmware: Firmware, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(name: str, version: int) -> str:
        return " ".join(["version", f"{version}:", *map(str, firmware.outputs[name])])

    def ota(name: str, *more: str) -> tuple[int, str]:
        status = main(["ota", str(firmware.images[name]), "--serial", board.port, "--timeout", "0.5", *more, "--json"])
        return status, capsys.readouterr().out

    with running(firmware, tmp_path) as board:
        board.said("no model")
        status, said = ota("forged")
        assert status == 1 and "the signature is not genuine" in said

        status, said = ota("first")
        assert status == 0 and json.loads(said)["state"] == "confirmed"
        board.said(printed("first", 1))

        header, data = load_image(str(firmware.images["second"]))
        with Opened(Breaking(board.port, len(data) // 2)) as line:
            outcome = update(Session(line, PATIENCE), UpdatePlan(data, header), "second")
        assert (outcome.connections, outcome.state) == (2, "confirmed")
        sent_once = outcome.bytes_sent - outcome.sent_again * outcome.device.most_data
        assert len(data) // 4 < outcome.resumed_at and sent_once < len(data) + 1000
        board.said(printed("second", 2))
        assert firmware.outputs["first"] != firmware.outputs["second"]

        status, said = ota("third", "--from", str(firmware.images["second"]))
        found = json.loads(said)
        assert status == 0 and (found["sent"], found["device"]["counter"]) == ("delta", 3)
        assert found["stream_bytes"] < len(data) / 4
        board.said(printed("third", 3))

        status, said = ota("foreign")
        assert status == 1 and "its firmware cannot run the image" in said
        refused = board.log.read_text().splitlines()[-1]
        assert refused.startswith("refused: ") and "kernel" in refused

        status, said = ota("first")
        assert status == 1 and "has version 1, and the device accepts none below 3" in said
