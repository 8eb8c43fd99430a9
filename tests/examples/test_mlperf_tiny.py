"""`examples/mlperf_tiny`: the five tasks on this computer and on an emulated core, and the runner of the benchmark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import wave
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mlperf_tiny
from mote.base.errors import MoteError
from mote.bench.execute import reference
from mote.compiler.line import compile
from mote.deploy.wire.links import Opened, Serial
from mote.frontends import tflite
from mote.frontends.data.dataset import dataset
from mote.hardware import targets
from tests.helpers.support import PUBLIC_DATA, PUBLIC_MODELS, emulated, needs, needs_litert, soaked

EXAMPLE = Path(__file__).parents[2] / "examples" / "mlperf_tiny"
sys.path.append(str(EXAMPLE))  # behind models/, which has a file of the example's name

import client
import firmware
from tasks import HOP, TASKS, Task, listening

PUBLISHED = {
    "ad": "ad01_int8.tflite",
    "ic": "pretrainedResnet_quant.tflite",
    "kws": "kws_ref_model.tflite",
    "sww": "str_ww_ref_model.tflite",
    "vww": "vww_96_int8.tflite",
}
CORES = ("host", "cortex-m4", "rv32imc")
CASES = [(task, core) for core in CORES for task in TASKS]


@contextmanager
def running(model: Path, task: Task, core: str, folder: Path, recording: str = "") -> Iterator[client.Device]:
    """A device that was built and started."""
    built = firmware.build(str(model), task, core, folder, recording=recording)
    with firmware.started(built) as port, Opened(Serial(port, 115_200)) as line:
        yield client.Device(line)


@cache
def network(task: str) -> bytes:
    return mlperf_tiny.build(task)


def expected(model: bytes, task: str, data: bytes) -> list[float]:
    """The results of an input, by the reference, as the line has them."""
    graph = tflite.parse(model, "model")
    tensor, output = (graph.tensors[ends[0]] for ends in (graph.inputs, graph.outputs))
    kind = TASKS[task].element
    values = np.frombuffer(data, np.dtype(kind).newbyteorder("<"))
    if kind == "float32":
        steps = values / np.float32(tensor.scale)
        rest = steps - np.trunc(steps)
        rounded = np.trunc(steps) + (rest >= 0.5) - (rest <= -0.5)
        elements = np.clip(rounded + tensor.zero_point, -128, 127).astype(np.int8)
    else:
        elements = (values.astype(np.int16) - (128 if kind == "uint8" else 0)).astype(np.int8)
    given = graph.evaluate({graph.inputs[0]: elements.reshape(tensor.shape)})[graph.outputs[0]].ravel()
    reals = np.float32(output.scale) * (given.astype(np.int32) - output.zero_point).astype(np.float32)
    if kind != "float32":
        return [float(f"{x:.3f}") for x in reals]
    total = np.float32(0)
    for difference in reals - values:
        total += difference * difference
    return [float(f"{total / np.float32(len(reals)):.3f}")]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("task", "core"), soaked(CASES, {("kws", "cortex-m4"), ("ad", "host")}))
def test_tasks_give_what_the_reference_gives(task: str, core: str, tmp_path: Path) -> None:
    """Networks of the tasks' shapes, inputs at random."""
    if core != "host":
        emulated(core)
        needs(targets.load(core).core.qemu)
    model = tmp_path / "model.tflite"
    model.write_bytes(network(task))
    inputs = client.generated(TASKS[task], 20 if task == "kws" else 3)
    with running(model, TASKS[task], core, tmp_path / "firmware") as device:
        assert (device.name, device.task) == ("mote", TASKS[task])
        results = list(client.answers(device, inputs))
        taken = client.performance(device, inputs, 2, 0)
    for sample, inference in zip(inputs, results, strict=True):
        wanted = expected(network(task), task, sample.data)
        assert list(inference.results) == pytest.approx(wanted, rel=1e-6 if task == "ad" else 0, abs=0)
        assert inference.microseconds is not None and inference.microseconds > 0
    assert re.fullmatch(r"median [\d.]+ ms an inference, [\d.]+ inferences a second", taken)


@pytest.mark.slow
def test_sound_over_the_line_is_heard_as_numpy_hears_it(tmp_path: Path) -> None:
    """The wake word's network behind its front end, a hop at a time; then the same sound as a recording."""
    needs("cc")
    model, hops = tmp_path / "model.tflite", 36
    model.write_bytes(network("sww"))
    rng, t = np.random.default_rng(7), np.arange(hops * HOP)
    sound = (9000 * np.sin(t * t / 4e5) * np.abs(np.sin(t / 3000)) + rng.normal(0, 300, len(t))).astype("<i2")
    with wave.open(str(tmp_path / "sound.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(sound.tobytes())
    with running(model, listening(), "host", tmp_path / "firmware", str(tmp_path / "sound.wav")) as device:
        got = [device.stream(frame.tobytes()) for frame in sound.reshape(hops, HOP)]
        recorded, first = device.listen()
        timed = device.infer(3)
    graph = compile(network("sww"), preprocess=listening().preprocess, stream=1).plan.graph
    numpy, raw = reference.numpy(graph), graph.tensors[graph.inputs[0]]
    outputs = [numpy({graph.inputs[0]: frame.reshape(raw.shape)}) for frame in sound.reshape(hops, HOP)]
    wanted = [values[graph.outputs[0]].ravel().tolist() for values in outputs if values is not None]
    assert got == wanted and len({tuple(scores) for scores in got}) > 5
    assert recorded == [scores[0] for scores in wanted][first // HOP - 1 :] and 31 <= first // HOP <= 32
    assert len(timed.results) == 3 and sum(timed.results) == pytest.approx(1, abs=0.02)


def test_the_reference_board_has_a_clock_and_a_receiver() -> None:
    """Registers by the reference manual: 4 MHz times PLLN / 2, divided for TIM2's microseconds and for 115,200 baud."""
    target = targets.load(str(EXAMPLE / "boards" / "nucleo_l4r5zi.toml"))
    assert target.serial is not None and target.clock_hz == 120_000_000
    written = {touch.address: touch.value for touch in (*target.boot.setup, *target.serial.setup) if touch.how == "="}
    clock = 4_000_000 * (written[0x4002100C] >> 8 & 0x7F) // 2
    assert clock == target.clock_hz and clock // (written[0x40000028] + 1) == 1_000_000
    assert 256 * clock / written[0x4000800C] == pytest.approx(115_200, rel=1e-3) and written[0x40008000] & 0x4


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_tasks_fit_the_reference_board(task: str, tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc")
    model = tmp_path / "model.tflite"
    model.write_bytes(network(task))
    built = firmware.build(str(model), TASKS[task], "nucleo_l4r5zi", tmp_path / "new" / "folder", energy=task == "ad")
    assert built.elf.read_bytes()[:4] == b"\x7fELF" and built.usage is not None and built.usage.stack is not None
    assert {name: size for name, (_, size) in built.usage.memories.items()} == {"flash": 2 << 20, "sram": 640 << 10}
    assert all(0 < used < size / 4 for used, size in built.usage.memories.values())


def test_other_models_and_boards_are_refused(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(network("kws"))
    with pytest.raises(MoteError, match=r"takes int8 \[1, 49, 10, 1\].*ad01 takes 640"):
        firmware.build(str(model), TASKS["ad"], "host", tmp_path)
    with pytest.raises(MoteError, match="are not known to this example"):
        firmware.build(str(model), TASKS["kws"], "nrf52840", tmp_path)
    with pytest.raises(MoteError, match="no such file"):
        firmware.build(str(model), TASKS["kws"], "nrf52840", tmp_path, board=str(tmp_path / "board.c"))


def test_the_data_of_the_benchmark_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "datasets" / "ad01"
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(bytes(range(256)) * 12)
    (folder / "b.bin").write_bytes(bytes(2560))
    (folder / "y_labels.csv").write_text("a.bin,2,1,2560,256\nb.bin,2,0,2560,256\n")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.relative_to(tmp_path))
    for where in (tmp_path / "datasets", tmp_path / "data.zip"):
        windows = client.samples(str(where), TASKS["ad"])
        assert [(w.file, w.label, w.data[0], len(w.data)) for w in windows] == [
            *[("a.bin", 1, 0, 2560)] * 3,
            ("b.bin", 0, 0, 2560),
        ]
    answers = [client.Inference((x,), 1) for x in (2.0, 0.0, 4.0, 1.0)]
    assert client.score(windows, answers) == "AUC 1.0000 of 2 files, 4 windows"
    with pytest.raises(MoteError, match="has 2,560 bytes, and kws01 takes 490"):
        client.samples(str(tmp_path / "data.zip"), TASKS["kws"])
    with pytest.raises(MoteError, match="no such folder"):
        client.samples(str(tmp_path / "nothing"), TASKS["kws"])
    (folder / "b.bin").unlink()
    with pytest.raises(MoteError, match="named, and not there"):
        client.samples(str(folder), TASKS["ad"])


def test_pictures_are_inputs_of_images(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for name, colour in (("cat", 10), ("dog", 200)):
        (tmp_path / "test" / name).mkdir(parents=True)
        image.new("RGB", (32, 32), (colour, 0, 255)).save(tmp_path / "test" / name / "0.png")
    cat, dog = client.samples(str(tmp_path), TASKS["ic"])
    assert (cat.label, cat.data[:3], len(cat.data)) == (0, b"\x0a\x00\xff", 3072)
    assert (dog.label, dog.data[:3]) == (1, b"\xc8\x00\xff")
    with pytest.raises(MoteError, match="a picture of 32x32, no input of vww01"):
        client.samples(str(tmp_path), TASKS["vww"])


def script(*arguments: str, file: str = "mlperf_tiny.py", **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE / file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})


def published(task: str) -> tuple[Path, Path]:
    """The published model of a task, and the data for it, which may not be there."""
    data = {"kws": "mlperf_kws01.zip", "ic": "cifar10.zip"}.get(task, "nothing")
    model = PUBLIC_MODELS / PUBLISHED[task]
    if not model.is_file():
        pytest.skip("needs the published models, which are not bundled")
    return model, PUBLIC_DATA / data


def litert(model: Path, task: str, inputs: list[client.Sample]) -> list[list[float]]:
    """The results by LiteRT's reference kernels; of tasks with classes."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    reference = Interpreter(str(model), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    reference.allocate_tensors()
    (tensor,), (output,) = reference.get_input_details(), reference.get_output_details()
    scale, zero = output["quantization"]
    results = []
    for sample in inputs:
        values = np.frombuffer(sample.data, TASKS[task].element).astype(np.int16)
        values -= 128 if TASKS[task].element == "uint8" else 0
        reference.set_tensor(tensor["index"], values.astype(np.int8).reshape(tensor["shape"]))
        reference.invoke()
        reals = scale * (reference.get_tensor(output["index"])[0].astype(np.int32) - zero)
        results.append([float(f"{x:.3f}") for x in reals])
    return results


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("core", ("host", "cortex-m4"))
def test_the_thousand_keywords_are_what_litert_says(core: str, tmp_path: Path) -> None:
    """MLPerf Tiny's own inputs and model, all results equal to those of LiteRT's reference kernels."""
    model, data = published("kws")
    if not data.is_file():
        pytest.skip("needs the benchmark's data, which is not bundled")
    if core != "host":
        emulated(core)
    inputs = client.samples(str(data), TASKS["kws"])
    assert len(inputs) == 1000
    with running(model, TASKS["kws"], core, tmp_path) as device:
        results = list(client.answers(device, inputs))
    wanted = litert(model, "kws", inputs)
    assert [list(r.results) for r in results] == wanted
    right = sum(int(np.argmax(row)) == sample.label for row, sample in zip(wanted, inputs, strict=True))
    assert client.score(inputs, results) == f"top-1 {right / 1000:.1%}: {right} of 1000"
    assert right == 901


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("task", ("ic", "sww", "vww"))
def test_published_models_give_what_litert_gives(task: str, tmp_path: Path) -> None:
    """On the emulated core, on real data where there is any."""
    model, data = published(task)
    emulated("cortex-m4")
    inputs = client.samples(str(data), TASKS[task])[::400] if data.is_file() else client.generated(TASKS[task], 3)
    with running(model, TASKS[task], "cortex-m4", tmp_path) as device:
        results = list(client.answers(device, inputs))
    assert [list(r.results) for r in results] == litert(model, task, inputs)


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("core", ("host", "cortex-m4"))
def test_the_wake_word_is_heard_three_times(core: str, tmp_path: Path) -> None:
    """Ten seconds of stereo sound in the firmware: scores are those of LiteRT's reference kernels behind NumPy's front
    end, from the first whole window on."""
    model, _ = published("sww")
    recording = PUBLIC_DATA / "wakeword_10s.wav"
    if not recording.is_file():
        pytest.skip("needs the benchmark's recording, which is not bundled")
    if core != "host":
        emulated(core)
    with running(model, listening(2), core, tmp_path, str(recording)) as device:
        scores, values = device.listen()
    frames = dataset(str(recording), preprocess=listening(2).preprocess).inputs["arr_0"].reshape(-1, 40)
    windows = np.lib.stride_tricks.sliding_window_view(frames, 30, 0).transpose(0, 2, 1).reshape(-1, 30, 40)
    graph = tflite.parse(model.read_bytes(), "model")
    tensor = graph.tensors[graph.inputs[0]]
    steps = np.rint(windows / tensor.scale) + tensor.zero_point
    inputs = [client.Sample(np.clip(w, -128, 127).astype(np.int8).tobytes(), 0, "window") for w in steps]
    wanted = [round(256 * row[0]) - 128 for row in litert(model, "sww", inputs)]
    assert scores == wanted[-len(scores) :] and len(scores) >= len(wanted) - 1
    assert client.detected(scores, values // HOP // 2, 0).startswith("3 detections in 10.0 s")


def test_the_official_runner_drives_the_firmware(tmp_path: Path) -> None:
    """MLCommons' runner, where the user has one: accuracy and performance over the pseudo-terminal."""
    if "MLPERF_TINY_RUNNER" not in os.environ:
        pytest.skip("MLPERF_TINY_RUNNER is not set: the folder benchmark/runner of mlcommons/tiny")
    for package in ("sklearn", "matplotlib", "yaml", "serial", "usb"):
        pytest.importorskip(package, reason=f"the runner needs {package}")
    emulated("cortex-m4")
    needs("qemu-system-arm")
    model, folder = tmp_path / "model.tflite", tmp_path / "datasets" / "kws01"
    model.write_bytes(network("kws"))
    folder.mkdir(parents=True)
    inputs = client.generated(TASKS["kws"], 24)
    for n, sample in enumerate(inputs):
        (folder / f"{n}.bin").write_bytes(sample.data)
    (folder / "y_labels.csv").write_text("".join(f"{n}.bin,12,{s.label}\n" for n, s in enumerate(inputs)))
    with firmware.started(firmware.build(str(model), TASKS["kws"], "cortex-m4", tmp_path / "firmware")) as port:
        with Opened(Serial(port, 115_200)) as line:
            ours = client.accuracy(client.Device(line), inputs)
        command = [sys.executable, str(EXAMPLE / "official.py"), port, "--data", str(folder.parent), "--mode"]
        told = [
            subprocess.run([*command, mode], cwd=tmp_path, capture_output=True, text=True, check=True) for mode in "ap"
        ]
    top1 = re.search(r"Top 1% = ([\d.]+)", told[0].stdout)
    assert top1 and f"top-1 {top1[1]}%" in ours
    throughput = re.findall(r"Throughput: ([\d.]+) inf", told[1].stdout)
    assert len(throughput) == 5 and all(10 < float(x) < 1000 for x in throughput)


def test_the_official_runner_is_asked_for(tmp_path: Path) -> None:
    done = script("/dev/null", "--data", str(tmp_path), file="official.py", MLPERF_TINY_RUNNER=str(tmp_path))
    assert done.returncode == 1 and "is not the folder of the runner" in done.stderr
