"""Sequences lose the axis of one in front, so that their rows are tokens."""

from __future__ import annotations

from mote.compiler.passes.rewriting import flatten_sequences
from tests.compiler.passes.before_after import becomes, graph
from tests.helpers.network import Net


def test_attention_goes_token_by_token() -> None:
    net = Net(dtype="float32")
    x, y = net.input(1, 4, 8), net.input(1, 8, 4)
    scores = net.op("BATCH_MATMUL", [net.op("TANH", [x]), y], (1, 4, 4))
    before = graph(net, net.op("SOFTMAX", [scores], beta=1.0))
    becomes(
        before,
        flatten_sequences.run(before),
        "%5: float32[4x8] = RESHAPE(%0) {shape=(4, 8)}",
        "%6: float32[4x8] = TANH(%5)",
        "%7: float32[8x4] = RESHAPE(%1) {shape=(8, 4)}",
        "%8: float32[4x4] = BATCH_MATMUL(%6, %7) {right_turned=False, rounding=twice, left_turned=False}",
        "%9: float32[4x4] = SOFTMAX(%8) {beta=1.0}",
        "%4: float32[1x4x4] = RESHAPE(%9) {shape=(1, 4, 4)}",
    )


def test_models_without_attention_stay() -> None:
    net = Net(dtype="float32")
    before = graph(net, net.op("SOFTMAX", [net.op("TANH", [net.input(1, 4, 8)])], beta=1.0))
    assert flatten_sequences.run(before) is before
