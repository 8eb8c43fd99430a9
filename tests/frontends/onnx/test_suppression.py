"""NonMaxSuppression: the rows are ONNX Runtime's, with rows of -1 behind them."""

from __future__ import annotations

import numpy as np
import pytest

from mote import frontends
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.reference import as_in_file, numpy
from mote.compiler.line import compile
from mote.frontends import source_of
from tests.helpers.onnx_models import Net


def suppressed(
    shape: tuple[int, int, int], most: int, share: float, least: float | None, *, center: int = 0, twice: bool = False
) -> bytes:
    """Boxes and scores of [batch entries, classes, boxes]; scores of few values are often equal."""
    net, (entries, classes, count) = Net(opset=11), shape
    boxes, scores = net.input(entries, count, 4), net.input(entries, classes, count)
    if twice:
        scores = net.op("Clip", scores, net.const(np.float32(-0.5)), net.const(np.float32(0.5)))
    given = [net.const(np.array([most])), net.const(np.array([share], np.float32))]
    given += [net.const(np.array([least], np.float32))] if least is not None else []
    chosen = net.op("NonMaxSuppression", boxes, scores, *given, center_point_box=center)
    net.output(chosen, "int64")
    if twice:
        net.output(net.op("Gather", chosen, net.const(np.array([2])), axis=1), "int64")
    return net.model()


@pytest.mark.parametrize("seed", range(12))
def test_rows_are_those_of_onnx_runtime(seed: int) -> None:
    """Boxes on a grid, with corners in any order: overlaps are often equal to a threshold, and areas zero."""
    onnxruntime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(seed)
    entries, classes, count = (int(rng.integers(1, most)) for most in (3, 4, 40))
    share, least = float(rng.choice([0, 0.25, 0.5, 1])), (None, 0.25)[seed % 2]
    model = suppressed((entries, classes, count), int(rng.integers(1, 50)), share, least, center=seed // 2 % 2)
    boxes = (rng.integers(0, 9, (entries, count, 4)) / 4).astype(np.float32)
    scores = (rng.integers(0, 9, (entries, classes, count)) / 8).astype(np.float32)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    (want,) = session.run(None, dict(zip(names, (boxes, scores), strict=True)))
    graph = frontends.read(source_of(model)).graph()
    values = as_in_file(numpy(graph), graph)(dict(zip(graph.inputs, (boxes, scores), strict=True)))
    assert values is not None
    rows = np.asarray(values[graph.outputs[0]])
    assert np.array_equal(rows[: len(want)], want) and np.all(rows[len(want) :] == -1)


@pytest.mark.parametrize("center", (0, 1))
def test_in_c(center: int) -> None:
    """Generated C, with a consumer of the rows, against ONNX Runtime with padding."""
    compiled = compile(
        suppressed((2, 3, 20), 6, 0.3, 0.1 if center else None, center=center, twice=True), target="host"
    )
    assert any("has 36 rows: those behind its results are -1" in warning for warning in compiled.warnings)
    result = verify(compiled, 5)
    assert "ONNX Runtime" in result.reference and result.passed, result.mismatches


def test_others_are_refused() -> None:
    net = Net(opset=11)
    boxes, scores, most = net.input(1, 5, 4), net.input(1, 1, 5), net.const(np.array([3]))
    net.output(net.op("Cast", net.op("NonMaxSuppression", boxes, scores, most), to=1))
    with pytest.raises(MoteError, match="the number of its results would be lost"):
        compile(net.model())
    for most_boxes, share, reason in ((0, 0.5, "selects no boxes"), (3, 1.5, "thresholds of 1.5")):
        with pytest.raises(MoteError, match=f"NonMaxSuppression .*: {reason}"):
            compile(suppressed((1, 1, 5), most_boxes, share, None))
    with pytest.raises(MoteError, match="more than 256 classes are not supported"):
        compile(suppressed((1, 300, 5), 3, 0.5, None))
