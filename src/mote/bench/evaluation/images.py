"""Runs, verifies and profiles images (`.mote` files) on a core."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from mote.base.errors import MoteError, explaining, naming
from mote.base.files import temporary_folder
from mote.base.progress import Say, silent
from mote.base.results import ItemTable, Record, Result
from mote.base.text import short_names
from mote.bench.evaluation.npu_images import npu_simulation
from mote.bench.evaluation.verify import (
    Case,
    Judge,
    Judged,
    TracedLayer,
    VerifyResult,
    cases_of,
    chosen_cases,
    compared,
)
from mote.bench.execute.interpreter import Interpreter, turned_ports
from mote.bench.measure.profiler.costs import LayerFacts, Profiled, profiled
from mote.bench.measure.profiler.result import Profile
from mote.bench.measure.run import LayerCost, MeasuredSubject, RunResult, measured, stimulus
from mote.bench.measure.runner import bench
from mote.compiler.emit.c.names import c_prefix
from mote.compiler.emit.image import firmware as project
from mote.compiler.emit.image import format, reader
from mote.compiler.emit.image.entries import Limits
from mote.compiler.emit.image.kernels import ANY, KernelRecord
from mote.compiler.emit.image.manifest import Manifest, read_manifest
from mote.compiler.emit.image.stock_kernels import limits_of, stock
from mote.compiler.firmware import MOST_PARTS, MOST_TRACED, Firmware, ModelExtent
from mote.compiler.given import CompileOptions
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Layout
from mote.compiler.package.runtime_project import WRAPPING
from mote.compiler.prepared import prepared
from mote.compiler.settings import Settings, make_settings
from mote.compiler.subject import given_model, subject_of
from mote.frontends import SUFFIXES, Source, source_of
from mote.frontends.data.dataset import dataset
from mote.frontends.data.inputs import Inputs
from mote.hardware.targets import Target
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.element_order import ElementOrder
from mote.ir.graph.io_order import channels_moved, to_model
from mote.ir.graph.tensor import Quantization
from mote.ir.graph.types import DType

MARKS = {
    Mode.MEASURE: "",
    Mode.DUMP: "mote_trace((unsigned)op, data, bytes);",
    Mode.PROFILE: "mote_mark((unsigned)op);",
}
"""C code that marks the end of an op in the glue code, by mode (labels excepted)."""
PREPARING = (
    *("io", "numerics", "shrink", "stream", "hop", "causal", "edges", "shapes", "features", "outputs"),
    *("signature", "constants", "labels", "postprocess", "train", "train_data"),
)
"""Options recorded in an image that determine the planned graph."""


@dataclass(frozen=True)
class TracedOp(Record):
    """An op of an image whose results are traced."""

    JSON = "number, op=kind, name, kernel, macs"

    name: str
    number: str
    kind: str
    kernel: str
    macs: int
    tensors: tuple[Tensor, ...] = ()
    """Traced tensors, if recorded in the image."""
    rows: tuple[int, ...] | None = None
    """Traced rows of the first tensor, in order; None for all rows."""
    layout: Layout = NHWC


@dataclass(frozen=True, repr=False)
class LoadedImage(Result):
    """A loaded image with its kernels, for a target."""

    LINE = "{path!r} for {target.name}: {data!n:,} bytes"
    TITLE = "{path} for {target.name}"
    FACTS = "image=data!n:size, arena:size, kernels!n"
    ROWS = ItemTable("layers", "#=number, op=kind, name, kernel, MACs=macs", left=4)
    JSON = (
        "image=path, target=target.name, bytes=data!n, version=image.header.version, arena, keeps_states=keeps,"
        " kernels=kernels.name, layers"
    )

    path: str
    """File name."""
    data: bytes
    """Image bytes without signature."""
    image: reader.ImageContents
    """Parsed contents of the image."""
    kernels: list[KernelRecord]
    """Kernels that the image needs."""
    limits: Limits
    """Limits of the runtime."""
    settings: Settings
    """Target and build options of the runtime."""
    signature: bytes = b""
    """Signature that follows the image, required by devices with keys."""

    @property
    def target(self) -> Target:
        """The target to run on."""
        return self.settings.target

    @property
    def name(self) -> str:
        return c_prefix(Path(self.path).stem)[0]

    @cached_property
    def layers(self) -> list[TracedOp]:
        """Layers recorded in the image; without a record all ops."""
        ops = self.image.ops
        if not self.image.layers:
            return [TracedOp(op.name or f"op {i}", str(i), op.form.name, op.kernel, 0) for i, op in enumerate(ops)]
        if len(self.image.layers) > len(ops):
            raise MoteError("tells of more layers than it has", where=self.path)
        return [_layer(op.name, told) for op, told in zip(ops, self.image.layers, strict=False)]

    @cached_property
    def graph(self) -> Graph:
        """A graph with the image's inputs and outputs, without operators."""
        turned = turned_ports(self.image)
        ports = [_port(i, port, i in turned) for i, port in enumerate((*self.image.inputs, *self.image.outputs))]
        count = len(self.image.inputs)
        inputs, outputs = tuple(range(count)), tuple(range(count, len(ports)))
        return Graph(self.name, {t.id: t for t in ports}, (), inputs, outputs, warm_up=self.image.header["warm_up"])

    @property
    def keeps(self) -> bool:
        """Whether the model is stateful."""
        return bool(self.image.features & format.Feature.STATES)

    @property
    def arena(self) -> int:
        return sum(self.image.header["arena"])

    @cached_property
    def firmware(self) -> Firmware:
        """Test firmware of the image."""
        works, name = len(self.layers), self.name
        marks = {**MARKS, Mode.MARK: project.labels(works)}
        files = project.files(self.data, self.image, name, self.kernels, self.limits)
        return Firmware(
            files,
            sorted(file for file in files if file.endswith(".c")),
            self.target,
            self.settings.optimize,
            works,
            lambda mode: project.glue(self.image, name, works, marks[mode]),
            lambda mode: [WRAPPING, *([] if mode == Mode.MEASURE else [f"-DMOTE_RUNTIME_TRACE={project.TRACED}"])],
            stateful=self.keeps,
            simulation=npu_simulation(self.kernels),
            image=self.data + self.signature,
            extent=ModelExtent(tuple(port.nbytes for port in self.image.outputs), works, *self._traced),
        )

    @property
    def _traced(self) -> tuple[int, int]:
        """Maximum bytes and number of parts that the ops trace in an inference; limits apply for loops and branches,
        whose trip counts depend on data."""
        if self.image.features & format.Feature.CONTROL:
            return MOST_TRACED, MOST_PARTS
        placed = [(op.fields, op.out) for op in self.image.ops if op.out is not None]
        parts = [(fields["times"] * max(out.rows, fields["group"]), out.row_bytes) for fields, out in placed]
        return sum(count * nbytes for count, nbytes in parts), sum(count for count, _ in parts)


def load_image(
    path: str | Path,
    settings: Settings | None = None,
    *,
    runtime: str | Path | None = None,
    **options: Unpack[CompileOptions],
) -> LoadedImage:
    """Read an image, to be run with the kernels of a runtime folder or the stock runtime. Only the options `target` and
    `optimize` apply, as the model is already planned."""
    settings = settings if settings is not None else make_settings(**options)
    data = reader.read_image(path)
    description = reader.read(data)
    known = known_kernels(runtime, settings.target)
    kernels = known.needed({k.id: k.name for k in description.kernels})
    own = limits_of(settings.target)
    limits = replace(known.limits, fused=own.fused, aligned=own.aligned)
    end = description.header["bytes"]
    return LoadedImage(str(path), data[:end], description, kernels, limits, settings, data[end:])


def known_kernels(runtime: str | Path | None, target: Target) -> Manifest:
    """Kernels of a runtime folder, or of the stock runtime."""
    return stock(target) if runtime is None else read_manifest(runtime)


def _port(number: int, port: reader.PortInfo, turned: bool) -> Tensor:
    scale, zero = np.array([port.scale], np.float32), np.array([port.zero_point], np.int64)
    quant = Quantization(scale, zero) if port.scale else None
    arrangement = channels_moved(port.shape) if turned else None
    return Tensor(number, port.name, port.shape, port.dtype, quant, arrangement=arrangement)


def _layer(name: str, told: Mapping[str, Any]) -> TracedOp:
    """Parses a layer record of an image."""
    try:
        tensors = tuple(_tensor(t) for t in told.get("tensors", ()))
        rows = tuple(map(int, told["rows"])) if "rows" in told else None
        layout = _layout(*told["layout"]) if "layout" in told else NHWC
        number, kind, kernel = (str(told.get(key, "")) for key in ("layer", "kind", "kernel"))
        return TracedOp(name, number, kind, kernel, int(told.get("macs", 0)), tensors, rows, layout)
    except (TypeError, ValueError, KeyError) as error:
        raise MoteError(f"tells of its layers what cannot be: {error!r}", where=name) from None


def _layout(name: str, *numbers: int) -> Layout:
    kinds = {kind.name: kind for kernel in catalogue.KERNELS for kind in kernel.writes}
    return kinds[name](*map(int, numbers))


def _tensor(told: Mapping[str, Any]) -> Tensor:
    number, source = int(told["id"]), int(told["source"])
    return Tensor(
        number,
        str(told.get("name", "")),
        tuple(map(int, told["shape"])),
        DType(told["dtype"]),
        copy_of=source if source != number else None,
        newest=told.get("newest"),
        kept=tuple(told["kept"]) if "kept" in told else None,
        inner=bool(told.get("inner", False)),
        arrangement=_arrangement(told["arrangement"]) if "arrangement" in told else None,
    )


def _arrangement(told: Any) -> ElementOrder:
    atoms, order = (tuple(map(int, sizes)) for sizes in told)
    if sorted(order) != list(range(len(atoms))):
        raise ValueError(f"{order} is no order of {atoms}")
    return ElementOrder(atoms, order)


@explaining()
def run_image(
    loaded: LoadedImage,
    inputs: Inputs | None = None,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    layers: bool = True,
) -> RunResult:
    """`mote.run` for an image. The stack bound is unknown, as kernels are called through function pointers."""
    names = short_names([x.name for x in loaded.layers])
    known = [
        LayerCost(x.number, x.name, x.kind, x.kernel, x.macs, None, short)
        for x, short in zip(loaded.layers, names, strict=True)
    ]
    subject = MeasuredSubject(
        loaded.path,
        loaded.firmware,
        loaded.graph,
        known,
        loaded.keeps,
        loaded.arena,
        project.arena_bytes(loaded.image),
        len(loaded.data),
        pointers=True,
    )
    raw = stimulus(loaded.graph, inputs)
    return measured(subject, raw, compiler=compiler, emulator=emulator, board=board, layers=layers)


@explaining()
def profile_image(
    loaded: LoadedImage,
    inputs: Inputs | None = None,
    *,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    layers: bool = True,
) -> Profile:
    """`mote.profile` for an image. Markers between layers add a few instructions to each."""
    names = short_names([x.name for x in loaded.layers])
    known = [
        LayerFacts(x.number, x.name, x.kind, x.kernel, x.macs, short=short)
        for x, short in zip(loaded.layers, names, strict=True)
    ]
    raw = stimulus(loaded.graph, inputs)[0]
    subject = Profiled(loaded.path, loaded.firmware, known)
    return profiled(subject, raw, compiler=compiler, emulator=emulator, board=board, layers=layers)


@explaining()
def verify_image(
    loaded: LoadedImage,
    inputs: int | None = None,
    *,
    data: Any = None,
    source: Any = None,
    seed: int = 0,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    sanitize: bool = False,
    say: Say = silent,
) -> VerifyResult:
    """Compares all recorded tensors of an image with the reference, for inputs as in `mote.verify`. The reference is
    the model `source`, or the file next to the image that it was packed from; without one, outputs are compared with
    portable kernels on the host, and the result says so."""
    model = _source(loaded, source)
    if model is None:
        known = None if data is None else dataset(data, several=False).cases(loaded.graph)
        return _against_host(loaded, chosen_cases(loaded.graph, inputs, known, seed), compiler, emulator, board)
    where = model.where
    options = {name: value for name, value in _options(loaded).items() if name in PREPARING}
    settings = make_settings(loaded.target, **options)
    model = given_model(model, settings)
    with naming(where):
        ready = prepared(subject_of(model).graph, settings, ANY)
        graph = ready.whole
    for mine, theirs in (
        *zip(loaded.image.inputs, graph.inputs, strict=True),
        *zip(loaded.image.outputs, graph.outputs, strict=True),
    ):
        if (mine.dtype, mine.shape) != (graph.tensors[theirs].dtype, graph.tensors[theirs].shape):
            raise MoteError(
                f"'{mine.name}' is another one in the image than in the model", where=f"{loaded.path}, {where}"
            )
    works = [
        TracedLayer(
            i,
            x.number,
            x.kind,
            [replace(t, name=t.name or x.name) for t in x.tensors],
            {x.tensors[0].id: x.rows} if x.rows is not None else {},
            {t.id: x.layout if n == 0 else NHWC for n, t in enumerate(x.tensors)},
            bodies=True,
        )
        for i, x in enumerate(loaded.layers)
        if x.tensors and x.kernel
    ]
    judged = Judged(loaded.path, loaded.firmware, settings, ready, graph, model, works)
    own = None if data is None else cases_of(graph, data, settings)
    tools = {"compiler": compiler, "emulator": emulator, "board": board}
    return compared(judged, inputs, own, seed=seed, **tools, sanitize=sanitize, say=say)


def _options(loaded: LoadedImage) -> Mapping[str, Any]:
    """Options that the image was packed with."""
    options = loaded.image.about.get("options", {})
    return options if isinstance(options, Mapping) else {}


def _source(loaded: LoadedImage, source: Any) -> Source | None:
    """The model that the image was packed from; None if not found."""
    wanted = bytes(loaded.image.header["source"])
    if source is not None:
        given = source_of(source)
        if hashlib.sha256(given.data).digest() != wanted:
            raise MoteError(
                "is not the model that the image was packed from: its SHA-256 is another one",
                where=given.where,
                remedy="give the model file itself, or omit --source",
            )
        return given
    for path in sorted(Path(loaded.path).resolve().parent.iterdir()):
        if path.suffix in SUFFIXES.values() and path.is_file():
            with suppress(MoteError):
                candidate = source_of(path)
                if hashlib.sha256(candidate.data).digest() == wanted:
                    return candidate
    return None


def _against_host(
    loaded: LoadedImage, cases: Sequence[Case], compiler: str | None, emulator: str | None, board: str | None
) -> VerifyResult:
    """Compares outputs on the target with those of the portable kernels on the host."""
    graph = loaded.graph
    here = Interpreter.of(loaded.data, loaded.kernels, loaded.path)
    with (
        temporary_folder() as folder,
        bench(loaded.firmware, folder, compiler=compiler, emulator=emulator, board=board) as on,
    ):
        run = on.execute(Mode.MEASURE, [[case[t].tobytes() for t in graph.inputs] for case in cases])
        facts = on.facts
    judge = Judge()
    for i, (case, outputs) in enumerate(zip(cases, run.outputs, strict=True)):
        for t in graph.inputs:
            here.set_tensor(t, to_model(graph.tensors[t], case[t]))
        here.invoke()
        if not here.waiting:
            for t, raw in zip(graph.outputs, outputs, strict=True):
                tensor = graph.tensors[t]
                got = to_model(tensor, np.frombuffer(raw, tensor.dtype.numpy).reshape(tensor.shape))
                want = here.get_tensor(t)
                judge.compare(tensor, "", "output", i, got, want, float(np.abs(want.astype(np.float64)).max(initial=0)))
    name = "the same image on this computer with portable kernels, since the model file is not there"
    result = judge.result(loaded.path, loaded.target.name, 0, name, len(cases))
    return replace(result, interruptions=() if facts is None else facts.interruptions)
