"""A recording that is given with `--source`: the firmware's `main.c` plays it, and prints what the reference gives."""

from __future__ import annotations

import subprocess
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mote.compiler.line import compile
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array
from mote.ui.cli import main
from tests.compiler.emit.c.test_project import DIGITS, KEYWORDS
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.network import Net
from tests.helpers.part_emulators import qemu_lines
from tests.helpers.support import emulated, needs

STEPS = "audio,log-mel(filters=10,unit=ln,floor=1e-9),offset=10,scale=0.3"
QEMU = ("qemu-system-arm", "-M", "mps2-an386", "-serial", "none")
SEMIHOSTING = ("-semihosting-config", "enable=on,target=native")


def write_wav(path: Path, sound: Array, rate: int = 16_000) -> None:
    """16-bit samples; a column for each channel."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if sound.ndim == 1 else sound.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(sound.astype("<i2").tobytes())


def noise(size: int, seed: int = 0) -> Array:
    """Sound that is louder at times."""
    rng = np.random.default_rng(seed)
    loud = np.repeat(rng.uniform(0.01, 1, -(-size // 400)), 400)[:size]
    return np.rint(rng.normal(0, 6_000, size) * loud).clip(-(2**15), 2**15 - 1).astype(np.int16)


def compiled(folder: Path, model: Path | bytes, source: str, *options: str) -> Path:
    """The folder of a project with a recording."""
    if isinstance(model, bytes):
        (folder / "net.tflite").write_bytes(model)
        model = folder / "net.tflite"
    out = folder / "out"
    assert main(["compile", str(model), "-o", str(out), "--name", "net", "--source", source, *options]) == 0
    return out


def lines(outputs: Sequence[Array]) -> list[str]:
    """What the example prints of some outputs with a score for each class."""
    best = [int(np.argmax(one)) for one in outputs]
    return [
        f"net {i}: class {k}, score {one.reshape(-1)[k]}" for i, (k, one) in enumerate(zip(best, outputs, strict=True))
    ]


def printed(folder: Path, *command: str) -> list[str]:
    """What the example prints on this computer, built by one of the project's build files."""
    needs(command[0])
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    example = next(path for path in (folder / "example" / "example", folder / "build" / "example") if path.exists())
    return subprocess.run([str(example)], capture_output=True, text=True, check=True).stdout.splitlines()


def test_firmware_hears_a_recording(tmp_path: Path) -> None:
    """From raw sound, on an emulated core; the last window is not full."""
    core = emulated("cortex-m4")
    window = 15_840
    sound = noise(3 * window + 1_000)
    write_wav(tmp_path / "sound.wav", sound)
    out = compiled(
        tmp_path, KEYWORDS, str(tmp_path / "sound.wav"), "--preprocess", STEPS, "--target", core, "--output", "elf"
    )
    model = compile(KEYWORDS, preprocess=STEPS, target=core, name="net")
    graph = model.plan.graph
    (given,) = graph.inputs
    shape = graph.tensors[given].shape
    assert np.prod(shape) == window
    cases = [{given: part.reshape(shape)} for part in sound[: 3 * window].reshape(3, window)]
    wanted = lines([made for (made,) in streamed(graph, cases)])
    assert qemu_lines([*QEMU, *SEMIHOSTING, "-kernel", str(out / "net.elf")], 4) == wanted
    assert printed(out, "make", "example/example") == wanted


def test_sound_of_another_rate_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_wav(tmp_path / "sound.wav", noise(500), 8_000)
    command = ["compile", str(KEYWORDS), "--preprocess", STEPS, "-t", emulated("cortex-m4"), "--output", "elf"]
    command += ["--source", str(tmp_path / "sound.wav"), "-o", str(tmp_path / "out")]
    assert main(command) != 0 and not (tmp_path / "out").exists()
    said = " ".join(capsys.readouterr().err.split())
    assert "the recording has 8,000 samples a second, and the model's front end takes 16,000" in said


def rows_of_sound() -> bytes:
    net = Net(3, "int16")
    return net.finish(net.fully_connected(net.flat(net.conv(net.input(1, 6, 50, 1), 3, 3)), 5))


def lines_of_a_camera() -> bytes:
    """The means of columns."""
    w, scale = Writer("camera"), 1 / 255
    x = w.input("camera", (1, 8, 6, 1), "uint8", scale=scale, zero_point=0)
    q = w.tensor("codes", (1, 8, 6, 1), "int8", scale=scale, zero_point=-128)
    y = w.tensor("means", (1, 6), "int8", scale=scale, zero_point=-128)
    w.op("QUANTIZE", [x], [q])
    w.op("MEAN", [q, w.const("axes", np.array([1, 3], np.int32))], [y], keep_dims=False)
    w.output(y)
    return w.finish()


@pytest.mark.parametrize("options", [(), ("--input", "rows")])
def test_windows_and_rows_of_sound(options: tuple[str, ...], tmp_path: Path) -> None:
    sound = noise(1_000, seed=1)
    write_wav(tmp_path / "sound.wav", sound)
    out = compiled(tmp_path, rows_of_sound(), str(tmp_path / "sound.wav"), *options)
    graph = compile(rows_of_sound()).source
    cases = [{graph.inputs[0]: part.reshape(1, 6, 50, 1)} for part in sound[:900].reshape(3, 300)]
    wanted = lines([made for (made,) in streamed(graph, cases)])
    assert printed(out, "make", "example/example") == wanted
    needs("cmake")
    subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=out, check=True, capture_output=True)
    (out / "example" / "example").unlink()
    assert printed(out, "cmake", "--build", "build") == wanted


def test_lines_of_a_camera(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 8, 6)).astype(np.uint8)
    (tmp_path / "camera.raw").write_bytes(pixels.tobytes())
    out = compiled(tmp_path, lines_of_a_camera(), f"{tmp_path}/camera.raw:6", "--input", "rows")
    graph = compile(lines_of_a_camera()).source
    cases = [{graph.inputs[0]: picture.reshape(1, 8, 6, 1)} for picture in pixels]
    assert printed(out, "make", "example/example") == lines([made for (made,) in streamed(graph, cases)])


WRONG = {
    "features": (KEYWORDS, (), "takes int8_t, and the recording has int16_t"),
    "channels": (rows_of_sound(), ("--input", "rows"), "takes rows of 50 values, and the recording has 3 at a time"),
}


@pytest.mark.parametrize("case", WRONG)
def test_firmware_that_could_not_play_it_is_refused(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written; without firmware, the files of the recording are for a program of the user's."""
    core = emulated("cortex-m4")
    model, options, reason = WRONG[case]
    write_wav(tmp_path / "sound.wav", noise(3_000).reshape(-1, 3))
    if isinstance(model, bytes):
        (tmp_path / "net.tflite").write_bytes(model)
        model = tmp_path / "net.tflite"
    command = ["compile", str(model), "-t", core, "--source", str(tmp_path / "sound.wav"), *options]
    command += ["-o", str(tmp_path / "out")]
    assert main([*command, "--output", "elf"]) != 0
    said = " ".join(capsys.readouterr().err.split())
    assert reason in said and "write an example/main.c of your own" in said and not (tmp_path / "out").exists()
    assert main(command) == 0
    assert (tmp_path / "out" / "mote_recording.c").exists()
    assert "mote_recording" not in (tmp_path / "out" / "example" / "main.c").read_text()


def test_a_program_of_the_users_is_linked_with_the_recording(tmp_path: Path) -> None:
    core = emulated("cortex-m4")
    write_wav(tmp_path / "sound.wav", noise(500))
    out = compiled(tmp_path, DIGITS, str(tmp_path / "sound.wav"), "-t", core)
    program = '#include <stdio.h>\n#include "mote_recording.h"\n'
    program += 'int main(void) { printf("%d values\\n", (int)mote_recording.count); return 0; }\n'
    (out / "example" / "main.c").write_text(program)
    again = compiled(tmp_path, DIGITS, str(tmp_path / "sound.wav"), "-t", core, "--output", "elf")
    assert qemu_lines([*QEMU, *SEMIHOSTING, "-kernel", str(again / "net.elf")], 1) == ["500 values"]


def test_several_models_have_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    core = emulated("cortex-m4")
    write_wav(tmp_path / "sound.wav", noise(500))
    command = ["compile", str(DIGITS), str(KEYWORDS), "-t", core, "-o", str(tmp_path / "out"), "--output", "elf"]
    assert main([*command, "--source", str(tmp_path / "sound.wav")]) != 0
    assert "plays a recording to one model" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
