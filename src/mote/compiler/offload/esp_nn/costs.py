"""Cycles of ESP-NN's functions, and the bytes of code that they link.

`costs.json` has, for each edition and kind of layer, the cycles per tap, per window pixel, per output, and per call.
Those of the generic edition were fitted on the cycle model of an ESP32-C3 (`benchmarks/esp_nn_costs.py`), and are
assumed for the ESP32 too, as for Mote's own kernels. Those of the ESP32-S3 and ESP32-P4 follow from measurements in
ESP-NN's README; functions without a measurement are assumed to cost as much as the generic ones. `code.json` is
measured by `benchmarks/library_code.py`.
"""

from __future__ import annotations

from mote.compiler.offload.esp_nn.layer import EspLayer, EspWork
from mote.compiler.offload.esp_nn.library import Edition
from mote.compiler.offload.library.tables import CODE, tables
from mote.hardware.targets import Reads

Rates = tuple[float, float, float, float]
"""Cycles per tap, per window pixel, per output, and per call."""
SCALING = 12
"""Bytes of bias, multiplier and shift per output channel."""


def cycles(layer: EspLayer, edition: Edition, reads: Reads) -> float:
    """Approximate cycles of a layer, including wait states of reading constants."""
    return computing(layer.work, edition) + waiting(layer, edition, reads)


def linked(layer: EspLayer, edition: Edition) -> dict[str, int]:
    """The functions that a layer's calls link, with their bytes of code."""
    known: dict[str, dict[str, dict[str, int]]] = tables(__package__, CODE)
    return {name: size for call in layer.calls for name, size in known[edition][call.function].items()}


def computing(work: EspWork, edition: Edition) -> float:
    """The cycles without wait states."""
    known: dict[str, dict[str, Rates]] = tables(__package__)
    tap, pixel, output, call = known[edition].get(work.kind) or known[Edition.GENERIC][work.kind]
    return tap * work.taps + pixel * work.pixels + output * work.outputs + call


def waiting(layer: EspLayer, edition: Edition, reads: Reads) -> float:
    """The wait states of reading constants: each is read once; weights are read for every product if the cache does not
    hold them, except by vector functions, which reuse or copy them."""
    held = sum(blob.data.nbytes for blob in layer.blobs)
    lines = reads.code_lines if reads.shared_lines else reads.data_lines
    again = layer.weighted and not edition.vectors and held > lines * reads.line_bytes
    return reads.stream(layer.work.taps + SCALING * layer.work.outputs if again else held) if reads.waits else 0.0
