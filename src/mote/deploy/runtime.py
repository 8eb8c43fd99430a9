"""`mote runtime`: builds Mote's C runtime with a fixed set of kernels, for firmware that loads models as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import mote.compiler.package
from mote.base.errors import MoteError
from mote.base.progress import Say, silent
from mote.base.results import ItemTable, Result
from mote.compiler.emit.image import manifest as manifests
from mote.compiler.emit.image.entries import entry_files
from mote.compiler.emit.image.kernels import ANY, image_alignment, merged, record
from mote.compiler.emit.image.manifest import Manifest, manifest
from mote.compiler.emit.image.npu.kernels import npu_kernels
from mote.compiler.emit.image.sources import runtime_files
from mote.compiler.emit.image.stock_kernels import limits_of, minimal, stock, tuned
from mote.compiler.emit.licence import licensed
from mote.compiler.given import CommonOptions
from mote.compiler.kernels import library
from mote.compiler.kernels.catalogue import candidates
from mote.compiler.kernels.contract import Packed, View
from mote.compiler.line import golden
from mote.compiler.package.description import Metadata, Package
from mote.compiler.package.packagers import default_files, write_packages
from mote.compiler.package.runtime_project import image_example, runtime_package
from mote.compiler.packer import pack
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import Settings, chosen_settings
from mote.deploy.update.sources import mac_files, update_files
from mote.hardware.targets import ALIGNED, Target
from mote.hardware.targets.flags import optimization

ALL, MINIMAL, TUNED = "all", "minimal", "tuned"
SETS: dict[str, Callable[[Target], Manifest]] = {ALL: stock, MINIMAL: minimal, TUNED: tuned}
"""Named kernel sets for models not known yet."""
EXAMPLE_MODEL = Path(mote.compiler.package.__file__).with_name("digits.tflite")
"""Model used in the example of a general runtime: models/digits.tflite."""
LEAST_TAPS = 8
"""Minimum number of window rows that every runtime supports."""
FURTHER = 2
"""Additional row pointers of window kernels for other tensors."""
NPU_BACKENDS = frozenset({"ethos-u", "ethos-u-stream"})
"""Backends whose jobs are kernels of a runtime."""
OPERANDS = 16
"""Maximum operands of an image's step (mote_room.h)."""


@dataclass(frozen=True, repr=False)
class Runtime(Result):
    """A runtime as a C library with its manifest."""

    LINE = "for {manifest.target}: {manifest.kernels!n} kernels, {sources!n} C files"
    TITLE = "Runtime for {manifest.target}"
    FACTS = "kernels=manifest.kernels!n, C files=sources!n, files!n"
    ROWS = ItemTable("manifest.kernels", "kernel=name, id:08x", left=2, title="kernels")
    JSON = (
        "target=manifest.target, kernels=manifest.kernels.name, limits.taps=manifest.limits.taps,"
        " limits.pointers=manifest.limits.pointers, limits.words=manifest.limits.words, files:sorted"
    )

    manifest: Manifest
    """Kernels of the runtime and their limits."""
    settings: Settings
    """Settings with which its models are planned."""
    package: Package
    """Description of the C library for packagers."""

    @property
    def files(self) -> dict[str, str]:
        """Files of the C library."""
        return default_files(self.package)

    @property
    def sources(self) -> list[str]:
        """The C files to link."""
        return list(self.package.sources)

    def with_files(self, files: Mapping[str, str]) -> Runtime:
        """The runtime with additional files that are not compiled with the library (adapters)."""
        return replace(self, package=self.package.with_files(files))

    def described(self, metadata: Metadata) -> Runtime:
        """The runtime with metadata for packages."""
        return replace(self, package=self.package.described(metadata))

    def write(self, output: str | Path, package: Sequence[str] = (), *, force: bool = False) -> list[str]:
        """Writes the library atomically, for the ecosystems in `package` or as a folder of C; replaces what Mote wrote
        there."""
        return write_packages(str(output), dict.fromkeys(package, self.package), self.package, force=force)


def runtime(
    kernels: str | Sequence[str | Path | bytes] = ALL,
    settings: Settings | None = None,
    *,
    update: bool = False,
    say: Say = silent,
    **options: Unpack[CommonOptions],
) -> Runtime:
    """Build a runtime for a target with the kernels of the stock runtime (`all`), of int8 CNNs (`minimal`; `tuned` adds
    fast ones for cores with DSP instructions), or of given models: code specialized for their layers plus portable
    kernels for other shapes. `update` adds the over-the-air update module. Options are those of `pack`, with which
    models are planned."""
    settings = chosen_settings(settings, options)
    if settings.train and isinstance(kernels, str) and kernels in SETS:
        raise MoteError(
            f"is for given models: '{kernels}' is a set of kernels for any",
            where="option train",
            remedy="name models; the set `all` has the kernels of training",
        )
    own = _manifest(kernels, settings, say)
    more = {**mac_files(), **(update_files() if update else {})}
    files = {**runtime_files(), **entry_files(own.kernels, own.limits), **more}
    files = {name: text if name in library.added() else licensed(text) for name, text in files.items()}
    how = optimization(settings.optimize, settings.target.cpu)
    model = EXAMPLE_MODEL if isinstance(kernels, str) and kernels in SETS else _models(kernels)[0]
    image = pack(model, settings, runtime=own, say=say)
    alignment = image_alignment(image.records)
    example = image_example(image.data, image.name, image.plan, golden(image.plan.graph), alignment)
    package = runtime_package({**files, manifests.FILE: own.to_json()}, settings.target, how, *example, image.data)
    return Runtime(own, settings, package)


def _models(kernels: str | Path | bytes | Sequence[str | Path | bytes]) -> list[str | Path | bytes]:
    return [kernels] if isinstance(kernels, str | Path | bytes) else list(kernels)


def _manifest(kernels: str | Sequence[str | Path | bytes], settings: Settings, say: Say) -> Manifest:
    target = settings.target
    if isinstance(kernels, str) and kernels in SETS:
        return _with_backends(SETS[kernels](target), settings)
    models = _models(kernels)
    if not models:
        raise MoteError("names no kernels", where="option kernels", remedy=f"give {', '.join(SETS)} or models")
    images = [pack(model, settings, runtime=ANY, say=say) for model in models]
    used = [kernel for image in images for kernel in (*image.program.kernels, *_portable(image.plan))]
    records = merged(map(record, used))
    taps = [packed.entry.taps for packed in used]
    limits = replace(
        limits_of(target),
        taps=max(LEAST_TAPS, *taps),
        pointers=max(OPERANDS, max(taps) + FURTHER, *(image.header["taps"] for image in images)),
        words=max(len(k.fields) for k in records),
    )
    return manifest("the runtime of these models", target.name, target.features, records, limits)


def _with_backends(own: Manifest, settings: Settings) -> Manifest:
    """The set with the kernels of the requested backends only, since those need drivers."""
    kernels = [kernel for kernel in own.kernels if not kernel.fails]
    kernels += npu_kernels() if set(settings.backend) & NPU_BACKENDS else ()
    return replace(own, kernels=tuple(merged(kernels)))


def _portable(plan: Plan) -> Iterator[Packed]:
    """Portable kernels of each single operator for any core: the planner's fallback, also for other shapes."""
    for part in plan.all:
        for op in part.graph.ops:
            if not (op.is_view or op.bodies):
                yield from candidates(View(part.graph, (op,)), part.how.features & {ALIGNED})[:1]
