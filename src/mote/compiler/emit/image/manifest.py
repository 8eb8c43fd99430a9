"""`manifest.json` of a runtime: its kernels, core and limits.

A model is packed for a runtime only with the kernels in its manifest, so that it runs on firmware that was built
before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mote.base.documents import read_json
from mote.base.errors import MoteError
from mote.compiler.emit.image.entries import Limits
from mote.compiler.emit.image.kernels import KernelRecord, merged, record
from mote.compiler.kernels.contract import Fixed, Packed
from mote.version import __version__

FILE = "manifest.json"
FORMAT = 1
_MOST_BYTES = 64 << 20
"""Size limit of a manifest in bytes: fifty times the size of the largest set of kernels."""


@dataclass(frozen=True)
class Manifest:
    """The kernels of a runtime, and the core that they are compiled for."""

    where: str
    """A description of the runtime, for errors."""
    target: str
    features: frozenset[str]
    kernels: tuple[KernelRecord, ...]
    """Kernels sorted by id."""
    limits: Limits
    version: str = __version__

    @cached_property
    def by_id(self) -> dict[int, KernelRecord]:
        return {k.id: k for k in self.kernels}

    def lacks(self, packed: Packed) -> str:
        """The reason why the runtime cannot run a kernel; empty if it can."""
        wanted = record(packed)
        own = self.by_id.get(wanted.id)
        if own is None or not own.covers(wanted):
            return f"{self.where} has no kernel '{packed.name}'"
        if packed.entry.taps > self.limits.taps:
            return (
                f"{self.where} takes windows of at most {self.limits.taps} rows, and this one has {packed.entry.taps}"
            )
        return ""

    @property
    def fixed(self) -> Fixed:
        return Fixed(self.lacks)

    def check(self, header: Mapping[str, Any]) -> None:
        """Refuses an image that exceeds the limits of the runtime."""
        for what, need, room in (
            ("pointers to rows", header["taps"], self.limits.pointers),
            ("parameters", header["words"], self.limits.words),
        ):
            if need > room:
                raise MoteError(
                    f"a step takes {need} {what}, and {self.where} has room for {room}",
                    remedy="write a runtime with this model's kernels: `mote runtime --kernels MODEL`",
                )

    def needed(self, ids: Mapping[int, str]) -> list[KernelRecord]:
        """The kernels that an image needs. `ids`: their ids, with names for the error if one is missing."""
        for key, name in ids.items():
            if key not in self.by_id:
                raise MoteError(
                    f"{self.where} has no kernel '{name}' ({key:08x})",
                    remedy="pack the model for this runtime, with `mote pack --runtime DIR`, or use the runtime that"
                    " the image was packed for",
                )
        return [self.by_id[key] for key in ids]

    def to_json(self) -> str:
        data = {
            "format": FORMAT,
            "mote": self.version,
            "target": self.target,
            "features": sorted(self.features),
            "limits": {name: limit for name, limit in asdict(self.limits).items() if name != "npu" or limit},
            "kernels": [k.to_json() for k in self.kernels],
        }
        return json.dumps(data, indent=1) + "\n"


def manifest(
    where: str, target: str, features: Iterable[str], kernels: Iterable[KernelRecord], limits: Limits
) -> Manifest:
    """Makes a manifest; kernels may be in any order and contain duplicates."""
    return Manifest(where, target, frozenset(features), tuple(merged(kernels)), limits)


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest of a runtime that `mote runtime` wrote to a folder."""
    path = Path(folder) / FILE
    remedy = "write one with `mote runtime -o DIR`"
    data = read_json(path, reason="is no manifest of a runtime", remedy=remedy, most=_MOST_BYTES)
    try:
        return parse_manifest(data, f"the runtime in {folder}")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise MoteError(f"is no manifest of a runtime: {error!r}", where=str(path), remedy=remedy) from None


def parse_manifest(data: Mapping[str, Any], where: str) -> Manifest:
    """Parses a manifest's JSON."""
    if data["format"] != FORMAT:
        raise ValueError(f"format {data['format']} is not {FORMAT}")
    kernels = tuple(KernelRecord.from_json(k) for k in data["kernels"])
    for kernel, given in zip(kernels, data["kernels"], strict=True):
        if given["id"] != f"{kernel.id:08x}":
            raise ValueError(f"the id of {kernel.name} is {kernel.id:08x}, not {given['id']}")
    limits = Limits(**data["limits"])
    for name, usual in asdict(Limits()).items():
        if type(getattr(limits, name)) is not type(usual):
            raise TypeError(f"the limit '{name}' is of another type than {usual!r}")
    target, features, version = data["target"], data["features"], data["mote"]
    if not all(isinstance(text, str) for text in (target, version, *features)):
        raise TypeError("the target, a feature or the version is no text")
    return Manifest(where, target, frozenset(features), kernels, limits, version)
