"""The backend `esp-nn`: int8 operators that Espressif's ESP-NN computes, with the user's own copy of it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from mote.graph import Graph, Op
from mote.kernels.contract import ALIGNMENT, Refusal
from mote.offload.contract import Artifact, Generator, Missing
from mote.offload.esp_nn import library, operators
from mote.offload.esp_nn.costs import cycles
from mote.offload.esp_nn.layer import EspLayer
from mote.offload.esp_nn.library import Edition
from mote.targets import Target

HEADER = "esp_nn_layers.h"
CODE = 60
"""About the bytes of a call's code; functions are shared by all layers."""


class EspNN(Generator):
    """Operators one by one, each by a function of ESP-NN, exactly as LiteRT computes them."""

    name = "esp-nn"
    about = "ESP-NN of Espressif, for ESP32, ESP32-C3, ESP32-S3 and ESP32-P4"

    def missing(self) -> Missing | None:
        return library.missing()

    def serves(self, target: Target) -> bool:
        return library.edition_of(target) is not None

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [op for op in graph.ops if type(op) in operators.MADE]

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        edition = library.edition_of(target)
        assert edition is not None
        layer = operators.layer(region, graph, edition)
        return layer if isinstance(layer, Refusal) else artifact(layer, edition, target, library.folder())


def artifact(layer: EspLayer, edition: Edition, target: Target, where: Path) -> Artifact:
    """What computes a layer on a target with the ESP-NN of a folder."""
    header = (files(__package__) / "c" / HEADER).read_text(encoding="utf-8")
    return Artifact(
        calls=layer.calls,
        cost=cycles(layer, edition, target.constant_reads),
        header=HEADER,
        blobs=layer.blobs,
        files={HEADER: header},
        sources=tuple(map(str, library.sources(where, layer.function))),
        includes=library.includes(where),
        components={library.COMPONENT: f"=={library.VERSION}"},
        simulated=library.simulated(where, edition, layer.function),
        scratch=layer.scratch,
        alignment=operators.ALIGNMENT if edition.vectors else ALIGNMENT,
        code=CODE,
    )
