"""The gradient of every operator, for all its inputs at once, against PyTorch's autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.gradients import RULES
from mote.compiler.passes.training.optimizers import Sgd
from mote.compiler.passes.training.tape import Tape
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import Activation
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import HardSwish, LeakyRelu, Logistic, Relu, Relu0To1, Relu6, ReluN1To1, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.unary_math import Neg
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.reductions.layer_norm import RootMeanSquare, Standardize
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import Sum
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from tests.compiler.passes.training.in_torch import Trained, empty, finished, random, steps_of, torch
from tests.helpers.support import examples

BOUND = 2e-5
"""How far a gradient may be from PyTorch's, as a share of its largest element (of 0.01 where that is less)."""
RATE = 1.0
Shape = tuple[int, ...]
WINDOW = {"vertical": Axis(3, 2, 1, 1, 1), "horizontal": Axis(2, 1, 2)}
IMAGES = (2, 6, 5, 3)

CASES: list[tuple[type[Op], list[Shape], dict[str, Any]]] = [
    (Conv2D, [IMAGES, (4, 3, 2, 3), (4,)], {**WINDOW, "activation": Activation.RELU}),
    (Conv2D, [IMAGES, (4, 3, 2, 3)], WINDOW),
    (DepthwiseConv2D, [IMAGES, (1, 3, 2, 6), (6,)], {**WINDOW, "multiplier": 2, "activation": Activation.RELU6}),
    (FullyConnected, [(3, 5), (4, 5), (4,)], {"activation": Activation.RELU}),
    (FullyConnected, [(2, 3, 5), (4, 5), (4,)], {"keep_dims": True}),
    (FullyConnected, [(2, 2, 2, 3), (4, 12)], {}),
    (BatchMatmul, [(2, 3, 4), (2, 4, 5)], {}),
    (Add, [(2, 3), (2, 3)], {"activation": Activation.RELU6}),
    (Sub, [(2, 3), (3,)], {}),
    (Mul, [(2, 3), (2, 1)], {}),
    (Neg, [(2, 3)], {}),
    (AveragePool, [IMAGES], {"vertical": Axis(3, 2), "horizontal": Axis(2), "activation": Activation.RELU}),
    (MaxPool, [IMAGES], WINDOW),
    (Mean, [IMAGES], {"axes": (1, 2)}),
    (Mean, [IMAGES], {"axes": (0, 3), "keep_dims": True}),
    (Sum, [IMAGES], {"axes": (2,)}),
    (Relu, [(4, 5)], {}),
    (Relu6, [(4, 5)], {}),
    (Relu0To1, [(4, 5)], {}),
    (ReluN1To1, [(4, 5)], {}),
    (LeakyRelu, [(4, 5)], {"alpha": 0.3}),
    (HardSwish, [(4, 5)], {}),
    (Logistic, [(4, 5)], {}),
    (Tanh, [(4, 5)], {}),
    (Softmax, [(3, 5)], {"beta": 0.5}),
    (Standardize, [(2, 3, 5), (5,), (5,)], {"epsilon": 1e-3}),
    (Standardize, [(3, 5)], {"epsilon": 1e-3}),
    (RootMeanSquare, [(3, 5), (5,), (5,)], {"epsilon": 1e-3}),
    (Reshape, [(2, 6)], {"shape": (3, 4)}),
    (Transpose, [(2, 3, 4)], {"permutation": (2, 0, 1)}),
    (Pad, [(2, 3)], {"paddings": ((1, 0), (2, 1)), "value": 1.0}),
    (Concatenation, [(2, 3), (2, 1), (2, 2)], {"axis": 1}),
]


def test_every_rule_is_tried() -> None:
    assert {kind for kind, _, _ in CASES} == set(RULES)


@pytest.mark.parametrize(("kind", "shapes", "attributes"), CASES)
def test_gradient(kind: type[Op], shapes: list[Shape], attributes: dict[str, Any]) -> None:
    check(kind, shapes, attributes, 0)


def check(kind: type[Op], shapes: list[Shape], attributes: dict[str, Any], seed: int) -> None:
    """Every input learns, by one step of plain descent: what it has changed by is its gradient."""
    rng = np.random.default_rng(seed)
    t: Tape = empty()
    learned = [t.tensor(f"w{i}", shape, data=random(rng, *shape)) for i, shape in enumerate(shapes)]
    model = finished(t, t.add(kind, learned, "op", **attributes))
    judge(model, learned, random(rng, *model.tensors[model.outputs[0]].shape))


def judge(model: Graph, learned: list[int], target: Any) -> None:
    graph = training_graph(model, learned, "mean_squared_error", Sgd(learning_rate=RATE))
    (loss,), after = steps_of(graph, [({}, target)])
    judged = Trained(model, learned, "mean_squared_error", lambda weights: torch.optim.SGD(weights, lr=RATE))
    assert loss == pytest.approx(judged.step({}, target), rel=1e-5)
    for i in learned:
        initial = model.tensors[i].data
        assert initial is not None
        got, want = initial - after[i], judged.weights[i].grad.numpy()
        assert want.any() and got.shape == want.shape
        assert np.abs(got - want).max() <= BOUND * max(float(np.abs(want).max()), 0.01) + 2e-7 * np.abs(initial).max()


def shapes_of_both() -> Any:
    """Two shapes that NumPy broadcasts."""
    sizes = st.lists(st.integers(1, 3), min_size=1, max_size=4)
    kept = st.lists(st.booleans(), min_size=4, max_size=4)

    def cut(drawn: Any) -> tuple[Shape, Shape]:
        shape, first, second, axes = drawn
        one, other = (tuple(n if k else 1 for n, k in zip(shape, keep, strict=False)) for keep in (first, second))
        return one, other[min(axes, len(shape)) :]

    return st.tuples(sizes, kept, kept, st.integers(0, 3)).map(cut)


@settings(max_examples=examples(30, 10), deadline=None)
@given(st.sampled_from([Add, Sub, Mul]), shapes_of_both(), st.booleans(), st.integers(0, 1 << 16))
def test_broadcasting(kind: type[Op], shapes: tuple[Shape, Shape], swapped: bool, seed: int) -> None:
    check(kind, list(shapes[::-1] if swapped else shapes), {}, seed)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("batches", [((), ()), ((2,), (2,)), ((2, 1), (3,)), ((), (3,))])
def test_products_of_turned_matrices(left: bool, right: bool, batches: tuple[Shape, Shape]) -> None:
    shapes = [(*batches[0], *((4, 3) if left else (3, 4))), (*batches[1], *((5, 4) if right else (4, 5)))]
    check(BatchMatmul, shapes, {"left_turned": left, "right_turned": right}, 0)


def test_several_consumers() -> None:
    """Gradients of a tensor that is read again and again are added up, also where one operator reads it twice."""
    rng = np.random.default_rng(0)
    t = empty()
    w = t.tensor("w", (2, 3), data=random(rng, 2, 3))
    square = t.one(Mul, [w, w], "square")
    both = t.one(Add, [square, t.one(Tanh, [w], "tanh")], "both")
    output = t.one(Add, [both, t.one(Mul, [square, both], "product")], "output")
    judge(finished(t, [output]), [w], random(rng, 2, 3))
