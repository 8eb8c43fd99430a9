"""Networks defined in PyTorch, exported, compiled, and equal to what PyTorch computes."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

import mote
from tests.frontends.torch.torch_networks import NETWORKS
from tests.frontends.torch.torch_support import check, check_numpy, file_of
from tests.helpers.support import emulated

USUAL = ("mobilenet_v3",)
"""Networks that `make test` has; `make test-frontends` has all."""
ON_CORES = ("ds_cnn", "cnn_1d", "lstm", "gru", "encoder")
TURNED = {"yolo_head": 1}
"""Networks whose outputs have another order of axes than images have."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in USUAL else pytest.mark.frontends) for name in NETWORKS]
)
def test_generated_code_equals_pytorch(name: str) -> None:
    """Every tensor, in NumPy and in C; and nothing is turned about between layers."""
    module, inputs = NETWORKS[name]()
    data = file_of(module, *inputs)
    if inputs[0].is_floating_point():
        check_numpy(data, runs=2)
    graph = check(data, inputs=2, optimize="speed").plan.graph
    turned = [op for op in graph.ops if op.kind == "TRANSPOSE"]
    assert len(turned) <= TURNED.get(name, 0), turned


@pytest.mark.frontends
@pytest.mark.parametrize("name", ON_CORES)
def test_emulated_cores_equal_pytorch(name: str) -> None:
    module, inputs = NETWORKS[name]()
    result = mote.verify(mote.compile(file_of(module, *inputs), target=emulated("cortex-m4")), 2)
    assert result.passed, result.mismatches[:8]
    assert result.reference.startswith("PyTorch")


@pytest.mark.frontends
def test_edges_as_the_module_has_them() -> None:
    """The caller's images may have their channels first; then they are turned about once."""
    module, inputs = NETWORKS["mobilenet_v3"]()
    compiled = check(file_of(module, *inputs), edges="model")
    graph = compiled.plan.graph
    assert graph.tensors[graph.inputs[0]].shape == tuple(inputs[0].shape)
