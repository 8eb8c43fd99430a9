"""CONCATENATION, STRIDED_SLICE and ASSIGN_VARIABLE of a stream's state become one WINDOW."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.passes.streaming import slide_windows
from mote.frontends import tflite
from mote.ir.graph.types import StateRole
from tests.compiler.passes.before_after import over_time
from tests.helpers.streams import sliding


def test_a_window_over_a_stream() -> None:
    before = tflite.parse(sliding(0, new=1, kept=2, channels=3), "before")
    assert [op.kind for op in before.ops] == ["CONCATENATION", "SLICE", "DEPTHWISE_CONV_2D", "ASSIGN_VARIABLE"]
    before = replace(before, states=tuple(replace(s, role=StateRole.LEARNED) for s in before.states))
    after = slide_windows.run(before)
    assert [s.role for s in after.states] == [StateRole.LEARNED]
    assert [op.kind for op in after.ops] == ["WINDOW", "DEPTHWISE_CONV_2D"]
    assert "%3: int8[1x3x1x3] = WINDOW(%12, %0) {axis=1}" in after.text()
    for want, got in zip(over_time(before, 5), over_time(after, 5), strict=True):
        assert np.array_equal(want, got)
