"""What the compiler says of a network that was never trained, against what it says of the really quantized one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest

from mote.compiler.line import planned
from mote.compiler.passes.normal_form import normal
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import chosen_settings
from mote.frontends import Format, Source, read
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph
from mote.optimize.compress.quantize.pipeline import Methods, finished, prepared
from mote.optimize.nas.graphs import float_graph, integer_graph, random_weights
from mote.optimize.nas.spaces.network import Network
from tests.optimize.nas.graphs.networks import gated, mobile, residual, separable, temporal, transformer

SMALL: Mapping[str, Callable[[], Network]] = {
    "separable": lambda: separable(8, 1, 21),
    "temporal": lambda: temporal(1),
}
LARGE: Mapping[str, Callable[[], Network]] = {
    "separable": separable,
    "residual": residual,
    "mobile": mobile,
    "swish": lambda: mobile(32, "hardswish", gate=True),
    "temporal": temporal,
    "gated": gated,
    "transformer": transformer,
}


@cache
def _trained(name: str, large: bool) -> Graph:
    """The network of other weights, quantized with random data, as its file is read."""
    network = (LARGE if large else SMALL)[name]()
    exact = normal(float_graph(network, random_weights(network, 1), name))
    samples = np.random.default_rng(0).standard_normal((16, 1, *network.input)).astype(np.float32)
    cases = [{exact.inputs[0]: sample} for sample in samples]
    whole = finished(prepared(exact, cases, Methods(rounding="nearest"))).integers.graph
    return read(Source(f"{name}.tflite", Format.TFLITE, export(whole, name).data)).graph()


def _costs(graph: Graph, target: str) -> tuple[int, int, float]:
    """RAM, bytes of constants and cycles."""
    settings = chosen_settings(None, {"target": target})
    plan = planned(graph, settings)
    constants = sum(steps[0].kernel.constants for _, steps in plan.works)
    return plan.ram, constants, estimate(settings.costs, plan)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", SMALL)
def test_costs_are_those_of_the_quantized_network(name: str) -> None:
    assert _costs(integer_graph(SMALL[name]()), "cortex-m4") == pytest.approx(
        _costs(_trained(name, False), "cortex-m4")
    )


@pytest.mark.slow
@pytest.mark.parametrize(("target", "most"), [("cortex-m4", 0.03), ("cortex-m0plus", 0.04), ("rv32imc", 0.09)])
@pytest.mark.parametrize("name", LARGE)
def test_costs_of_large_networks_are_about_those_of_the_quantized_ones(name: str, target: str, most: float) -> None:
    """Where kernels skip weights of zero, or have constants for most scales only, as those of ADD, costs depend on the
    weights and ranges themselves: RAM by 2%, constants by 7.5%, cycles by 4.7% at most, all of them of the transformer.
    """
    made, trained = _costs(integer_graph(LARGE[name]()), target), _costs(_trained(name, True), target)
    assert made == pytest.approx(trained, rel=most)
