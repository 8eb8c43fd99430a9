"""The other end of MLPerf Tiny's serial line: sends inputs, reads results, and scores them.

python examples/mlperf_tiny/client.py PORT --data FOLDER_OR_ZIP [--mode accuracy]
python examples/mlperf_tiny/client.py PORT --data FILE.wav --mode stream
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from tasks import HOP, TASKS, THRESHOLD, Task, listening

from mote.base.errors import MoteError
from mote.bench.metrics.ranking import auc
from mote.compiler.package.adapters.sources import read_recording
from mote.deploy.wire.links import Opened, Serial

MODES = ("accuracy", "performance", "stream", "listen")
LABELS = "y_labels.csv"
RATE = 16_000
APART = 0.5
"""Seconds without the wake word between two detections."""
WINDOWS = 5
"""Inputs of performance mode."""
SECONDS = 60.0
"""How long an answer may take, the inferences that it waits for included."""
TRIES = 4


@dataclass(frozen=True)
class Sample:
    """An input as it is sent, its class, and the file that it is from: a recording may have several windows."""

    data: bytes
    label: int
    file: str


@dataclass(frozen=True)
class Inference:
    """The answer to `infer`: a result, and the microseconds between its time stamps (none in energy mode)."""

    results: tuple[float, ...]
    microseconds: int | None


class Device:
    """A device that speaks the protocol."""

    def __init__(self, line: Serial) -> None:
        self.line = line
        self._left = b""
        self.name = self._knock()
        model = self._value("profile", r"m-model-\[(.+)\]")
        names = {task.model: name for name, task in TASKS.items()}
        if model not in names:
            raise MoteError(f"the device runs {model}, which is no task of the benchmark", where=line.name)
        self.task = TASKS[names[model]]
        if model == TASKS["sww"].model and (size := re.search(r"m-input-\[(\d+)\]", " ".join(self._answer("state")))):
            self.task = listening(int(size[1]) // 2 // HOP)

    def _knock(self) -> str:
        """The device's name. What it said before is skipped, and a command that somebody has half sent is ended."""
        for _ in range(TRIES):
            self.line.send(b"%name%")
            received, until = b"", time.monotonic() + SECONDS / TRIES
            while time.monotonic() < until:
                received += self.line.receive(0.1)
                if match := re.search(rb"m-name-dut-\[(.+)\]\s+m-ready\s", received):
                    return match[1].decode(errors="replace")
        raise MoteError("nobody answers", where=self.line.name, remedy="is it the board's port, at its speed?")

    def _value(self, command: str, pattern: str) -> str:
        for line in self.ask(command):
            if match := re.fullmatch(pattern, line):
                return match[1]
        raise MoteError(f"the answer to '{command}' has no {pattern}", where=self.line.name)

    def _answer(self, command: str) -> list[str]:
        self.line.send(f"{command}%".encode())
        return list(self._lines(command))

    def ask(self, command: str) -> list[str]:
        """The lines of the answer to a command, without the last one, which is m-ready."""
        lines = self._answer(command)
        if errors := [line for line in lines if line.startswith("e-")]:
            raise MoteError(f"the device answers {errors[0]}", where=f"command {command[:40]}")
        return lines

    def _lines(self, command: str) -> Iterator[str]:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            *whole, self._left = self._left.split(b"\n")
            for n, raw in enumerate(whole):
                line = raw.strip(b"\r\0").decode(errors="replace")
                if line == "m-ready":
                    self._left = b"\n".join([*whole[n + 1 :], self._left])
                    return
                yield line
            self._left += self.line.receive(0.5)
        raise MoteError(f"no m-ready within {SECONDS:g} s", where=f"command {command[:40]}")

    def load(self, data: bytes) -> None:
        """Sends an input."""
        most = (self.task.command - len("db ")) // 2
        self.ask(f"db load {len(data)}")
        for at in range(0, len(data), most):
            said = self.ask(f"db {data[at : at + most].hex()}")
        if "m-load-done" not in said:
            raise MoteError("the device has not taken the whole input", where=self.line.name)

    def infer(self, count: int = 1, warm_up: int = 0) -> Inference:
        """Inferences of the input that was loaded."""
        lines = self.ask(f"infer {count} {warm_up}")
        stamps = [int(line.removeprefix("m-lap-us-")) for line in lines if line.startswith("m-lap-us-")]
        results = [match[1] for line in lines if (match := re.fullmatch(r"m-results-\[(.*)\]", line))]
        if len(results) != 1 or len(stamps) not in (0, 2):
            raise MoteError(f"the answer to infer is not understood: {lines}", where=self.line.name)
        values = tuple(float(text) for text in results[0].split(","))
        return Inference(values, (stamps[1] - stamps[0]) % (1 << 32) if stamps else None)

    def stream(self, frame: bytes) -> list[int]:
        """The scores after so many samples that were sent over the line, in int8."""
        self.load(frame)
        for line in self.ask("extract_uart_stream"):
            if match := re.fullmatch(r"m-activations-\[(.*)\]", line):
                return [int(text) for text in match[1].split(",")]
        raise MoteError("the device gives no activations", where=self.line.name, remedy="build it with --audio")

    def listen(self) -> tuple[list[int], int]:
        """The scores of the wake word while the device listens to its recording, and the values that it had heard at
        the first of them."""
        self.ask("start")
        while "m-state-[listening]" in self.ask("state"):
            time.sleep(0.1)
        text = " ".join(self.ask("stop"))
        scores, first = (re.search(p, text) for p in (r"target activations:\s*\[(.*?)\]", r"m-first-\[(\d+)\]"))
        if scores is None or first is None:
            raise MoteError("the device gives no activations", where=self.line.name)
        return [int(number) for number in scores[1].split(",") if number.strip()], int(first[1])


def samples(path: str, task: Task) -> list[Sample]:
    """The inputs of a task: a folder or a ZIP file with y_labels.csv and the files that it names, or one with a folder
    of pictures for each class."""
    files = _zipped(path) if zipfile.is_zipfile(path) else _inside(Path(path))
    tables = [name for name in files if Path(name).name == LABELS]
    if tables:
        chosen = next((t for t in tables if Path(t).parent.name == task.model), tables[0])
        return [s for row in csv.reader(io.StringIO(files[chosen].decode())) for s in _row(files, chosen, row, task)]
    pictures = sorted(name for name in files if name.lower().endswith((".jpg", ".png")))
    tests = [name for name in pictures if "test" in Path(name).parts] or pictures
    if not tests:
        raise MoteError(f"neither {LABELS} nor pictures are in it", where=path)
    classes = sorted({Path(name).parent.name for name in tests})
    return [Sample(_pixels(files[name], name, task), classes.index(Path(name).parent.name), name) for name in tests]


def _zipped(path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def _inside(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise MoteError("no such folder or ZIP file", where=str(folder))
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _row(files: dict[str, bytes], table: str, row: list[str], task: Task) -> Iterator[Sample]:
    """The windows of a line of y_labels.csv: FILE,CLASSES,CLASS or FILE,CLASSES,CLASS,BYTES,STRIDE."""
    name = str(Path(table).parent / row[0])
    if name not in files:
        raise MoteError("it is named, and not there", where=f"{table}: {row[0]}")
    data = files[name]
    size, stride = (int(row[3]), int(row[4])) if len(row) > 3 else (len(data), max(1, len(data)))
    if size != task.input_bytes:
        raise MoteError(f"has {size:,} bytes, and {task.model} takes {task.input_bytes:,}", where=name)
    for at in range(0, len(data) - size + 1, stride):
        yield Sample(data[at : at + size], int(row[2]), row[0])


def _pixels(data: bytes, name: str, task: Task) -> bytes:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as picture:
        pixels = np.asarray(picture.convert("RGB"), np.uint8)
    if task.element != "uint8" or pixels.size != task.elements:
        raise MoteError(f"is a picture of {pixels.shape[1]}x{pixels.shape[0]}, no input of {task.model}", where=name)
    return pixels.tobytes()


def generated(task: Task, count: int) -> list[Sample]:
    """Inputs without meaning, where nobody has data: time does not depend on them, and accuracy says nothing."""
    rng = np.random.default_rng(31)
    if task.element == "int16":
        arrays = rng.integers(-9000, 9000, (count, task.elements)).astype("<i2")
    elif task.element == "float32":
        arrays = rng.uniform(-85.0, 15.0, (count, task.elements)).astype("<f4")
    else:
        arrays = rng.integers(0, 256, (count, task.elements)).astype(np.uint8)
    return [Sample(array.tobytes(), n % max(2, task.results), f"generated {n}") for n, array in enumerate(arrays)]


def answers(device: Device, inputs: Sequence[Sample]) -> Iterator[Inference]:
    """One inference of each input."""
    for sample in inputs:
        device.load(sample.data)
        yield device.infer()


def score(inputs: Sequence[Sample], results: Sequence[Inference]) -> str:
    """The accuracy, as the official runner computes it: results of a file's windows are averaged."""
    files = list(dict.fromkeys(s.file for s in inputs))
    labels = np.array([next(s.label for s in inputs if s.file == file) for file in files])
    rows = [[r.results for s, r in zip(inputs, results, strict=True) if s.file == file] for file in files]
    means = np.array([np.mean(row, axis=0) for row in rows])
    if means.shape[1] == 1:
        if set(labels) != {0, 1}:
            return f"{len(files)} files of one class: no AUC"
        return f"AUC {auc(means[:, 0], labels):.4f} of {len(files)} files, {len(inputs)} windows"
    right = int((np.argmax(means, axis=1) == labels).sum())
    return f"top-1 {right / len(files):.1%}: {right} of {len(files)}"


def streamed(device: Device, wav: str | None, limit: int | None) -> list[int]:
    """The scores of the wake word of a WAV file that is sent over the line, a hop at a time."""
    if wav is None:
        raise MoteError("there is no sound to send", where="option data", remedy="name a WAV file")
    recording = read_recording(wav)
    if recording.rate != RATE:
        raise MoteError(f"has {recording.rate:,} samples a second, and the model takes {RATE:,}", where=wav)
    channels = device.task.elements // HOP
    if channels not in (1, recording.channels):
        raise MoteError(f"has {recording.channels} channels, and the device takes {channels}", where=wav)
    sound = recording.values.reshape(-1, recording.channels)[:, :channels].astype("<i2")
    frames = [sound[at : at + HOP] for at in range(0, len(sound) - HOP + 1, HOP)][:limit]
    return [device.stream(frame.tobytes())[0] for frame in frames]


def accuracy(device: Device, inputs: Sequence[Sample]) -> str:
    """Accuracy mode: each input once."""
    return score(inputs, list(answers(device, inputs)))


def performance(device: Device, inputs: Sequence[Sample], count: int, warm_up: int) -> str:
    """Performance mode: five inputs, each several times; the median of their throughputs counts."""
    times = []
    for sample in inputs[:WINDOWS]:
        device.load(sample.data)
        taken = device.infer(count, warm_up).microseconds
        if taken is None:
            raise MoteError("the device is built for energy mode: it stamps no time on the line")
        times.append(taken / count)
    middle = median(times)
    return f"median {middle / 1000:.3f} ms an inference, {1e6 / middle:.3f} inferences a second"


def detected(scores: Sequence[int], first: int, threshold: int = THRESHOLD) -> str:
    """The stretches of time with the wake word, from scores for each hop from the first one on."""
    above = np.flatnonzero(np.asarray(scores) > threshold)
    times = (above + first) * HOP / RATE
    stretches = np.split(times, np.flatnonzero(np.diff(times) > APART) + 1) if len(times) else []
    told = ", ".join(f"{part[0]:.2f} to {part[-1]:.2f} s" for part in stretches)
    return f"{len(stretches)} detections in {(len(scores) + first - 1) * HOP / RATE:.1f} s: {told or 'none'}"


def drive(
    port: str,
    mode: str,
    data: str | None,
    limit: int | None,
    count: int | None,
    *,
    baud: int = 115_200,
    threshold: int = THRESHOLD,
) -> str:
    """Runs a mode on the device of a port; says what came out."""
    with Opened(Serial(port, baud)) as line:
        device = Device(line)
        task = device.task
        if mode == "listen":
            scores, values = device.listen()
            return f"{task.model} on {device.name}: {detected(scores, values // task.elements, threshold)}"
        if mode == "stream":
            return f"{task.model} on {device.name}: {detected(streamed(device, data, limit), 1, threshold)}"
        inputs = samples(data, task) if data else generated(task, limit or WINDOWS)
        inputs = inputs[:limit]
        if mode == "accuracy":
            said = accuracy(device, inputs)
        else:
            said = performance(device, inputs, count or task.inferences[0], task.inferences[1])
        return f"{task.model} on {device.name}: {said}{'' if data else ' (inputs without meaning)'}"


def arguments_of(parser: argparse.ArgumentParser) -> None:
    """The options of a run."""
    parser.add_argument("--data", help="a folder or ZIP file of inputs; without one they are generated")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N inputs only")
    parser.add_argument("--inferences", type=int, metavar="N", help="performance mode: how often an input is computed")
    parser.add_argument("--threshold", type=int, default=THRESHOLD, help="the wake word's score, from -128 to 127")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", help="the serial port or pseudo-terminal")
    parser.add_argument("--mode", choices=MODES, default="accuracy")
    parser.add_argument("--baud", type=int, default=115_200)
    arguments_of(parser)
    given = parser.parse_args()
    try:
        options = {"baud": given.baud, "threshold": given.threshold}
        print(drive(given.port, given.mode, given.data, given.limit, given.inferences, **options))
    except MoteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
