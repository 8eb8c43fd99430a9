"""The kinds of documents that Mote reads, each with a sound one and what reads it: the command line in this process, or
the function behind it where a command would take long."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import mote
import mote.hardware.targets as targets
from mote.base.documents import parse_toml
from mote.bench.measure.energy.meters import read_capture
from mote.compiler.emit.image.format import HEADER
from mote.compiler.emit.image.reader import read
from mote.compiler.emit.image.stock_kernels import MINIMAL, stock
from mote.compiler.pins_file import FORMAT, HEAD, model_digest
from mote.compiler.settings import make_settings
from mote.frontends import source_of
from mote.frontends.data.readers.events import read_events
from mote.optimize.nas.spaces.space_file import BUILTIN, read_space
from mote.optimize.search.explorer import Planned
from mote.optimize.search.journal import HEAD as JOURNAL_HEAD
from mote.optimize.search.journal import Journal
from mote.ui import reporter
from mote.ui.cli import main
from mote.ui.reporter.report import read_report
from tests.frontends.keras.keras_files import dense, dense_weights, given, keras_file, sequential

MODELS = Path(__file__).parents[2] / "models"
CRC_AT = 12
"""The place of an image's CRC-32, which is of the bytes behind it."""
DIGITS = str(MODELS / "digits.tflite")
Use = Callable[[Path, Random], int]
"""Uses the file at a path; the exit status of the command."""


@dataclass(frozen=True)
class Kind:
    """A kind of document."""

    document: Callable[[], dict[str, Any]]
    """A sound one."""
    use: Use
    file: str
    """Its name in the folder."""
    weight: int = 10
    """How often it is tried, relative to others."""
    wrap: Callable[[bytes], bytes] = bytes
    """What makes the file of the document's text."""

    @property
    def toml(self) -> bool:
        return self.file.endswith(".toml")


def command(*words: str) -> Use:
    """A command of the command line, whose words have the file as {} and its folder as {folder}."""
    return lambda path, _: main([word.format(path, folder=path.parent) for word in words])


def either(*uses: Use) -> Use:
    return lambda path, rng: rng.choice(uses)(path, rng)


def function(call: Callable[[Path], object]) -> Use:
    def used(path: Path, _: Random) -> int:
        call(path)
        return 0

    return used


@cache
def bundled(folder: Path, name: str) -> str:
    return (folder / f"{name}.toml").read_text(encoding="utf-8")


PARTS = Path(targets.__file__).parent / "parts"


def _target() -> dict[str, Any]:
    part = parse_toml(bundled(PARTS, "stm32u575").encode())
    return {**part, "costs": "cortex-m4", "features": ["fpu"], "gcc_flags": ["-mcpu=cortex-m33"]}


def _npu_target() -> dict[str, Any]:
    return parse_toml(bundled(PARTS, "corstone-300").encode())


def _costs() -> dict[str, Any]:
    table = json.loads(
        (resources.files("mote.compiler.kernels") / "costs" / "cortex-m4.json").read_text(encoding="utf-8")
    )
    return dict(table)


def _with_costs(path: Path, _: Random) -> int:
    target = path.with_suffix(".toml")
    target.write_text(f'extends = "cortex-m4"\ncosts = "{path.name}"\n', encoding="utf-8")
    return main(["plan", DIGITS, "--target", str(target)])


def _boards() -> dict[str, Any]:
    flash = {"tool": "pyocd", "port": "0669FF", "probe": "stlink"}
    desk = {"address": "serial:/dev/none@921600", "target": "stm32l4r5", "reset": ["true"], "log": "desk.log"}
    other = {"address": "tcp:[::1]:4000", "flash": {"command": "true {elf}"}}
    boards = {"desk": {**desk, "flash": flash, "meter": {"kind": "ppk2", "volts": 3.3}}, "other": other}
    return {"boards": {**boards, "emulated": {"address": "qemu:virt"}}, "pools": {"rack": ["desk", "2 x qemu:virt"]}}


def _pins() -> dict[str, Any]:
    keys = {
        "format": FORMAT,
        "model": model_digest(source_of(DIGITS)),
        "target": "cortex-m4",
        "mote": "0",
        "measured": "",
    }
    return {**keys, "optimize": "speed", "ram": 20_000, "gained": {"cycles_before": 9}, "kernels": {"2": "pointwise"}}


def _with_head(text: bytes) -> bytes:
    return HEAD + b"\n" + text


def _project() -> dict[str, Any]:
    defaults = {"target": "host", "optimize": "speed", "ram": "64K", "check": {"ram": "64K", "flash": 90_000}}
    digits = {"file": DIGITS, "folder": "out/{name}", "labels": list("0123456789"), "metadata": {"version": "1.0.0"}}
    image = {"file": DIGITS, "output": "image", "model-version": 3, "product": 1, "strip": True, "folder": "out/i"}
    return {"defaults": defaults, "models": {"digits": digits, "image": image}}


def _pyproject() -> dict[str, Any]:
    return {"project": {"name": "x"}, "tool": {"mote": _project()}}


def _record() -> dict[str, Any]:
    flashing = {"openocd": "target/stm32l4x.cfg", "probe": "stlink", "pyocd": "stm32l4r5zi", "dfu": True}
    return {"target": "stm32l4r5", "origin": 0x0800_0000, "flashing": flashing, "uf2_family": None}


def _flash(path: Path, _: Random) -> int:
    folder = path.parent / "made"
    (folder / "firmware").mkdir(parents=True, exist_ok=True)
    (folder / "firmware" / "firmware.json").write_bytes(path.read_bytes())
    (folder / "digits.bin").write_bytes(bytes(64))
    return main(["flash", str(folder), "--dry-run"])


def _energy_profile() -> dict[str, Any]:
    work = {"code": 7, "constants": 5, "fetched": 80}
    layers = [
        {"number": str(n), "cycles": 90 * n, "waits": work, "mix": {"multiply": n, "memory": 3 * n, "other": 9 + n * n}}
        for n in range(1, 6)
    ]
    measured = [{"layers": [str(n)], "seconds": 1e-3 * n, "microjoules": 2.5 * n} for n in range(1, 6)]
    energy = {"layers": measured, "idle_milliwatts": 1.5, "idle_subtracted": True}
    return {"model": "m", "target": "stm32l4r5", "layers": layers, "measured": energy}


def _events() -> dict[str, Any]:
    return {"a": {"wav_file": "a.wav", "events": [[0.5, 1.0], [2, 3]]}, "events": [[0.1, 0.2]]}


@cache
def _manifest_text() -> str:
    return stock(targets.load("host")).to_json()


def _manifest() -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(_manifest_text())
    needed = {*MINIMAL, *(kernel.name for kernel in read(_image()).kernels)}
    return {**manifest, "kernels": [kernel for kernel in manifest["kernels"] if kernel["name"] in needed]}


def _packed(path: Path, _: Random) -> int:
    runtime = path.parent / "runtime"
    runtime.mkdir(exist_ok=True)
    (runtime / "manifest.json").write_bytes(path.read_bytes())
    return main(["pack", DIGITS, "--runtime", str(runtime), "-o", str(path.parent / "made.mote")])


@cache
def _image() -> bytes:
    return mote.pack(DIGITS).data


def _about() -> dict[str, Any]:
    header = HEADER.unpack(_image(), 0)
    begin = header["about_offset"]
    about: dict[str, Any] = json.loads(_image()[begin : begin + header["about_count"]])
    return about


def _with_about(text: bytes) -> bytes:
    """The image with something else for tools, which lies at its end."""
    header = HEADER.unpack(_image(), 0)
    begin = header["about_offset"]
    data = _image()[:begin] + text.ljust(-(-len(text) // 8) * 8, b"\0")
    packed = bytearray(HEADER.pack({**header, "about_count": len(text), "bytes": len(data)}) + data[HEADER.nbytes :])
    packed[CRC_AT : CRC_AT + 4] = crc32(packed[CRC_AT + 4 :]).to_bytes(4, "little")
    return bytes(packed)


def _journal() -> dict[str, Any]:
    planned = {"code": "x", "arena": 1, "static": 2, "estimate": 3, "macs": 4, "constants": 5, "steps": 6, "by_rows": 7}
    return {"key": "k", "name": "ram-1", "result": {**planned, "external": 0}}


def _read_journal(path: Path) -> None:
    journal = Journal(path)
    for key in list(journal._results):
        journal.read(key, Planned | None)


def _keras() -> dict[str, Any]:
    return sequential(given("in", 4), dense("a", 3, activation="relu"), dense("b", 2, activation="softmax"))


def _as_keras(text: bytes) -> bytes:
    weights = {**dense_weights("layers/dense", 4, 3), **dense_weights("layers/dense_1", 3, 2)}
    return keras_file(text, weights)


def _xgboost() -> dict[str, Any]:
    tree = {
        "base_weights": [0.1, 0.5, -0.5],
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [0, 0, 0],
        "id": 0,
        "left_children": [1, -1, -1],
        "loss_changes": [1.0, 0.0, 0.0],
        "parents": [2147483647, 0, 0],
        "right_children": [2, -1, -1],
        "split_conditions": [0.3, 0.5, -0.5],
        "split_indices": [1, 0, 0],
        "split_type": [0, 0, 0],
        "sum_hessian": [3.0, 1.0, 2.0],
        "tree_param": {"num_deleted": "0", "num_feature": "2", "num_nodes": "3", "size_leaf_vector": "1"},
    }
    model = {"gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1"}, "tree_info": [0], "trees": [tree]}
    param = {"base_score": "[5E-1]", "boost_from_average": "1", "num_class": "0", "num_feature": "2", "num_target": "1"}
    booster = {"model": {**model, "iteration_indptr": [0, 1]}, "name": "gbtree"}
    objective = {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}
    learner = {"attributes": {}, "feature_names": ["a", "b"], "feature_types": [], "gradient_booster": booster}
    return {"learner": {**learner, "learner_model_param": param, "objective": objective}, "version": [3, 0, 0]}


def _metadata() -> dict[str, Any]:
    return {"metadata": {"samplesPerSecond": 100_000, "fileFormatVersion": 2}}


def _as_capture(text: bytes) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("session.raw", bytes(600))
        archive.writestr("metadata.json", text)
    return file.getvalue()


def _report() -> dict[str, Any]:
    overview = {"ram": 1000, "flash": 9000, "cycles": 5, "energy": None}
    return {"model": "m", "mote": "0", "targets": [{"name": "host", "each": {"overview": overview, "layers": []}}]}


def _as_report(text: bytes) -> bytes:
    return b'<html><script type="application/json" id="data">' + text + b"</script></html>"


def _compared(path: Path) -> None:
    reporter.report._earlier(read_report(path), make_settings("host"))


def _space() -> dict[str, Any]:
    return parse_toml(bundled(BUILTIN, "residual").encode())


KINDS: Mapping[str, Kind] = {
    "target": Kind(_target, command("plan", DIGITS, "--target", "{}"), "t.toml", 12),
    "target of an NPU": Kind(_npu_target, command("plan", DIGITS, "--target", "{}", "--json"), "n.toml", 2),
    "costs": Kind(_costs, _with_costs, "c.json", 2),
    "boards": Kind(
        _boards,
        either(
            command("board", "list", "--boards", "{}"),
            command("board", "list", "--boards", "{}", "--json"),
            command("board", "info", "emulated", "--boards", "{}"),
            command("board", "info", "rack", "--boards", "{}"),
        ),
        "b.toml",
        30,
    ),
    "pins": Kind(_pins, command("plan", DIGITS, "--target", "cortex-m4", "--pins", "{}"), "p.toml", 6, _with_head),
    "project": Kind(_project, command("build", "--project", "{}"), "mote.toml", 4),
    "pyproject": Kind(_pyproject, command("build", "--project", "{}"), "pyproject.toml", 2),
    "space": Kind(_space, function(read_space), "s.toml", 40),
    "record of firmware": Kind(_record, _flash, "r.json", 16),
    "profile": Kind(_energy_profile, command("fit-energy", "{}", "--json"), "e.json", 16),
    "events": Kind(_events, function(lambda path: read_events(path, "a.wav", 4.0)), "v.json", 25),
    "manifest": Kind(_manifest, _packed, "manifest.json", 8),
    "image": Kind(_about, either(command("dump", "{}"), command("dump", "{}", "--json")), "i.mote", 16, _with_about),
    "journal": Kind(_journal, function(_read_journal), "j.jsonl", 25, lambda text: JOURNAL_HEAD + text + b"\n"),
    "keras": Kind(_keras, command("inspect", "{}"), "k.keras", 16, _as_keras),
    "xgboost": Kind(_xgboost, command("inspect", "{}"), "x.json", 16),
    "capture": Kind(_metadata, function(lambda path: read_capture(str(path), volts=3.0)), "m.ppk2", 20, _as_capture),
    "report": Kind(
        _report,
        either(*[function(_compared)] * 100, command("report", DIGITS, "--against", "{}", "-o", "{folder}/o.html")),
        "r.html",
        10,
        _as_report,
    ),
}
