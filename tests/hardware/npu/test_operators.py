"""Which operators Vela's streams compute exactly as LiteRT does, and which not: the functional model is the judge."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from mote.compiler.offload.ethos_u.inexact import difference
from mote.compiler.offload.ethos_u.vela import NotAcceptedError
from mote.frontends import load
from tests.hardware.npu.judged import judged
from tests.hardware.npu.operators import OPERATORS, operator

BOTH = ("int8", "int16")
EXACT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("CONV_2D", "CONV_2D dilated", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"), BOTH),
    "BATCH_MATMUL": ("int8",),
    **dict.fromkeys(("MAX_POOL_2D", "AVERAGE_POOL_2D", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "SOFTMAX"), BOTH),
    **dict.fromkeys(("ADD", "SUB", "MUL", "MINIMUM", "MAXIMUM"), BOTH),
    "SQUARED_DIFFERENCE": ("int8",),
    **dict.fromkeys(("RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH"), BOTH),
    **dict.fromkeys(("RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH", "PRELU", "GELU", "LOG", "ABS"), ("int8",)),
    **dict.fromkeys(("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"), BOTH),
    **dict.fromkeys(("PAD", "CONCATENATION", "TRANSPOSE", "SLICE", "QUANTIZE"), BOTH),
}
"""Types for which no output differs, without what `difference` leaves on the core. `LOG` is a table in LiteRT as well;
`AVERAGE_POOL_2D` with padding too."""
INEXACT: Mapping[tuple[str, str], str] = {
    ("FULLY_CONNECTED", "int8"): "the stream rounds twice, LiteRT once",
    ("FULLY_CONNECTED", "int16"): "the stream rounds twice, LiteRT once",
    ("ABS", "int16"): "Vela divides scales in double precision, LiteRT in single precision",
}
"""Why outputs differ by 1 now and then."""
CORES = ("ethos-u55-32", "ethos-u55-128", "ethos-u65-512", "ethos-u85-128", "ethos-u85-256", "ethos-u85-1024")
EACH = [pytest.param(name, dtype, id=f"{name}-{dtype}") for name, types in EXACT.items() for dtype in types]


def _check(data: bytes, core: str, seed: int) -> None:
    graph = load(data)
    if reason := "".join(difference(graph, op) for op in graph.ops):
        note(f"left on the core: {reason}")
        return
    try:
        model = judged(data, core)
    except NotAcceptedError as reason:
        note(f"Vela: {reason}")
        return
    assert model.differing(1, seed) == (0, 0)


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize(("name", "dtype"), EACH)
def test_operators_equal_litert(name: str, dtype: str) -> None:
    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(operator(name, dtype), st.sampled_from(CORES), st.integers(0, 1 << 30))
    def equal(data: bytes, core: str, seed: int) -> None:
        _check(data, core, seed)

    equal()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), EACH)
def test_operators_equal_litert_many_times(name: str, dtype: str) -> None:
    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(operator(name, dtype), st.sampled_from(CORES), st.integers(0, 1 << 30))
    def equal(data: bytes, core: str, seed: int) -> None:
        _check(data, core, seed)

    equal()


@pytest.mark.parametrize(("name", "dtype"), INEXACT)
def test_operators_that_differ_differ_by_one(name: str, dtype: str) -> None:
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(operator(name, dtype), st.sampled_from(CORES), st.integers(0, 1 << 30))
    def near(data: bytes, core: str, seed: int) -> None:
        assert judged(data, core).differing(1, seed)[1] <= 1

    near()


def test_every_operator_is_listed() -> None:
    assert OPERATORS.keys() == EXACT.keys() | {name for name, _ in INEXACT}
