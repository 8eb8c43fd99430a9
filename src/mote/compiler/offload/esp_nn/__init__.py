"""The backend `esp-nn`: int8 operators computed by Espressif's ESP-NN, from the user's copy of it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from mote.compiler.kernels.contract import ALIGNMENT, Refusal
from mote.compiler.offload.contract import Artifact
from mote.compiler.offload.esp_nn import library
from mote.compiler.offload.esp_nn.costs import cycles, linked
from mote.compiler.offload.esp_nn.layer import EspLayer
from mote.compiler.offload.esp_nn.library import Edition
from mote.compiler.offload.esp_nn.operators import MADE, VECTOR, layer
from mote.compiler.offload.library.generator import LibraryGenerator
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op

HEADER = "esp_nn_layers.h"
OWN = {HEADER: (files(__package__) / "c" / HEADER).read_text(encoding="utf-8")}
"""The files of Mote's in every project that calls ESP-NN."""
CALL = 60
"""Approximate bytes of code of a call."""


class EspNN(LibraryGenerator):
    """Computes single operators, each by a function of ESP-NN, with the results of LiteRT."""

    name = "esp-nn"
    about = "ESP-NN of Espressif, for ESP32, ESP32-C3, ESP32-S3 and ESP32-P4"
    operators = MADE
    remedy = library.REMEDY

    def checkout(self) -> Path:
        return library.checkout()

    def serves(self, target: Target) -> bool:
        return library.edition_of(target) is not None

    def contents(self, target: Target) -> str:
        return library.contents(self.checkout())

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        edition = library.edition_of(target)
        assert edition is not None
        called = layer(region, graph, edition)
        return called if isinstance(called, Refusal) else artifact(called, edition, target, self.checkout())


def artifact(layer: EspLayer, edition: Edition, target: Target, where: Path) -> Artifact:
    """The artifact of a layer for a target, with the ESP-NN in folder `where`."""
    return Artifact(
        calls=layer.calls,
        cost=cycles(layer, edition, target.constant_reads),
        header=HEADER,
        blobs=layer.blobs,
        files=OWN,
        sources=tuple(map(str, library.sources(where, layer.function))),
        includes=library.includes(where),
        library=library.foreign(where),
        simulated=library.simulated(where, edition, layer.function),
        scratch=layer.scratch,
        alignment=VECTOR if edition.vectors else ALIGNMENT,
        code=CALL,
        linked=linked(layer, edition),
    )
