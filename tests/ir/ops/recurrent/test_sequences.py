"""Recurrent layers of the builder against ONNX Runtime, PyTorch and Keras' order of weights, in NumPy and in C."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.frontends.build import Builder, Value, recurrent
from mote.frontends.build.recurrent import BLOCKS, RecurrentDirection
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.sequences import RecurrentOutput
from tests.helpers.built import Network, close

TIME, BATCH, INPUTS, UNITS = 5, 2, 3, 6
"""Units that are no multiple of four, so that lines of weights are left."""
CASES: dict[str, dict[str, Any]] = {
    "RNN": {},
    "RNN of everything": {
        "direction": "bidirectional",
        "clip": 0.5,
        "activations": ["Relu", "Softplus"],
        "states": True,
    },
    "GRU": {},
    "GRU backward": {"direction": "reverse"},
    "GRU after": {"linear_before_reset": 1, "direction": "bidirectional", "states": True},
    "GRU of lengths": {"lengths": [5, 2], "direction": "bidirectional"},
    "GRU of others": {
        "activations": ["HardSigmoid", "ScaledTanh"],
        "activation_alpha": [0.3, 0.9],
        "activation_beta": [0.4, 1.1],
    },
    "GRU of more": {"activations": ["Softsign", "Elu"], "linear_before_reset": 1, "activation_alpha": [0.7]},
    "LSTM": {},
    "LSTM of everything": {"direction": "bidirectional", "peepholes": True, "states": True, "lengths": [3, 5]},
    "LSTM clipped": {"clip": 0.4, "peepholes": True},
    "LSTM coupled": {"input_forget": 1},
    "LSTM of others": {
        "activations": ["Affine", "LeakyRelu", "ThresholdedRelu"],
        "activation_alpha": [0.2, 0.1, 0.1],
        "activation_beta": [0.3],
    },
}


def arrays(kind: str, options: dict[str, Any]) -> tuple[dict[str, Array], int]:
    """The operands as ONNX has them, by name, and the number of directions."""
    rng = np.random.default_rng(5)
    sides, lines = 2 if options.get("direction") == "bidirectional" else 1, BLOCKS[kind] * UNITS

    def real(*shape: int) -> Array:
        return rng.uniform(-0.7, 0.7, shape).astype(np.float32)

    found = {"X": real(TIME, BATCH, INPUTS), "W": real(sides, lines, INPUTS), "R": real(sides, lines, UNITS)}
    found["B"] = real(sides, 2 * lines)
    if "lengths" in options:
        found["sequence_lens"] = np.array(options["lengths"], np.int32)
    if options.get("states"):
        found["initial_h"] = real(sides, BATCH, UNITS)
        found |= {"initial_c": real(sides, BATCH, UNITS)} if kind == "LSTM" else {}
    if options.get("peepholes"):
        found["P"] = real(sides, 3 * UNITS)
    return found, sides


def wanted(kind: str, options: dict[str, Any], given: dict[str, Array]) -> list[Array]:
    """What ONNX Runtime makes of it."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    helper = onnx.helper
    order = ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"]
    order = order if kind == "LSTM" else order[:6]
    names = [name if name in given else "" for name in order]
    outputs = ["Y", "Y_h", "Y_c"][: 3 if kind == "LSTM" else 2]
    own = ("states", "peepholes", "lengths")
    attributes = {name: value for name, value in options.items() if name not in own}
    node = helper.make_node(kind, names, outputs, hidden_size=UNITS, **attributes)
    types = {
        name: onnx.TensorProto.INT32 if x.dtype == np.int32 else onnx.TensorProto.FLOAT for name, x in given.items()
    }
    graph = helper.make_graph(
        [node],
        "layer",
        [helper.make_tensor_value_info(name, types[name], x.shape) for name, x in given.items()],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, given))


def gates(kind: str, options: dict[str, Any], side: int) -> Any:
    if "activations" not in options and "clip" not in options:
        return None
    each = len(recurrent.GATES[kind])
    names = options.get(
        "activations", {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[kind]
    )
    numbers = (options.get(name, []) for name in ("activation_alpha", "activation_beta"))
    found = recurrent.gates_of(names, *numbers, options.get("clip", 0.0))
    return tuple((found * 2)[side * each : side * each + each])


def build(kind: str, options: dict[str, Any], given: dict[str, Array], sides: int) -> Any:
    def make(b: Builder, *values: Value) -> list[Value]:
        by_name = dict(
            zip([n for n in given if n in ("X", "sequence_lens", "initial_h", "initial_c")], values, strict=True)
        )
        weights = [
            RecurrentDirection(
                given["W"][i],
                given["R"][i],
                given["B"][i],
                gates(kind, options, i),
                given["P"][i] if "P" in given else None,
                backward=i == 1 or options.get("direction") == "reverse",
            )
            for i in range(sides)
        ]
        found = recurrent.layer(
            b,
            kind,
            by_name["X"],
            weights,
            lengths=by_name.get("sequence_lens"),
            hidden=by_name.get("initial_h"),
            cell=by_name.get("initial_c"),
            after=bool(options.get("linear_before_reset")),
            coupled=bool(options.get("input_forget")),
        )
        return [found[r] for r in RecurrentOutput if r in found]

    return make


def network(names: Iterable[str] = CASES, *, judged: bool = True) -> Network:
    """Cases, with what ONNX Runtime makes of them, or without."""
    found = Network()
    for name in names:
        kind, options = name.split()[0], CASES[name]
        given, sides = arrays(kind, options)
        inputs = [x for n, x in given.items() if n in ("X", "sequence_lens", "initial_h", "initial_c")]
        shapes = [(TIME, sides, BATCH, UNITS), *[(sides, BATCH, UNITS)] * (2 if kind == "LSTM" else 1)]
        results = wanted(kind, options, given) if judged else [np.empty(shape) for shape in shapes]
        found.add(build(kind, options, given, sides), results, *inputs, images=False)
    return found


@pytest.fixture(scope="module")
def whole() -> Network:
    return network()


def test_layers_are_those_of_onnx_runtime(whole: Network) -> None:
    close(whole.evaluated(), whole.wanted, 1e-5, 2e-6)


@pytest.mark.slow
def test_the_c_code_of_every_case_computes_the_same(whole: Network, tmp_path: Path) -> None:
    close(whole.executed(tmp_path), whole.wanted, 1e-5, 4e-6)


def test_the_c_code_computes_the_same(tmp_path: Path) -> None:
    """Within the bound that docs/trust/numerics.md states."""
    some = network(list(CASES)[::4])
    close(some.executed(tmp_path), some.wanted, 1e-5, 4e-6)


def test_weights_of_pytorch_and_keras_are_brought_into_order() -> None:
    torch = pytest.importorskip("torch")
    network = Network()
    x = np.random.default_rng(3).standard_normal((BATCH, TIME, INPUTS)).astype(np.float32)
    for kind in BLOCKS:
        torch.manual_seed(1)
        layer = getattr(torch.nn, kind)(INPUTS, UNITS, batch_first=True)
        weights = [w.detach().numpy() for w in layer.parameters()]
        out = layer(torch.tensor(x))[0].detach().numpy()
        sides = [recurrent.of_torch(kind, *weights), recurrent.of_keras(kind, *_kerases(kind, weights))]
        for side in sides:
            network.add(partial(_last, kind, side), [out[:, :, None], out[:, -1:]], x, images=False)
    close(network.evaluated(), network.wanted, 1e-5, 2e-6)


def _kerases(kind: str, weights: list[Array]) -> list[Array]:
    """PyTorch's weights as Keras has them; both biases of a GRU, of the others their sum."""
    order = {"RNN": (0,), "LSTM": (0, 1, 2, 3), "GRU": (1, 0, 2)}[kind]
    w, r, b, c = (np.concatenate([np.split(x, len(order))[i] for i in order]) for x in weights)
    return [w.T, r.T, np.stack([b, c]) if kind == "GRU" else b + c]


def _last(kind: str, side: RecurrentDirection, b: Builder, x: Value) -> list[Value]:
    found = recurrent.layer(b, kind, x, [side], batch_first=True, after=kind == "GRU")
    return [found[RecurrentOutput.SEQUENCE], found[RecurrentOutput.HIDDEN]]


def test_nothing_is_kept_that_is_not_wanted() -> None:
    """A layer of which only the last output is wanted has no tensor for the sequence, and lies as its input does."""
    x = np.zeros((BATCH, TIME, INPUTS), np.float32)
    side = RecurrentDirection(np.zeros((UNITS, INPUTS), np.float32), np.zeros((UNITS, UNITS), np.float32))
    network = Network()
    network.add(
        lambda b, x: recurrent.layer(b, "RNN", x, [side], batch_first=True, wanted=[RecurrentOutput.HIDDEN])[
            RecurrentOutput.HIDDEN
        ],
        np.zeros((BATCH, 1, UNITS)),
        x,
        images=False,
    )
    kinds = [op.kind for op in network.graph().ops]
    assert set(kinds) <= {"RNN_SEQUENCE", "RESHAPE"}


def test_states_go_on_from_one_inference_to_the_next() -> None:
    """Two inferences of a model that keeps its states are one of a sequence twice as long."""
    given, _ = arrays("GRU", {})
    side = RecurrentDirection(given["W"][0], given["R"][0], given["B"][0])
    b = Builder("kept")
    x = b.input("x", given["X"].shape, DType.FLOAT32)
    with b.layer(0, "GRU", "gru"):
        before, after = b.state("h", np.zeros((1, BATCH, UNITS), np.float32))
        found = recurrent.layer(b, "GRU", x, [side], hidden=before)
        b.written(found[RecurrentOutput.HIDDEN], after)
    b.output(found[RecurrentOutput.SEQUENCE], "y")
    graph = b.finish().graph()
    steps, carried = [], {}
    for part in (given["X"], -given["X"]):
        values = graph.evaluate({graph.inputs[0]: part, **carried})
        carried = graph.carried(values)
        steps.append(values[graph.outputs[0]].reshape(TIME, BATCH, UNITS))
    whole = Network()
    both = np.concatenate([given["X"], -given["X"]])
    want = np.concatenate(steps)[:, None]
    whole.add(
        lambda b, x: recurrent.layer(b, "GRU", x, [side], wanted=[RecurrentOutput.SEQUENCE])[RecurrentOutput.SEQUENCE],
        want,
        both,
        images=False,
    )
    close(whole.evaluated(), [want], 1e-6, 1e-7)


def test_a_step_is_as_exact_as_is_stated(tmp_path: Path) -> None:
    """The bound of docs/trust/numerics.md, for layers of several sizes whose gates add up much and little."""
    rng = np.random.default_rng(8)
    network, bounds = Network(), []
    for kind, (inputs, units, size) in product(BLOCKS, ((3, 5, 0.3), (40, 24, 0.2), (17, 33, 2.0))):
        lines = BLOCKS[kind] * units
        shapes = (lines, inputs), (lines, units), (2 * lines,)
        weights = [(rng.uniform(-1, 1, shape) * size).astype(np.float32) for shape in shapes]
        x, h, cell = (rng.uniform(-1, 1, (1, 1, n)).astype(np.float32) for n in (inputs, units, units))
        states = [h, cell] if kind == "LSTM" else [h]
        make = partial(_one_step, kind, RecurrentDirection(*weights))
        network.add(make, [np.zeros((1, 1, units), np.float32)] * len(states), x, *states, images=False)
        w, r, bias = map(np.abs, weights)
        magnitude = (w @ np.abs(x[0, 0]) + r @ np.abs(h[0, 0]) + bias[:lines] + bias[lines:]).max()
        bounds += [(inputs + units + 16) * 2.0**-23 * max(1.0, magnitude)] * len(states)
    for c, exact, bound in zip(network.executed(tmp_path), network.evaluated(), bounds, strict=True):
        assert np.abs(c - exact).max() <= bound


def _one_step(kind: str, side: RecurrentDirection, b: Builder, x: Value, *states: Value) -> list[Value]:
    wanted = [RecurrentOutput.HIDDEN, RecurrentOutput.CELL][: len(states)]
    found = recurrent.layer(
        b, kind, x, [side], hidden=states[0], cell=states[-1] if kind == "LSTM" else None, wanted=wanted
    )
    return [found[r] for r in wanted]
