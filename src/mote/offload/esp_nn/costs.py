"""Cycles of ESP-NN's functions."""

from __future__ import annotations

from mote.offload.esp_nn.layer import EspLayer
from mote.offload.esp_nn.library import Edition

Rates = dict[str, float]
"""Cycles by what is done so often: a tap of a window, an output, a call."""

GENERIC: dict[str, Rates] = {
    "conv": {"taps": 6.0, "outputs": 50.0, "calls": 100.0},
    "depthwise_conv": {"taps": 9.0, "outputs": 50.0, "calls": 100.0},
    "fully_connected": {"taps": 7.0, "outputs": 50.0, "calls": 60.0},
    "avg_pool": {"taps": 12.0, "outputs": 60.0, "calls": 60.0},
    "max_pool": {"taps": 10.0, "outputs": 20.0, "calls": 60.0},
    "softmax": {"taps": 0.0, "outputs": 500.0, "calls": 60.0},
    "add": {"taps": 0.0, "outputs": 90.0, "calls": 60.0},
    "mul": {"taps": 0.0, "outputs": 50.0, "calls": 60.0},
    "hard_swish": {"taps": 0.0, "outputs": 50.0, "calls": 60.0},
    "logistic": {"taps": 0.0, "outputs": 6.0, "calls": 20.0},
    "mean": {"taps": 8.0, "outputs": 50.0, "calls": 60.0},
}
RATES = {Edition.GENERIC: GENERIC, Edition.S3: GENERIC, Edition.P4: GENERIC}


def cycles(layer: EspLayer, edition: Edition) -> float:
    """About the cycles that a layer takes."""
    rates = RATES[edition][layer.function]
    return sum(rates[what] * times for what, times in {**layer.work, "calls": len(layer.calls)}.items())
