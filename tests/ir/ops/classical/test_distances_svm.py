"""Distances and support vectors: the NumPy reference against the formulas of libsvm, the generated C against it."""

from __future__ import annotations

import numpy as np
import pytest

from mote.ir.graph.tensor import Array
from mote.ir.ops.classical.distances_svm import Distances, KernelFunction, Metric, SupportVectors
from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import emulated
from tests.ir.ops.alone import Case, alone, check_alone

RNG = np.random.default_rng(5)


def normal(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def machine(function: KernelFunction, counts: tuple[int, ...], rows: int = 1, depth: int = 5, degree: int = 3) -> Case:
    """A machine with random vectors of some classes."""
    count, classes = sum(counts), len(counts)
    x = normal(rows, depth)
    constants = [normal(count, depth), normal(count, classes - 1), normal(classes * (classes - 1) // 2)]
    how = {"function": function, "gamma": 0.3, "offset": 0.7, "degree": degree, "counts": counts}
    return Case(alone(SupportVectors, [x, *constants], constant=3, **how), [x], 2e-5, 2e-5)


def cases() -> list[Case]:
    found = [machine(f, counts, rows) for f in KernelFunction for counts, rows in (((4, 0), 1), ((3, 2, 0, 5), 3))]
    for metric in Metric:
        for weighted in (False, True):
            x, vectors, weights = normal(3, 6), normal(7, 6), np.abs(normal(7, 6))
            constants = [vectors, weights] if weighted else [vectors]
            graph = alone(Distances, [x, *constants], constant=len(constants), metric=metric)
            found.append(Case(graph, [x], 1e-6, 1e-6))
    return found


def test_decisions_between_two_classes() -> None:
    """Every pair of classes by itself, as libsvm adds it up."""
    case = machine(KernelFunction.RADIAL, (3, 2, 4))
    (x, vectors, coefficients, intercepts) = (case.inputs[0], *(case.graph.tensors[i].data for i in (1, 2, 3)))
    starts = [0, 3, 5, 9]
    kernel = np.exp(-0.3 * ((x - vectors) ** 2).sum(axis=1))
    pairs = [(0, 1), (0, 2), (1, 2)]
    for number, (i, j) in enumerate(pairs):
        own, other = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        want = kernel[own] @ coefficients[own, j - 1] + kernel[other] @ coefficients[other, i] + intercepts[number]
        np.testing.assert_allclose(case.expected()[0, number], want, rtol=1e-5)


def test_c() -> None:
    check_alone(cases())


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
def test_on_a_core(core: str) -> None:
    check_alone(cases(), Program(emulated(core)))


def test_what_does_not_fit_is_refused() -> None:
    case = machine(KernelFunction.RADIAL, (2, 2))
    op = case.op
    assert isinstance(op, SupportVectors)
    assert "do not fit 4 vectors" in str(op.with_(counts=(2, 1)).unsupported(case.graph))
    assert "power" in str(op.with_(degree=-1).unsupported(case.graph))
    distances = cases()[-1].graph
    assert "computed at run time" in str(distances.ops[0].with_(inputs=(0, 1, 0)).unsupported(distances))
