"""References for verification: LiteRT's reference kernels, TFLite Micro, or Mote's NumPy operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.extras import installed, require
from mote.base.text import printable
from mote.frontends import Source
from mote.frontends.tflite.reader import read, subgraph_of
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.tolerance import Magnitudes, computes_floats
from mote.ir.graph.types import DType
from mote.ir.ops.moves.multi_output import Part
from mote.ir.ops.recurrent.svdf import BIAS, Svdf
from mote.ir.ops.signal.audio_stateless import MicroOp

LITTERS = 2
"""Number of runs with different random values in elements that TFLite Micro does not write, to detect those."""
MICRO_ROOM = 1 << 20
"""Bytes added to TFLite Micro's estimated arena."""

SAID = 160
"""Maximum characters of an interpreter's error message."""


class RefusedError(MoteError):
    """Raised when an interpreter does not run a model."""


Reference = Callable[[Mapping[int, Array]], Mapping[int, Array] | None]
"""Function from inputs (by source tensor id) to the values of all tensors; None while a stream warms up."""


def litert_installed() -> bool:
    return find_spec("ai_edge_litert") is not None


def _interpreter(model: bytes, fast: bool) -> Any:
    """A LiteRT interpreter with `BUILTIN_REF`, or with its default kernels, which differ from the reference but cover
    more operators."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if fast else OpResolverType.BUILTIN_REF
    return Interpreter(
        model_content=model, experimental_op_resolver_type=kernels, experimental_preserve_all_tensors=True
    )


def litert(model: bytes, *, fast: bool = False) -> Reference:
    """A reference by LiteRT's reference kernels on a file, or its default kernels (`fast`)."""
    with _refusals():
        interpreter = _interpreter(model, fast)
        interpreter.allocate_tensors()
    return _invoked(interpreter, {})


def _invoked(interpreter: Any, fixed: Mapping[int, Array]) -> Reference:
    """A reference by the first subgraph of an interpreter, with some inputs fixed."""

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array]:
        with _refusals():
            for t, value in {**fixed, **inputs}.items():
                interpreter.set_tensor(t, value)
            interpreter.invoke()
        return _Tensors(interpreter.get_tensor)

    return run


def litert_of(source: Source, graph: Graph, *, fast: bool = False) -> Reference:
    """A reference by LiteRT on a file, with the chosen input shapes, constants and signature."""
    number = subgraph_of(source)
    if number:
        return _signed(source, graph, number, fast)
    with _refusals():
        interpreter = _interpreter(source.data, fast)
        details = interpreter.get_input_details()
        for given in details:
            if (shape := _shape(source, given)) != tuple(given["shape"]):
                interpreter.resize_tensor_input(given["index"], shape)
        interpreter.allocate_tensors()
    return _invoked(interpreter, _fixed(source, graph, details))


def _signed(source: Source, graph: Graph, number: int, fast: bool) -> Reference:
    """A reference by another subgraph than the first, which LiteRT runs by its signature."""
    with _refusals():
        interpreter = _interpreter(source.data, fast)
        runner = interpreter.get_signature_runner(source.signature or None)
        details = runner.get_input_details()
    fixed = _fixed(source, graph, list(details.values()))

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array]:
        values = {**fixed, **inputs}
        with _refusals():
            runner(**{name: values[given["index"]] for name, given in details.items()})
        return _Tensors(partial(interpreter.get_tensor, subgraph_index=number))

    return run


def _shape(source: Source, given: Mapping[str, Any]) -> Shape:
    """The shape of an input from LiteRT's details."""
    return dict(source.shapes).get(printable(given["name"]), tuple(map(int, given["shape"])))


def _fixed(source: Source, graph: Graph, details: Sequence[Mapping[str, Any]]) -> dict[int, Array]:
    """File inputs that are constants in the graph, by tensor index."""
    constants = {constant.name: constant for constant in source.constants}
    constant_inputs: dict[int, Array] = {}
    for given in (x for x in details if x["index"] not in graph.inputs):
        index, name = given["index"], printable(given["name"])
        if name in constants:
            constant_inputs[index] = constants[name].array(_shape(source, given), DType(np.dtype(given["dtype"]).name))
        elif (data := read(source).tensors[index].data) is not None:
            constant_inputs[index] = data
    return constant_inputs


@cache
def micro_missing() -> str:
    """Why TFLite Micro is unavailable (not installed, or no wheel for this Python); empty if it is available."""
    try:
        require("tflite_micro")
    except MoteError:
        return f"TFLite Micro {'cannot be loaded' if installed('tflite_micro') else 'is not installed'}"
    return ""


def micro(model: bytes, graph: Graph) -> Reference:
    """A reference by TFLite Micro, for operators that LiteRT lacks; every tensor has its own memory. Elements that it
    leaves unwritten, and those that depend on them, come from Mote's reference."""
    if any(isinstance(op, Svdf) and op.tensor(graph, BIAS) is None for op in graph.ops):
        raise RefusedError("TFLite Micro crashes on SVDF without a bias", remedy="export the model with biases")
    runtime = require("tflite_micro", extra="tflm").runtime
    room = MICRO_ROOM + 4 * len(model) + 8 * sum(t.nbytes for t in graph.tensors.values())
    keeping = runtime.InterpreterConfig.kPreserveAllTensors
    with _refusals("TFLite Micro"):
        interpreter = runtime.Interpreter.from_bytes(model, arena_size=room, intrepreter_config=keeping)

    ours, others = numpy(graph), [numpy(_littered(graph, seed)) for seed in range(LITTERS)]

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array]:
        with _refusals("TFLite Micro"):
            for i, t in enumerate(graph.inputs):
                interpreter.set_input(inputs[t], i)
            interpreter.invoke()
        values, littered = _known(ours, inputs), [_known(other, inputs) for other in others]

        def tensor(t: int) -> Array:
            value: Array = np.asarray(interpreter.GetTensor(t, 0)["tensor_data"]).reshape(values[t].shape)
            meaningless = np.any([x[t] != values[t] for x in littered], axis=0)
            return np.where(meaningless, values[t], value)

        return _Tensors(tensor)

    return run


def _known(oracle: Reference, inputs: Mapping[int, Array]) -> Mapping[int, Array]:
    values = oracle(inputs)
    assert values is not None
    return values


class _Littered(Op):
    """Wraps an operator so that elements which TFLite Micro does not write are random."""

    of: MicroOp
    seed: int
    kind = "LITTERED"

    @property
    def updates(self) -> dict[int, int]:
        return self.of.updates

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        results = self.of.evaluate(g, values)
        known = {i: v for i, v in zip(self.inputs, values, strict=True) if v is not None}
        left = self.of.unwritten(g, known | dict(zip(self.outputs, results, strict=True)))
        if left is not None:
            first = results[0].reshape(left.shape)
            anything = np.random.default_rng(self.seed).integers(1, 255, (*first.shape, first.itemsize), np.uint8)
            results[0] = np.where(left, anything.view(first.dtype)[..., 0], first)
        return results


def _littered(graph: Graph, seed: int) -> Graph:
    """The graph with random values where TFLite Micro writes nothing: elements that differ between runs depend on
    them."""
    ops = [
        _Littered(inputs=op.inputs, outputs=op.outputs, name=op.name, index=op.index, of=op, seed=seed)
        if isinstance(op, MicroOp)
        else op
        for op in graph.ops
    ]
    return graph.with_ops(ops)


@contextmanager
def _refusals(who: str = "LiteRT") -> Iterator[None]:
    """Context manager: converts an interpreter's errors to RefusedError with a one-line message."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())
        raise RefusedError(
            f"{who} does not run the model: {said if len(said) <= SAID else said[:SAID] + ' ...'}",
            remedy=f"export the model again, so that {who} runs it; `mote run` runs it without a comparison",
        ) from None


def micro_only(graph: Graph) -> bool:
    """Whether the model has operators that only TFLite Micro supports."""
    return any(isinstance(op, MicroOp) or (isinstance(op, Svdf) and op.small_state(graph)) for op in graph.ops)


def meaningful(oracle: Reference, graph: Graph) -> Reference:
    """Wraps a reference: sets elements beyond the actual result to zero where results are shorter than their tensor,
    since the reference leaves them undefined."""
    parts = {op.outputs[0]: op for op in graph.ops if isinstance(op, Part) and op.count is not None}

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array] | None:
        values = oracle(inputs)
        return values if values is None or not parts else _Tensors(lambda t: _meaning(values, parts.get(t), t))

    return run


def _meaning(values: Mapping[int, Array], part: Part | None, t: int) -> Array:
    return values[t] if part is None or part.count is None else part.meaning(values[t], values[part.count])


def numpy(graph: Graph) -> Reference:
    """A reference by the NumPy operators on the imported graph. States persist between runs, as in LiteRT."""
    carried: dict[int, Array] = {}

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array]:
        values = graph.evaluate({**carried, **inputs})
        carried.update(graph.carried(values))
        return values

    return run


def as_in_file(oracle: Reference, graph: Graph) -> Reference:
    """Wraps a reference: tensors get the layout of the model's file instead of the graph's."""
    lying = {i: t.arrangement for i, t in graph.tensors.items() if t.arrangement is not None}

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array] | None:
        values = oracle(inputs)
        if values is None:
            return None
        return {i: lying[i].logical(v, (v.size,)) if i in lying else v for i, v in values.items()}

    return run


def magnitudes(graph: Graph) -> Callable[[Mapping[int, Array]], Mapping[int, float]]:
    """Function from inputs to magnitudes of float32 tensors (for `mote.ir.graph.tolerance`), with states that persist;
    empty if nothing is float32."""
    if not computes_floats(graph) and all(type(op).alternative_codes is Op.alternative_codes for op in graph.ops):
        return lambda inputs: {}
    values, tracked = numpy(graph), Magnitudes(graph)

    def run(inputs: Mapping[int, Array]) -> Mapping[int, float]:
        known = values(inputs)
        assert known is not None
        return tracked.step(known)

    return run


def windowed(oracle: Reference, axis: int, size: int) -> Reference:
    """Wraps a windowed model as the reference of a stream: it gets the last `size` elements along `axis`, and returns
    None until there are that many."""
    heard: dict[int, Array] = {}

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array] | None:
        for t, new in inputs.items():
            stream = np.concatenate([heard[t], new], axis) if t in heard else new
            heard[t] = stream.take(range(max(stream.shape[axis] - size, 0), stream.shape[axis]), axis)
        full = all(x.shape[axis] == size for x in heard.values())
        return oracle(heard) if full else None

    return run


def behind(front: Graph, oracle: Reference) -> Reference:
    """Wraps a reference: preprocessing by NumPy comes before it; its states persist between runs."""
    prepare = numpy(front)

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array] | None:
        prepared = _known(prepare, inputs)
        values = oracle({t: prepared[t] for t in front.outputs})
        if values is None:
            return None
        return _Tensors(lambda t: values[t] if t in front.outputs or t not in prepared else prepared[t])

    return run


def before(back: Graph, oracle: Reference, planned: Graph) -> Reference:
    """Wraps a reference: post-processing by NumPy follows it. While a stream warms up, the planned graph is computed
    instead, since states of post-processing depend on it."""
    decide, early = numpy(back), numpy(planned)

    def run(inputs: Mapping[int, Array]) -> Mapping[int, Array] | None:
        values = oracle(inputs)
        if values is None:
            known = _known(early, inputs)
            decide({t: known[t] for t in back.inputs})
            return None
        tensors = (back.tensors[t] for t in back.inputs)
        taken = {t.id: inputs[t.id] if t.id in inputs else t.part(values[t.source]).reshape(t.shape) for t in tensors}
        made = _known(decide, taken)
        return _Tensors(lambda t: made[t] if t in made else values[t])

    return run


class _Tensors(Mapping[int, Array]):
    """Tensors by index, copied on access. LiteRT does not keep loop variables that nothing reads."""

    def __init__(self, get: Callable[[int], Array]) -> None:
        self.get_tensor = get

    def __getitem__(self, t: int) -> Array:
        try:
            return np.asarray(self.get_tensor(t))
        except ValueError:
            raise KeyError(t) from None

    def __iter__(self):  # type: ignore[no-untyped-def]
        raise TypeError("tensors are looked up by index")

    def __len__(self) -> int:
        raise TypeError("tensors are looked up by index")
