"""TFLite_Detection_PostProcess and NON_MAX_SUPPRESSION against LiteRT, with many equal scores among others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from tests.helpers.flex import options
from tests.helpers.support import check, check_numpy, exact_on, examples, needs_litert

QUANT = {"uint8": (128, 100), "int8": (0, -28), "float32": (0, 0), "int16": (0, 0)}
"""Zero points of boxes and of scores."""


@dataclass(frozen=True)
class Config:
    dtype: str = "float32"
    boxes: int = 12
    classes: int = 4
    background: int = 1
    detections: int = 5
    each: int = 1
    regular: bool = False
    per_class: int = 100
    threshold: float = 0.1
    overlap: float = 0.5
    coordinates: int = 4
    seed: int = 0
    sized: bool = True
    """Whether the file says how large the outputs are."""


@st.composite
def configs(draw: st.DrawFn) -> Config:
    classes = draw(st.integers(1, 6))
    return Config(
        dtype=draw(st.sampled_from(["float32", "uint8"])),
        boxes=draw(st.integers(1, 40)),
        classes=classes,
        background=draw(st.integers(0, 1)),
        detections=draw(st.integers(1, 20)),
        each=draw(st.integers(1, classes + 1)),
        regular=draw(st.booleans()),
        per_class=draw(st.sampled_from([1, 3, 100])),
        threshold=draw(st.sampled_from([-1.0, 0.0, 0.1, 0.4])),
        overlap=draw(st.sampled_from([0.1, 0.5, 1.0])),
        coordinates=draw(st.sampled_from([4, 4, 6])),
        seed=draw(st.integers(0, 1000)),
        sized=draw(st.booleans()),
    )


def add_layer(w: Writer, i: int, c: Config, boxes: int | None = None, **changes: object) -> None:
    """`boxes`: a tensor that has them, if they are no input."""
    rng = np.random.default_rng(c.seed)
    quantized = c.dtype != "float32"

    def quant(scale: float, zero: int) -> dict[str, object]:
        return {"scale": scale, "zero_point": zero} if quantized else {}

    zeros = QUANT[c.dtype]
    if boxes is None:
        boxes = w.input(f"boxes{i}", (1, c.boxes, c.coordinates), c.dtype, **quant(0.02, zeros[0]))
    scores = w.input(f"scores{i}", (1, c.boxes, c.classes + c.background), c.dtype, **quant(0.004, zeros[1]))
    anchors = rng.uniform(0, 0.8, (c.boxes, 4)).astype(np.float32)
    if quantized:
        anchors = (anchors * 125).astype(c.dtype)
    a = w.const(f"anchors{i}", anchors, **quant(0.008, 0))
    places = c.detections * c.each
    shapes = [(1, places, 4), (1, places), (1, places), (1,)] if c.sized else [()] * 4
    outputs = [w.tensor(f"out{i}_{k}", shape, "float32") for k, shape in enumerate(shapes)]
    given = {
        "max_detections": c.detections,
        "max_classes_per_detection": c.each,
        "detections_per_class": c.per_class,
        "num_classes": c.classes,
        "use_regular_nms": c.regular,
        "nms_score_threshold": c.threshold,
        "nms_iou_threshold": c.overlap,
        "y_scale": 10.0,
        "x_scale": 10.0,
        "h_scale": 5.0,
        "w_scale": 5.0,
    } | changes
    code = options(**{name: value for name, value in given.items() if value is not None})
    w.op("CUSTOM", [boxes, scores, a], outputs, custom_code="TFLite_Detection_PostProcess", custom_options=code)
    w.output(*outputs)


def model(*configs: Config, **changes: object) -> bytes:
    w = Writer("detection")
    for i, c in enumerate(configs):
        add_layer(w, i, c, **changes)
    return w.finish()


@needs_litert
@settings(max_examples=examples(36), deadline=None)
@given(configs())
def test_numpy(c: Config) -> None:
    data = model(c)
    check_numpy(tflite.parse(data, "model"), data, 6, c.seed)


MANY = [
    Config(kind, boxes, classes, seed % 2, 6, each, regular, per_class, threshold, seed=seed)
    for seed, (kind, boxes, classes, each, regular, per_class, threshold) in enumerate(
        [
            ("float32", 12, 4, 1, False, 100, 0.1),
            ("float32", 30, 5, 3, False, 100, -1.0),
            ("float32", 2, 3, 5, False, 100, 0.0),
            ("float32", 20, 4, 1, True, 100, 0.0),
            ("float32", 20, 4, 2, True, 2, -1.0),
            ("uint8", 16, 4, 1, False, 100, 0.1),
            ("uint8", 25, 6, 4, False, 100, 0.0),
            ("uint8", 25, 3, 1, True, 4, 0.1),
            ("uint8", 9, 1, 1, True, 100, 0.3),
            ("uint8", 4, 2, 2, True, 100, 0.1),
        ]
    )
]


SUPPRESSIONS: list[tuple[int, int, float, float, float | None]] = [
    (12, 5, 0.5, 0.0, None),
    (30, 9, 0.1, -2.0, None),
    (30, 9, 0.4, -1.0, 0.3),
    (8, 12, 0.0, -0.5, 0.0),
    (1, 1, 1.0, -2.0, 1.0),
]


def together(count: int = 99) -> bytes:
    """All of them in one model, and boxes behind a layer, which is computed in int8 although the file has uint8."""
    w = Writer("boxes")
    for i, c in enumerate(MANY[:count]):
        add_layer(w, i, c)
    c = Config("uint8", 9, 3, each=2, sized=False)
    x = w.input("x", (1, c.boxes, c.coordinates), "uint8", 0.02, 128)
    boxes = w.tensor("sums", (1, c.boxes, c.coordinates), "uint8", 0.04, 128)
    w.op("ADD", [x, x], [boxes])
    add_layer(w, len(MANY), c, boxes)
    for seed, case in enumerate(SUPPRESSIONS):
        suppression(*case, seed, w)
    return w.finish()


@pytest.mark.slow
@needs_litert
def test_c() -> None:
    check(together(), 6)


@pytest.mark.slow
@needs_litert
def test_on_a_core() -> None:
    exact_on("cortex-m4", together(4))


def test_int8_is_uint8_shifted() -> None:
    """What the front end may make of a uint8 model: codes and zero points are 128 less."""
    c = Config("uint8", 25, 6, each=3, threshold=0.0)
    w = Writer("bytes")
    add_layer(w, 0, c)
    unsigned = tflite.parse(w.finish(), "model")
    rng = np.random.default_rng(1)
    case = {t: rng.integers(0, 256, unsigned.tensors[t].shape).astype(np.uint8) for t in unsigned.inputs}
    want = unsigned.evaluate(case)
    got = _shifted(unsigned).evaluate({t: (v.astype(np.int16) - 128).astype(np.int8) for t, v in case.items()})
    assert all(np.array_equal(want[t], got[t]) for t in unsigned.outputs)


def _shifted(g: Graph) -> Graph:
    def less(data: Array | None) -> Array | None:
        return None if data is None else (data.astype(np.int16) - 128).astype(np.int8)

    tensors = {
        i: replace(t, dtype=DType.INT8, quant=replace(t.quant, zero_point=t.quant.zero_point - 128), data=less(t.data))
        if t.dtype == DType.UINT8 and t.quant is not None
        else t
        for i, t in g.tensors.items()
    }
    return replace(g, tensors=tensors)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_detections": 0},
        {"max_detections": -1},
        {"max_detections": 1 << 30},
        {"max_detections": None},
        {"max_detections": "many"},
        {"max_classes_per_detection": 0},
        {"num_classes": 0},
        {"num_classes": 3},
        {"num_classes": 9},
        {"y_scale": 0.0},
        {"h_scale": float("nan")},
        {"nms_iou_threshold": 0.0},
        {"nms_iou_threshold": 1.5},
        {"nms_score_threshold": float("inf")},
    ],
)
def test_options_that_mean_nothing(changes: dict[str, object]) -> None:
    with pytest.raises((UnsupportedError, MalformedError)):
        tflite.parse(model(Config(), **changes), "model")


def test_outputs_of_another_size() -> None:
    """A shape that the file leaves open follows from the options; one that it states is the right one."""
    with pytest.raises(UnsupportedError, match=r"output 0 is .* which should be float32"):
        tflite.parse(model(Config(), max_detections=6), "model")
    open_ = tflite.parse(model(Config(sized=False), max_detections=6), "model")
    assert [open_.tensors[t].shape for t in open_.outputs] == [(1, 6, 4), (1, 6), (1, 6), (1,)]


def test_types_that_do_not_go_together() -> None:
    with pytest.raises(UnsupportedError, match="int16 boxes are not supported"):
        tflite.parse(model(Config("int16")), "model")


def suppression(
    boxes: int, most: int, overlap: float, least: float, sigma: float | None, seed: int, w: Writer | None = None
) -> bytes:
    w = w or Writer("suppression")
    x, s = w.input(f"boxes{seed}", (boxes, 4), "float32"), w.input(f"scores{seed}", (boxes,), "float32")
    numbers = [w.const("most", np.int32(most)), w.const("overlap", np.float32(overlap))]
    numbers += [w.const("least", np.float32(least))]
    outputs = [w.tensor(f"indices{seed}", (most,), "int32")]
    if sigma is not None:
        numbers.append(w.const("sigma", np.float32(sigma)))
        outputs.append(w.tensor(f"shown{seed}", (most,), "float32"))
    outputs.append(w.tensor(f"count{seed}", (), "int32"))
    kind = "NON_MAX_SUPPRESSION_V4" if sigma is None else "NON_MAX_SUPPRESSION_V5"
    w.op(kind, [x, s, *numbers], outputs)
    w.output(*outputs)
    return w.finish()


@needs_litert
@settings(max_examples=examples(36), deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 20),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from([-2.0, -0.5, 0.0, 0.4]),
    st.sampled_from([None, 0.0, 0.2, 1.0]),
    st.integers(0, 1000),
)
def test_suppression(boxes: int, most: int, overlap: float, least: float, sigma: float | None, seed: int) -> None:
    data = suppression(boxes, most, overlap, least, sigma, seed)
    check_numpy(tflite.parse(data, "model"), data, 6, seed)


def test_suppression_that_is_not_supported() -> None:
    w = Writer("suppression")
    x, s = w.input("boxes", (4, 4), "float32"), w.input("scores", (4,), "float32")
    most = w.input("most", (), "int32")
    numbers = [w.const("overlap", np.float32(0.5)), w.const("least", np.float32(0))]
    outputs = [w.tensor("indices", (2,), "int32"), w.tensor("count", (), "int32")]
    w.op("NON_MAX_SUPPRESSION_V4", [x, s, most, *numbers], outputs)
    w.output(*outputs)
    with pytest.raises(UnsupportedError, match="must be a constant"):
        tflite.parse(w.finish(), "model")
    with pytest.raises(UnsupportedError, match="sigma below zero"):
        tflite.parse(suppression(4, 2, 0.5, 0.0, -1.0, 0), "model")
