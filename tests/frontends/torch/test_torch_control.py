"""`torch.cond` and `while_loop`: every tensor against PyTorch, on inputs that take both branches."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn

import mote
from mote.base.errors import MoteError, UnsupportedError
from mote.ir.ops.control.control_flow import If, While, nested
from tests.frontends.torch.torch_support import check, check_numpy, file_of, graph_of, random_inputs

while_loop = torch._higher_order_ops.while_loop
Tensors = tuple[torch.Tensor, ...]


class Branches(nn.Module):
    """Layers in branches, with weights of the module; one branch inside of another; results in other layouts."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 3, padding=1)
        self.head = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> Tensors:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.mean() > 0.2, lambda x: x * 2, lambda x: x + 3, (x,))

        def yes(x: torch.Tensor) -> Tensors:
            return self.first(x).relu(), x.amax((2, 3))

        def no(x: torch.Tensor) -> Tensors:
            return self.second(x), x.sum((2, 3))

        image, numbers = torch.cond(x.sum() > 0, yes, no, (x,))
        return self.head(inner(image).mean((2, 3))), image, numbers


def test_branches_equal_pytorch() -> None:
    data = file_of(Branches(), torch.zeros(1, 3, 6, 8))
    graph = check_numpy(data, 6)
    branches = [op for op in graph.ops if isinstance(op, If)]
    assert [len(body.ops) > 0 for op in branches for body in op.branches] == [True] * 4
    check(data, 3)


class Loops(nn.Module):
    """A count that is known, and a condition on values with a branch inside."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Tensors:
        def layer(count: torch.Tensor, x: torch.Tensor) -> Tensors:
            return count + 1, torch.tanh(self.layer(x)) + x

        def grow(x: torch.Tensor) -> Tensors:
            return (torch.cond(x.max() > 1.0, lambda x: x * 1.5, lambda x: x + 1.0, (x,)),)

        count, refined = while_loop(lambda count, x: count < 4, layer, (torch.tensor(0), x))
        return count, refined, while_loop(lambda x: x.sum() < 100, grow, (x.abs(),))[0]


def test_loops_equal_pytorch() -> None:
    data = file_of(Loops(), torch.zeros(1, 8))
    graph = check_numpy(data, 4)
    assert sum(isinstance(op, While) for op in graph.ops) == 2
    assert any(isinstance(op, If) for _, body in nested(graph) for op in body.ops)
    check(data, 3)


class Refused(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: torch.linalg.svdvals(x), lambda x: x.sum(0), (x,))


def test_what_is_inside_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"cond.*_linalg_svd.*Mote has no such operator"):
        mote.compile(Refused(), torch.zeros(4, 4))


class Counted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2), (0, x))[1]


def test_a_number_that_is_counted_is_refused() -> None:
    with pytest.raises(MoteError, match=r"does not save it.*list/tuple"):
        mote.compile(Counted(), torch.zeros(1, 4))


def test_the_branch_that_a_model_always_takes_is_all_of_it() -> None:
    class Fixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(torch.tensor(True), lambda x: x.sin(), lambda x: x.cos(), (x,))

    compiled = mote.compile(file_of(Fixed(), torch.zeros(1, 4)))
    assert [op.kind for op in compiled.plan.graph.ops] == ["SIN"]


def test_inputs_have_both_signs() -> None:
    """The branches above are both taken."""
    graph = graph_of(file_of(Branches(), torch.zeros(1, 3, 6, 8)))
    assert {bool(given["x"].sum() > 0) for given in random_inputs(graph, 6)} == {True, False}
