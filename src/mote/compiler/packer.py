"""Model file -> image: the plan as data, for firmware with Mote's runtime."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import MoteError, explaining, naming
from mote.base.files import write_file
from mote.base.notebook import card, folded, sizes, table
from mote.base.option import RestrictedUse, check_use
from mote.base.progress import Say, silent
from mote.compiler.checks.advice import advice
from mote.compiler.checks.budgets import over_budget
from mote.compiler.emit.image import format
from mote.compiler.emit.image.c_array import c_array
from mote.compiler.emit.image.flatten import flattened, with_image_calls
from mote.compiler.emit.image.kernels import KernelRecord, image_alignment, merged, record
from mote.compiler.emit.image.manifest import Manifest, read_manifest
from mote.compiler.emit.image.metadata import about
from mote.compiler.emit.image.reader import read
from mote.compiler.emit.image.stock_kernels import stock
from mote.compiler.emit.image.writer import Details, write
from mote.compiler.given import PackOptions
from mote.compiler.kernels.contract import Fixed
from mote.compiler.line import c_name, plan_for
from mote.compiler.lower.program import Program, program
from mote.compiler.offload.contract import Offloaded
from mote.compiler.options.parsing import check_at_least
from mote.compiler.passes.saving import Saving
from mote.compiler.plan.plan import Plan
from mote.compiler.prepared import prepared
from mote.compiler.settings import TABLE, Settings, changed_options, chosen_settings, settings_and_examples
from mote.compiler.subject import given_model, subject_of
from mote.frontends import Source
from mote.hardware.npu.sources import check_files
from mote.hardware.targets import ALIGNED, Target
from mote.ir.graph import Graph
from mote.ir.graph.tolerance import computes_floats
from mote.ir.ops.features.scores import Decision

UNTOLD = {"backend", "preprocess", "barrier", "pins"}
"""Options that the steps of an image show."""
MOST_VERSION = (1 << 32) - 1


@dataclass(frozen=True)
class Image:
    """A model as an image, with its plan."""

    data: bytes
    """The bytes of the image."""
    plan: Plan
    """The plan: kernels, order and memory."""
    program: Program
    """The instructions of the image."""
    settings: Settings
    """The settings that the model was planned with."""
    path: str
    """The model's file, or what its object is called."""
    model: Source
    """The model that was packed, for its format's own runtime."""
    source: Graph
    """The graph of the model as it was read."""
    savings: tuple[Saving, ...] = ()
    """The passes that changed the graph, and what each removed."""
    warnings: tuple[str, ...] = ()
    """Warnings about the model file."""

    def __repr__(self) -> str:
        return f"<Image {self.name!r} for {self.settings.target.name}: {len(self.data):,} bytes>"

    def _repr_html_(self) -> str:
        facts = {
            "image": sizes(len(self.data)),
            "arena": sizes(sum(self.program.arenas)),
            "states": sizes(self.program.state_bytes),
            "version": self.header["version"],
            "MACs": self.macs,
        }
        rows = [(kernel.name,) for kernel in self.records]
        kernels = folded(f"{len(rows)} kernels", table(("kernel",), rows))
        return card(f"{self.path} for {self.settings.target.name}", facts, kernels, notes=self.warnings)

    def json(self) -> dict[str, Any]:
        """Names, sizes, kernels and versions as JSON types."""
        return {
            "model": self.path,
            "target": self.settings.target.name,
            "name": self.name,
            "warnings": list(self.warnings),
            "bytes": len(self.data),
            "crc": f"{self.header['crc']:08x}",
            "version": self.header["version"],
            "product": self.header["product"],
            "steps": len(self.program.schedule),
            "macs": self.macs,
            "kernels": sorted({kernel.name for kernel in self.program.kernels}),
            "ram": {"arenas": list(self.program.arenas), "states": self.program.state_bytes},
            "record": self.record_bytes,
        }

    @property
    def name(self) -> str:
        """The prefix of C symbols and files."""
        return self.settings.name

    @cached_property
    def header(self) -> dict[str, Any]:
        """The fields of its header."""
        return format.HEADER.unpack(self.data)

    @property
    def record_bytes(self) -> int:
        """Bytes of a record of what was learned on a device; 0: the model does not learn."""
        return read(self.data).record_bytes

    @property
    def records(self) -> list[KernelRecord]:
        """The kernels that it needs."""
        return merged(map(record, self.program.kernels))

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations of an inference."""
        return sum(op.macs(self.plan.graph) for op, _ in self.plan.works)

    def write(self, path: str | Path) -> None:
        """Writes it to a file, atomically; refuses to overwrite a file that is no image."""
        write_file(str(path), self.data, format.BEGINS)

    def c_array(self) -> dict[str, str]:
        """The image as C, `NAME_image.h` and `NAME_image.c`, for firmware without a file system."""
        return c_array(self.data, self.name, image_alignment(self.records))


def pack(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    model_version: int = 0,
    product: int = 0,
    strip: bool = False,
    labels: Sequence[str] = (),
    runtime: str | Path | Manifest | Fixed | None = None,
    say: Say = silent,
    **options: Unpack[PackOptions],
) -> Image:
    """Packs a model, given as to `compile`, into an image. Options are those of `compile` except the ones about C.
    `model_version` never goes down in updates; updates check that `product` is equal; `strip` omits the names of layers
    and what only tools read; `labels` name the values of the first output; `runtime` is the folder or the manifest of
    the runtime whose kernels are used instead of the stock one's, or a set of kernels."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    settings = chosen_settings(settings, options)
    fixed, known = _for_images(settings, runtime)
    _check_number("model_version", model_version)
    _check_number("product", product)
    model = given_model(model, settings, example_inputs)
    where = model.where
    with naming(where), explaining():
        subject = subject_of(model)
        ready = prepared(subject.graph, settings, fixed)
        names = labels or settings.labels
        labelled = {0: _checked_labels(ready.whole, names)} if names else {}
        planned = plan_for(ready.whole, where, settings, say, fixed=fixed)
        _check_own(planned, known, settings.target)
        name, _ = c_name(settings, subject.graph)
        settings = replace(settings, name=name)
        flat = flattened(with_image_calls(program(planned)))
        details = Details(
            hashlib.sha256(model.data).digest(),
            model_version,
            product,
            strip,
            labelled,
            fused="fma" in settings.target.features and computes_floats(planned.graph),
            aligned=ALIGNED in planned.how.features,
            about=about(planned, _told(settings, where)),
        )
        image = write(flat, details)
        _check_budgets(image, flat, settings, where)
        if known is not None:
            known.check(format.HEADER.unpack(image))
        warned = (*subject.warnings, *advice(planned, settings.target))
        return Image(image, planned, flat, settings, where, model, subject.graph, ready.savings, warned)


def _for_images(settings: Settings, runtime: str | Path | Manifest | Fixed | None) -> tuple[Fixed, Manifest | None]:
    """The fixed set of kernels of an image, and their manifest: the stock runtime's, unless another one is named.
    Refuses settings that are not for images."""
    check_use(TABLE, settings, RestrictedUse.IMAGE)
    if settings.target.core.flash_apart:
        raise MoteError(
            f"runs no images: their constants are loaded as data, which does not reach the program memory of"
            f" {settings.target.core.title}",
            where=f"target {settings.target.name}",
            remedy="make C of the model: `mote compile`",
        )
    if isinstance(runtime, Fixed):
        return runtime, None
    if isinstance(runtime, Manifest):
        known = runtime
    else:
        known = stock(settings.target) if runtime is None else read_manifest(runtime)
    return known.fixed, known


def _check_own(plan: Plan, known: Manifest | None, target: Target) -> None:
    """Refuse what an external generator computes with C of its own: an image holds no code, and a runtime has none of a
    generator but for what its kernels do."""
    for op, steps in plan.works:
        kernel = steps[0].kernel
        if not isinstance(kernel, Offloaded):
            continue
        where = f"layer {plan.number(steps[0])} {op.kind} '{op.name}'"
        if kernel.artifact.image is None:
            raise MoteError(
                f"the external generator '{kernel.name}' computes it with C of its own, which no image holds",
                where=where,
                remedy="omit --backend, or make C of the model: `mote compile`",
            )
        if known is not None and (lacks := known.lacks(kernel.artifact.image.kernel)):
            raise MoteError(
                lacks, where=where, remedy=f"write a runtime that has it: `mote runtime --backend {kernel.name}`"
            )
        if known is not None and target.npu and check_files(known.limits.npu) != check_files(target.npu.family):
            raise MoteError(
                f"{known.where} checks command streams for another accelerator than {target.npu.core}",
                where=where,
                remedy=f"write a runtime for this target: `mote runtime -t {target.name} --backend {kernel.name}`",
            )


def _check_number(option: str, value: object) -> None:
    check_at_least(option, value, 0)
    assert isinstance(value, int)
    if value > MOST_VERSION:
        raise MoteError(f"{value} takes more than four bytes", where=f"option {option}")


def _checked_labels(graph: Graph, labels: Sequence[str]) -> tuple[str, ...]:
    tensor = graph.tensors[graph.outputs[0]]
    if len(labels) != tensor.channels and not isinstance(graph.producers.get(tensor.id), Decision):
        raise MoteError(
            f"there are {len(labels)} labels, and output '{tensor.name}' has {tensor.channels} values",
            where="option labels",
            remedy="give a line for each value of the last axis of the first output",
        )
    return tuple(labels)


def _told(settings: Settings, where: str) -> dict[str, Any]:
    """The settings to record in an image: those that are not defaults."""
    told: dict[str, Any] = {"model": Path(where).name, "name": settings.name, "target": settings.target.name}
    changed = changed_options(settings, {*told, "kernels", *UNTOLD})
    if settings.train_data is not None:
        changed["train_data"] = settings.train_data.where
    if settings.train is not None:
        changed["train"] = str(settings.train)
    return told | changed | ({"kernels": dict(settings.kernels)} if settings.kernels else {})


def _check_budgets(image: bytes, made: Program, settings: Settings, where: str) -> None:
    """Refuses an image that does not fit, with the numbers."""
    ram = {"arena": sum(made.arenas), "state": made.state_bytes}
    over_budget("RAM", ram, settings.ram_limit, settings, where)
    over_budget("flash", {"image": len(image)}, settings.flash_limit, settings, where)
