"""Steps behind a model: what they mean in real numbers, and that C computes the integers of the NumPy reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.metrics.events import detections
from mote.frontends.features.postprocess import steps
from mote.frontends.features.postprocess.answer import Answer
from mote.frontends.features.postprocess.pipeline import with_postprocessing
from mote.ir.graph import Graph, State
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.features.scores import ACTIVE, CLASS, EVENT, SCORE, ScoreUnit, threshold_code
from tests.frontends.features.postprocess.scored import answered, in_c, streamed, tensor, values
from tests.helpers.built import side_by_side
from tests.helpers.support import emulated

KINDS = ((DType.INT8, 1 / 256, -128), (DType.UINT8, 1 / 255, 3), (DType.INT16, 1 / 32768, 0), (DType.FLOAT32, 1, 0))
CODES = st.lists(st.integers(-128, 127), min_size=1, max_size=40)
PERIOD = 0.25


def scores(classes: int = 3, period: float | None = None, **more: Any) -> Answer:
    return answered(tensor(0, (1, classes), DType.INT8, 1 / 256, -128), period=period, **more)


def said(answer: Answer, codes: Sequence[int], place: int = 1) -> Array:
    """What is said of the scores of one class, while all others are 0."""
    t = answer.graph.tensors[answer.graph.inputs[0]]
    cases = []
    for code in codes:
        x = np.full(t.shape, t.zero_point, t.dtype.numpy)
        x[0, place] = code
        cases.append({t.id: x})
    return np.array([row[0] for row in streamed(answer.graph, cases)])


@given(
    st.sampled_from([DType.INT8, DType.UINT8]),
    st.floats(0.0001, 10).map(lambda x: float(np.float32(x))),
    st.integers(-128, 127),
    st.integers(-200, 200),
    st.floats(-1, 1),
)
@settings(max_examples=60, deadline=None)
def test_a_code_is_above_where_its_real_value_is(
    dtype: DType, scale: float, zero: int, step: int, between: float
) -> None:
    unit = ScoreUnit(Fraction(scale), zero)
    codes = range(dtype.limits[0], dtype.limits[1] + 1)
    for real in (scale * step, scale * (step + between)):
        above = [unit.scale * (code - zero) > Fraction(real) for code in codes]
        if all(above) or not any(above):
            with pytest.raises(MoteError, match="score exceeds"):
                threshold_code(real, unit, dtype)
        else:
            assert above == [code > threshold_code(real, unit, dtype) for code in codes]


@given(st.floats(-2, 2))
def test_floats_are_above_where_they_are(real: float) -> None:
    code = threshold_code(real, None, DType.FLOAT32)
    near = np.float32(real)
    for x in (near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))):
        assert (x > np.float32(code)) == (float(x) > real)


@given(CODES, st.integers(2, 9))
@settings(max_examples=30, deadline=None)
def test_moving_averages_are_exact(codes: list[int], count: int) -> None:
    answer = steps.moving_average(scores(), count)
    assert answer.unit is not None
    padded = [-128] * (count - 1) + codes
    for i, sums in enumerate(said(answer, codes)):
        mean = Fraction(sum(padded[i : i + count]) + 128 * count, 256 * count)
        assert answer.unit.scale * (int(sums[0, 1]) - answer.unit.zero) == mean


@given(CODES, st.floats(0.01, 1), st.booleans())
@settings(max_examples=30, deadline=None)
def test_exponential_averages_are_near_to_real_ones(codes: list[int], alpha: float, wide: bool) -> None:
    kind = (DType.INT16, 1 / 32768, 5) if wide else (DType.INT8, 1 / 256, -128)
    x = tensor(0, (1, 2), *kind)
    answer = steps.exponential_average(answered(x), alpha)
    assert answer.unit is not None
    share, real = round(alpha * 2**15) / 2**15, 0.0
    for code, average in zip(codes, said(answer, codes), strict=True):
        real += share * (x.scale * (code - x.zero_point) - real)
        assert abs(float(answer.unit.scale) * int(average[0, 1]) - real) <= float(answer.unit.scale) / share


def events(
    codes: Sequence[int], above: int, low: int, hold: int, refractory: int, least: int, within: int
) -> list[int]:
    """The beginnings of events by their definition: looking back over all scores at every moment."""
    begins: list[int] = []
    ended, active = 0, False
    for i, code in enumerate(codes):
        if active:
            under = [k for k in range(begins[-1], i + 1) if codes[k] <= low]
            if len(under) > hold and under[-hold - 1 :] == list(range(i - hold, i + 1)):
                ended, active = i + 1, False
            continue
        recent = codes[max(ended, i + 1 - within) : i + 1]
        rested = not begins or i - begins[-1] > refractory
        if code > above and rested and sum(c > above for c in recent) >= least:
            begins.append(i)
            active = True
    return begins


@given(
    st.lists(st.sampled_from([-128, 0, 10, 20]), min_size=1, max_size=60),
    st.booleans(),
    st.integers(0, 3),
    st.integers(0, 5),
    st.integers(1, 3),
    st.integers(0, 2),
)
@settings(max_examples=150, deadline=None)
def test_events(codes: list[int], hysteresis: bool, hold: int, refractory: int, least: int, more: int) -> None:
    low = 5 if hysteresis else 15
    answer = steps.detect(
        scores(), "1", (15 + 128) / 256, (low + 128) / 256, str(hold), str(refractory), least, least + more
    )
    made = said(answer, codes)
    assert np.flatnonzero(made[:, EVENT]).tolist() == events(codes, 15, low, hold, refractory, least, least + more)
    assert (made[:, SCORE] == codes).all()
    assert ((made[:, CLASS] == 1) == made[:, ACTIVE]).all() and set(made[:, CLASS]) <= {1, -1}


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_events_begin_as_those_of_evaluate(above: list[bool], hold: int) -> None:
    """Scores that fall below the threshold for no longer than what `mote evaluate` joins are held."""
    codes = [100 if x else -100 for x in above]
    times, real = PERIOD * np.arange(len(codes)), (np.array(codes) + 128) / 256
    begins = detections(times, real, 0.5, joined=(hold + 1) * PERIOD)[:, 0]
    answer = steps.detect(scores(period=PERIOD), "1", 0.5, hold=f"{1000 * hold * PERIOD:g}ms")
    np.testing.assert_array_equal(times[said(answer, codes)[:, EVENT] == 1], begins)


@given(st.lists(st.lists(st.integers(-128, 127), min_size=3, max_size=3), min_size=1, max_size=30), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_best_class(codes: list[list[int]], refractory: int) -> None:
    answer = steps.argmax(scores(labels=("noise", "yes", "no")), 0.5, f"{refractory}", "noise")
    cases = [{0: np.array([row], np.int8)} for row in codes]
    last = -refractory - 1
    for i, (row, (made,)) in enumerate(zip(codes, streamed(answer.graph, cases), strict=True)):
        best = int(np.argmax(row))
        wanted = best if best and row[best] > 0 and i - last > refractory else -1
        last = i if wanted >= 0 else last
        assert made.tolist() == [wanted, row[best]]


@given(st.integers(0, 1 << 16), st.sampled_from(KINDS[:3]), st.sampled_from(KINDS[:3]), st.integers(1, 700))
@settings(max_examples=40, deadline=None)
def test_anomaly_scores_are_mean_squared_differences(seed: int, kinds: Any, other: Any, size: int) -> None:
    rng = np.random.default_rng(seed)
    y = tensor(0, (1, size), kinds[0], 0.02 * kinds[1], kinds[2])
    x = tensor(1, (1, size), other[0], 0.03 * other[1], 9)
    answer = steps.anomaly_score(answered(y, x))
    case = {t.id: values(t, rng) for t in (y, x)}
    ((made,),) = streamed(answer.graph, [case])
    real = [t.scale * (case[t.id].astype(np.float64) - t.zero_point) for t in (y, x)]
    wanted = np.square(real[0] - real[1]).mean()
    assert answer.unit is not None
    assert abs(float(answer.unit.scale) * int(made[0]) - wanted) <= 1e-5 * wanted + float(answer.unit.scale)


def test_anomaly_scores_of_one_scale_are_exact() -> None:
    y, x = (tensor(i, (1, 64), DType.INT8, 0.1, -3) for i in range(2))
    answer = steps.anomaly_score(answered(y, x))
    assert answer.unit is not None
    for apart in (0, 1, 2, 200):
        case = {0: np.full((1, 64), apart - 100, np.int8), 1: np.full((1, 64), -100, np.int8)}
        ((made,),) = streamed(answer.graph, [case])
        exact = (Fraction(y.scale) * apart) ** 2
        assert abs(answer.unit.scale * int(made[0]) - exact) <= answer.unit.scale / 2


def overlapping(a: Sequence[int], b: Sequence[int]) -> Fraction:
    """The intersection of two boxes as a share of what both cover."""
    sides = [min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in range(2)]
    common = max(sides[0], 0) * max(sides[1], 0)
    both = sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)) - common
    return Fraction(common, both) if common else Fraction(0)


@given(st.integers(0, 1 << 16), st.sampled_from([0.0, 0.25, 0.5]), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_suppression(seed: int, share: float, centers: bool, joint: bool) -> None:
    rng = np.random.default_rng(seed)
    boxes, likely = rng.integers(-20, 20, (12, 4)), rng.integers(-128, 127, (12, 3))
    answer = answered(
        tensor(0, (1, 12, 4), DType.INT8, 0.1, -7), tensor(1, (1, 12, 3), DType.INT8, 1 / 256, -128), outputs=2
    )
    forms = "centers" if centers else "corners", "together" if joint else "apart"
    graph = steps.nms(answer, share, 0.5, 4, *forms).graph
    ((made,),) = streamed(graph, [{0: boxes[None].astype(np.int8), 1: likely[None].astype(np.int8)}])
    corners = []
    for a, b, c, d in (boxes + 7).tolist():
        sizes = (2 * a - abs(c), 2 * b - abs(d), 2 * a + abs(c), 2 * b + abs(d))
        corners.append(sizes if centers else (min(a, c), min(b, d), max(a, c), max(b, d)))
    kept: list[int] = []
    for i in sorted(range(12), key=lambda i: (-likely[i].max(), i)):
        rivals = [k for k in kept if joint or likely[k].argmax() == likely[i].argmax()]
        if likely[i].max() > 0 and all(overlapping(corners[k], corners[i]) <= share for k in rivals):
            kept.append(i)
    wanted = [[likely[i].argmax(), likely[i].max(), *boxes[i]] for i in kept[:4]]
    np.testing.assert_array_equal(made, wanted + [[-1, 0, 0, 0, 0, 0]] * (4 - len(wanted)))


def every_step() -> list[Graph]:
    """All steps on scores of all types."""
    made = []
    for dtype, scale, zero in KINDS:

        def x(n: int, *shape: int, dtype: DType = dtype, scale: float = scale, zero: int = zero) -> Any:
            return tensor(n, (1, *(shape or (5,))), dtype, scale, zero)

        pairs = x(0, 9, 4), x(1, 9, 3)
        made += [
            steps.moving_average(answered(x(0)), 3),
            steps.exponential_average(answered(x(0)), 0.3),
            steps.detect(steps.moving_average(answered(x(0)), 3), "2", 0.3, 0.2, "2", "3", 2, 4),
            steps.detect(steps.exponential_average(answered(x(0)), 0.5), "2", 0.3, 0.25),
            steps.detect(answered(x(0)), "1", 0.4, refractory="2"),
            steps.argmax(answered(x(0)), 0.4, "2", "0"),
            steps.argmax(steps.moving_average(answered(x(0)), 4), 0.2),
            steps.threshold(answered(x(0)), 0.4),
            steps.threshold(steps.anomaly_score(answered(x(0, 40), tensor(1, (1, 40), dtype, 0.7 * scale, zero))), 0.1),
            steps.nms(answered(*pairs, outputs=2), 0.3, 0.3, 6),
            steps.nms(answered(*pairs, outputs=2), 0.1, 0.3, 6, "centers", "together"),
        ]
    mixed = tensor(0, (1, 30), DType.INT8, 0.1, 3), tensor(1, (1, 30), DType.INT16, 0.0004, 0)
    return [answer.graph for answer in (*made, steps.anomaly_score(answered(*mixed)))]


def restored(graph: Graph, rng: np.random.Generator) -> Graph:
    """The graph with states that no inference left."""
    states = []
    for s in graph.states:
        x = s.initial
        odd = rng.integers(-(1 << 31), 1 << 31, x.shape) if x.dtype == np.int32 else rng.integers(0, 99, x.shape)
        states.append(State(s.before, s.after, odd.astype(x.dtype)))
    return replace(graph, states=tuple(states))


def agree(target: str) -> None:
    rng = np.random.default_rng(1)
    every = every_step()
    graph = side_by_side([*every, *(restored(g, rng) for g in every[: len(every) // len(KINDS)])]).graph()
    cases = [{t: values(graph.tensors[t], rng) for t in graph.inputs} for _ in range(25)]
    for wanted, made in zip(streamed(graph, cases), in_c(graph, cases, target), strict=True):
        for t, x, y in zip(graph.outputs, wanted, made, strict=True):
            np.testing.assert_array_equal(x, y, err_msg=str(graph.tensors[t]))


def test_c_computes_the_same() -> None:
    agree("host")


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", pytest.param("rv32imc", marks=pytest.mark.slow)])
def test_cores_compute_the_same(core: str) -> None:
    agree(emulated(core))


def test_steps_as_text() -> None:
    text = "moving-average=4, detect(yes,0.8,release=0.5,refractory=1s,minimum=2,within=3)"
    answer = with_postprocessing(scores(labels=("no", "yes", "up"), period=PERIOD), text)
    average, detect = answer.graph.ops
    assert average.attributes() == {"count": 4}
    limits = {"above": int(0.8 * 1024) - 512, "release": 0}
    wanted = {"place": 1, **limits, "hold": 0, "refractory": 4, "least": 2, "window": 3}
    assert detect.attributes() == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("detect(1)", "missing a required argument: 'threshold'"),
        ("detect(1,high)", "threshold is 'high', not a number"),
        ("smooth=3", "'smooth' is no step"),
        ("argmax(0.5", "cannot be read"),
    ],
)
def test_texts_that_are_no_steps(text: str, reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        with_postprocessing(scores(), text)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda: steps.detect(scores(), "1", 1.5), "no score exceeds 1.5: they are from 0 to 0.996094"),
        (lambda: steps.detect(scores(), "1", -0.5), "every score exceeds -0.5"),
        (lambda: steps.detect(scores(), "1", 0.5, 0.6), "release=0.6 is above the threshold 0.5"),
        (lambda: steps.detect(scores(), "3", 0.5), "there is no class '3'"),
        (lambda: steps.detect(scores(labels=("up", "down", "left")), "lift", 0.5), "did you mean: left"),
        (lambda: steps.detect(scores(), "1", 0.5, minimum=4, within=3), "minimum=4 within=3"),
        (lambda: steps.detect(scores(), "1", 0.5, hold="2h"), "hold=2h is no time"),
        (lambda: steps.detect(scores(), "1", 0.5, refractory="1.5"), "refractory=1.5 is no time"),
        (lambda: steps.detect(scores(), "1", 0.5, refractory="1s"), "nothing says how long"),
        (lambda: steps.moving_average(scores(), 1), "moving-average=1 cannot be"),
        (lambda: steps.moving_average(steps.moving_average(scores(), 2), 2), "average once"),
        (lambda: steps.exponential_average(scores(), 0), "exponential-average=0 cannot be"),
        (lambda: steps.threshold(steps.argmax(scores(), 0.5), 0.5), "argmax gives a decision"),
        (lambda: steps.nms(scores(), 0.5, 0.5, 3), "two outputs"),
        (lambda: steps.anomaly_score(answered(*(tensor(i, (i + 3,), DType.INT8) for i in (0, 1)))), "3 elements"),
        (lambda: answered(replace(tensor(0, (1, 3), DType.INT32), quant=None)), "has no quantization"),
    ],
)  # fmt: skip
def test_what_cannot_be(step: Callable[[], Answer], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        step()
