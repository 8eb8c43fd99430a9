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
from mote.base.option import RestrictedUse, check_use
from mote.base.progress import Say, silent
from mote.base.results import ItemTable, Result
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

UNRECORDED = {"backend", "preprocess", "barrier", "pins"}
"""Options that an image does not record, as its instructions show their effect."""
MOST_VERSION = (1 << 32) - 1


@dataclass(frozen=True, repr=False)
class Image(Result):
    """A model as an image, with its plan."""

    LINE = "{name!r} for {settings.target.name}: {data!n:,} bytes"
    TITLE = "{path} for {settings.target.name}"
    NOTES = "warnings"
    FACTS = "image=data!n:size, arena:size, states=program.state_bytes:size, version=header.version, MACs=macs"
    ROWS = ItemTable("records", "kernel=name", title="{records!n} kernels")
    JSON = (
        "model=path, target=settings.target.name, name, warnings, bytes=data!n, crc=header.crc:08x,"
        " version=header.version, product=header.product, steps=program.schedule!n, macs,"
        " kernels=program.kernels.name:sorted, ram.arenas=program.arenas,"
        " ram.states=program.state_bytes, record=record_bytes"
    )

    data: bytes
    """The bytes of the image."""
    plan: Plan
    """The plan: kernels, order and memory."""
    program: Program
    """The plan lowered to the program of instructions in the image."""
    settings: Settings
    """The settings that the model was planned with."""
    path: str
    """The model's file, or a name for a model that is an object."""
    model: Source
    """The model that was packed, for its format's own runtime."""
    source: Graph
    """The graph of the model as it was read."""
    savings: tuple[Saving, ...] = ()
    """The passes that changed the graph, and what each removed."""
    warnings: tuple[str, ...] = ()
    """Warnings about the model file."""

    @property
    def name(self) -> str:
        """The prefix of C symbols and files."""
        return self.settings.name

    @cached_property
    def header(self) -> dict[str, Any]:
        """The fields of the image's header."""
        return format.HEADER.unpack(self.data)

    @property
    def record_bytes(self) -> int:
        """Bytes of a saved record of the learned weights; 0 if the model does not learn on the device."""
        return read(self.data).record_bytes

    @property
    def records(self) -> list[KernelRecord]:
        """The kernels that the image needs."""
        return merged(map(record, self.program.kernels))

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations of an inference."""
        return sum(op.macs(self.plan.graph) for op, _ in self.plan.works)

    def write(self, path: str | Path) -> None:
        """Atomically writes the image to a file; refuses to overwrite a file that is not an image."""
        write_file(str(path), self.data, format.BEGINS)

    def c_array(self) -> dict[str, str]:
        """The image as C, `NAME_image.h` and `NAME_image.c`, for firmware without a file system."""
        return c_array(self.data, self.name, image_alignment(self.records))

    @property
    def arena(self) -> int:
        """Bytes of the tensor arenas."""
        return sum(self.program.arenas)


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
    """Packs a model into an image for the runtime. The model and options are those of `compile`, except options for
    generated C. `model_version` must not decrease in updates, and `product` must stay equal; `strip` omits names of
    layers and data that only tools read; `labels` name the values of the first output; `runtime`: the folder or
    manifest of a runtime whose kernels to use instead of the stock runtime's, or a set of kernels."""
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
            about=about(planned, _recorded(settings, where)),
        )
        image = write(flat, details)
        _check_budgets(image, flat, settings, where)
        if known is not None:
            known.check(format.HEADER.unpack(image))
        warned = (*subject.warnings, *advice(planned, settings.target))
        return Image(image, planned, flat, settings, where, model, subject.graph, ready.savings, warned)


def _for_images(settings: Settings, runtime: str | Path | Manifest | Fixed | None) -> tuple[Fixed, Manifest | None]:
    """The kernels that an image may use, and their manifest: those of the stock runtime, unless another one is named.
    Refuses settings that images do not support."""
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
    """Refuses layers that an external generator computes with its own C, as images hold no code, unless the runtime has
    a kernel for them."""
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


def _recorded(settings: Settings, where: str) -> dict[str, Any]:
    """The settings that are recorded in an image: model, name, target, and those that are not defaults."""
    always: dict[str, Any] = {"model": Path(where).name, "name": settings.name, "target": settings.target.name}
    changed = changed_options(settings, {*always, "kernels", *UNRECORDED})
    if settings.train_data is not None:
        changed["train_data"] = settings.train_data.where
    if settings.train is not None:
        changed["train"] = str(settings.train)
    return always | changed | ({"kernels": dict(settings.kernels)} if settings.kernels else {})


def _check_budgets(image: bytes, flat: Program, settings: Settings, where: str) -> None:
    """Refuses an image that does not fit, with the numbers."""
    ram = {"arena": sum(flat.arenas), "state": flat.state_bytes}
    over_budget("RAM", ram, settings.ram_limit, settings, where)
    over_budget("flash", {"image": len(image)}, settings.flash_limit, settings, where)
