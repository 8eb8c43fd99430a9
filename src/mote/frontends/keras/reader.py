"""The network of a Keras file: Sequential or functional, with nested networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mote.base.errors import MoteError, UnsupportedNodeError, naming
from mote.frontends import limits
from mote.frontends.build import moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras.archive import SAVE, DamagedArchiveError, opened
from mote.frontends.keras.call import CHANNELS_FIRST, LayerCall, Results, flat
from mote.frontends.keras.config import NETWORKS, LayerConfig
from mote.frontends.keras.keras2 import modernized
from mote.frontends.keras.layers import LIBRARIES, qkeras
from mote.frontends.keras.layers.core import NOISE
from mote.frontends.keras.layers.operations import OPERATIONS
from mote.frontends.keras.masks import passed_on
from mote.frontends.keras.names import output_names, value_name
from mote.frontends.model import Model, with_numbers
from mote.frontends.remedies import IN_TORCH, OWN_CLASSES, QUANTIZED_LAYERS
from mote.frontends.source import Source
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType

INPUT = "InputLayer"
REPEATED = "TimeDistributed"
QUANTIZED = {"hgq": "HGQ", "qkeras": "QKeras"}
"""Libraries of quantized layers, by their packages."""
TRAINED = {*NOISE, "BatchNormalization"}
"""Layers that behave differently in training."""
TENSOR = "__keras_tensor__"
MOST_NODES = limits.MOST_LAYERS
ONE = "let a TimeDistributed network take one tensor and return one"
FUNCTIONAL = f"build the model of Keras's own layers, as a Sequential or Functional one, or {IN_TORCH}"

Key = tuple[str, int, int]
"""A value of a network: layer name, call index and output index."""


def read(source: Source) -> Model:
    """The model of a file, with its unsupported layers marked."""
    with naming(source.where):
        archive = modernized(opened(source.data))
        return _Reader(source, LayerConfig(archive.config, archive.weights, "")).model()


class _StopError(Exception):
    """The values after an unsupported layer are unknown."""


@dataclass
class _Reader:
    """Reads one file."""

    source: Source
    network: LayerConfig
    index: int = 0
    masks: dict[Value, Value] = field(default_factory=dict)
    """Masks of values with masked steps."""
    passed: dict[Value, Value] = field(default_factory=dict)
    """Masks of the last layer's results."""
    codes: dict[int, tuple[Shape, Callable[[Quantization], Value]]] = field(default_factory=dict)
    """Integer versions of products, by the tensors that hold them."""
    half: set[str] = field(default_factory=set)
    """Compute types other than float32."""

    def __post_init__(self) -> None:
        self.b = Builder(self.source.where, self.source.edges, self.source.constants)

    def model(self) -> Model:
        _check_network(self.network)
        layers = _inputs(self.network)
        unknown = set(dict(self.source.shapes)) - {layer.name for layer in layers}
        if unknown:
            names = ", ".join(f"'{layer.name}'" for layer in layers)
            raise MoteError(f"there is no input '{min(unknown)}'; it has {names}", where="option shape")
        self.source.check_constants(layer.name for layer in layers)
        inputs = [self._input(layer) for layer in layers]
        try:
            for value, name in self._outputs(inputs):
                self.b.output(value, name)
        except _StopError:
            pass
        if self.half:
            self.b.warnings.append(f"layers of {', '.join(sorted(self.half))} are computed in float32")
        return with_numbers(self.b.finish())

    def _outputs(self, inputs: Sequence[Value]) -> Iterator[tuple[Value, str]]:
        """The outputs of the whole network, under unique names."""
        values = list(flat(self._run(self.network, inputs, "", 0)))
        yield from zip(values, output_names([value.name for value in values]), strict=True)

    def _input(self, layer: LayerConfig) -> Value:
        """An input of the model."""
        said = layer.options.get("batch_shape", layer.options.get("batch_input_shape"))
        if not isinstance(said, list) or not said:
            raise DamagedArchiveError(f"the input '{layer.name}' has no shape")
        for option in ("sparse", "ragged", "optional"):
            if layer.options.get(option):
                raise MoteError(
                    f"the input '{layer.name}' is {option}, which is not supported",
                    remedy="let every input be a tensor that is always there, with all of its elements",
                )
        shape = self._shape(layer.name, said)
        dtype = layer.options.get("dtype", "float32")
        if dtype not in [str(known) for known in DType]:
            raise MoteError(
                f"the input '{layer.name}' has type {dtype}, which is not supported", remedy="give numbers to the model"
            )
        turned = _channels_first(self.network, len(shape))
        return self.b.input(layer.name, shape, DType(str(dtype)), channels_last=turned)

    def _shape(self, name: str, said: Sequence[Any]) -> Shape:
        """The shape of an input: the user's, or the file's with a batch of 1."""
        wanted = dict(self.source.shapes).get(name)
        if wanted is not None:
            fits = len(wanted) == len(said) and all(n in (None, m) for n, m in zip(said, wanted, strict=True))
            if not fits:
                raise MoteError(
                    f"'{name}' is {_shown(said)}, which {_shown(wanted)} does not fit", where="option shape"
                )
            return tuple(wanted)
        sizes = [1 if n is None and axis == 0 else n for axis, n in enumerate(said)]
        if any(n is None for n in sizes):
            example = ",".join("N" if n is None else str(n) for n in sizes)
            raise MoteError(
                f"the input '{name}' is {_shown(said)}: one of its dimensions is dynamic",
                remedy=f"say how large it is: --shape {name}={example}",
            )
        if any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in sizes):
            raise DamagedArchiveError(f"the input '{name}' has the shape {_shown(said)}")
        return tuple(sizes)

    def _run(self, network: LayerConfig, given: Sequence[Value], prefix: str, depth: int) -> Any:
        """The outputs of a network, nested as in the file."""
        limits.check_bodies(self.index and 1, depth)
        if network.kind == "Sequential":
            return self._in_a_row(network, given, prefix, depth)
        return self._graph(network, given, prefix, depth)

    def _in_a_row(self, network: LayerConfig, given: Sequence[Value], prefix: str, depth: int) -> Any:
        result: Any = list(given)
        layers = [layer for layer in network.children() if layer.kind != INPUT]
        for i, layer in enumerate(layers):
            behind = layers[i + 1] if i + 1 < len(layers) else None
            shape = _built_shape(behind) if behind is not None else None
            result = self._call(layer, [result], {}, prefix + layer.name, shape, depth)
        return result

    def _graph(self, network: LayerConfig, given: Sequence[Value], prefix: str, depth: int) -> Any:
        """Calls in topological order."""
        layers = {layer.name: layer for layer in network.children()}
        starts = list(_keys(network.get("input_layers")))
        if len(starts) != len(given):
            raise DamagedArchiveError(f"'{network.name}' takes {len(starts)} tensors, and is given {len(given)}")
        values: dict[Key, Value] = dict(zip(starts, given, strict=True))
        waiting = [
            (layer, number, _node(node, layer))
            for layer in layers.values()
            if layer.kind != INPUT
            for number, node in enumerate(_nodes(layer))
        ]
        limits.check_layers(self.index + len(waiting))
        shapes = dict(_shapes([node for *_, node in waiting]))
        while waiting:
            later = []
            for layer, number, node in waiting:
                if any(key not in values for key in _wanted(node)):
                    later.append((layer, number, node))
                    continue
                args, kwargs = (_filled(self.b, part, values) for part in (node.args, node.kwargs))
                name = prefix + value_name(layer.name, number)
                results = self._call(layer, args, kwargs, name, shapes.get((layer.name, number, 0)), depth)
                values |= {(layer.name, number, i): value for i, value in enumerate(flat(results))}
            if len(later) == len(waiting):
                raise DamagedArchiveError(f"the layers {_some(layer.name for layer, *_ in later)} depend on each other")
            waiting = later
        return _results(network.get("output_layers"), values)

    def _call(
        self,
        layer: LayerConfig,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        name: str,
        shape: Shape | None,
        depth: int,
    ) -> Any:
        """The results of a layer, named after it. An unsupported layer gives placeholders of its output shape."""
        if layer.kind in NETWORKS and layer.is_own:
            given = list(flat(args[0] if args else None))
            return self._named(self._run(layer, given, f"{name}/", depth + 1), name, self.masks)
        if layer.kind == REPEATED and layer.is_own and (inner := _network_inside(layer)) is not None:
            given = list(flat(args))
            each = self._named(self._each_step(inner, given, f"{name}/", depth + 1), name, {})
            if given[0] in self.masks:
                self.masks[each[0]] = self.masks[given[0]]
            return each
        index, self.index = self.index, self.index + 1
        results: list[Value] = []
        with self.b.layer(index, layer.kind, name):
            made = self._apply(layer, args, kwargs)
            results = self._named(made, name, self.passed)
        if not results and shape is None:
            raise _StopError
        return results or [self.b.placeholder(name, shape or (), DType.FLOAT32)]

    def _named(self, results: Any, name: str, masks: Mapping[Value, Value]) -> list[Value]:
        """The results of a layer or nested network, named after it, with their masks."""
        values = list(flat(results))
        named = [self.b.named(value, value_name(name, place=i)) for i, value in enumerate(values)]
        self.masks |= {new: masks[value] for new, value in zip(named, values, strict=True) if value in masks}
        return named

    def _each_step(self, network: LayerConfig, given: Sequence[Value], prefix: str, depth: int) -> Value:
        """A nested network applied to each step of a sequence: steps are merged into the batch."""
        if len(given) != 1:
            raise MoteError(f"'{network.name}' takes one sequence, and is given {len(given)}", remedy=ONE)
        batch, steps, *inner = given[0].shape
        images = moves.reshape(self.b, given[0], (batch * steps, *inner))
        outputs = list(flat(self._run(network, [images], prefix, depth)))
        if len(outputs) != 1:
            raise MoteError(f"'{network.name}' returns {len(outputs)} values for each step, not one", remedy=ONE)
        return moves.reshape(self.b, outputs[0], (batch, steps, *outputs[0].shape[1:]))

    def _apply(self, layer: LayerConfig, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Results:
        """Build the operators of a layer, or of a sublayer."""
        if kwargs.get("training") in (True, 1) and layer.kind in TRAINED:
            raise UnsupportedNodeError("it is called with training=True")
        parser = (OPERATIONS if layer.is_operation else LIBRARIES.get(layer.library, {})).get(layer.kind)
        if parser is None:
            raise _refusal(layer)
        policy = layer.check_type()
        if any(kind in policy for kind in ("float16", "float64")):
            self.half.add(policy)
        call = LayerCall(self.b, layer, args, kwargs, partial(self._apply), self.masks, codes=self.codes)
        of_codes = qkeras.moved(call, parser) if layer.kind in qkeras.MOVES and not layer.is_operation else None
        made = parser(call) if of_codes is None else of_codes
        results = list(flat(made))
        self.passed = {results[i]: mask for i, mask in passed_on(call, results).items()}
        return made


def _network_inside(layer: LayerConfig) -> LayerConfig | None:
    """The network that TimeDistributed applies to each step; None for other layers."""
    inside = layer.child("layer", layer.get("layer"))
    return inside if inside.kind in NETWORKS and inside.is_own else None


def _refusal(layer: LayerConfig) -> UnsupportedNodeError:
    """The reason why a layer cannot be compiled, and what helps."""
    if layer.library not in LIBRARIES:
        reason = f"{layer.kind} is a custom class, whose computation is not in the file"
        return UnsupportedNodeError(reason, OWN_CLASSES)
    if layer.library in QUANTIZED:
        return UnsupportedNodeError(f"{layer.kind} of {QUANTIZED[layer.library]} is not supported", QUANTIZED_LAYERS)
    return UnsupportedNodeError(f"{layer.kind} is not supported")


def _check_network(network: LayerConfig) -> None:
    if network.kind not in NETWORKS or not network.is_own or "layers" not in network.options:
        raise MoteError(
            f"the model is a custom class, '{network.kind}', whose computation is not in the file", remedy=FUNCTIONAL
        )


def _inputs(network: LayerConfig) -> list[LayerConfig]:
    """The input layers of the whole model, in order."""
    children = network.children()
    if network.kind == "Sequential":
        first = children[0] if children else None
        if first is not None and first.kind == INPUT:
            return [first]
        shape = network.options.get("build_input_shape")
        if shape is None and first is not None:
            if first.kind in NETWORKS:
                return _inputs(first)
            shape = first.options.get("batch_shape", first.options.get("batch_input_shape"))
        if shape is None:
            raise MoteError(
                "the model does not define its inputs", remedy=f"let it begin with keras.Input(shape), and {SAVE}"
            )
        config = {"name": f"{network.name}_input", "batch_shape": shape, "dtype": "float32"}
        return [LayerConfig({"class_name": INPUT, "config": config}, network.weights, "")]
    named = {layer.name: layer for layer in children}
    layers = [named.get(name) for name, *_ in _keys(network.get("input_layers"))]
    if not layers or any(layer is None or layer.kind != INPUT for layer in layers):
        raise DamagedArchiveError("its inputs are not among its layers")
    return [layer for layer in layers if layer is not None]


def _channels_first(network: LayerConfig, rank: int) -> bool:
    """Whether layers for inputs of that rank use channels_first."""
    axes = f"{rank - 2}D"
    waiting = [network]
    while waiting:
        for layer in waiting.pop().children():
            if layer.kind in NETWORKS and "layers" in layer.options:
                waiting.append(layer)
            elif axes in layer.kind and layer.options.get("data_format") == CHANNELS_FIRST:
                return True
    return False


def _built_shape(layer: LayerConfig) -> Shape | None:
    """The shape that a layer was built for."""
    built = layer.said.get("build_config")
    shape = built.get("input_shape") if isinstance(built, Mapping) else None
    return _known(shape)


def _known(shape: Any) -> Shape | None:
    """A shape that is known but for the batch."""
    if not isinstance(shape, list) or not all(isinstance(n, int) and n > 0 for n in shape[1:]):
        return None
    return (1, *shape[1:])


@dataclass(frozen=True)
class _Node:
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


def _nodes(layer: LayerConfig) -> Sequence[Any]:
    nodes = layer.said.get("inbound_nodes", [])
    if not isinstance(nodes, list):
        raise DamagedArchiveError(f"the calls of '{layer.name}' are not a list")
    return nodes


def _node(said: Any, layer: LayerConfig) -> _Node:
    if not isinstance(said, Mapping) or not isinstance(said.get("args"), list):
        raise DamagedArchiveError(f"a call of '{layer.name}' lacks its arguments")
    kwargs = said.get("kwargs") or {}
    if not isinstance(kwargs, Mapping):
        raise DamagedArchiveError(f"a call of '{layer.name}' lacks its arguments")
    return _Node(said["args"], kwargs)


def _tensors(said: Any) -> Iterator[Mapping[str, Any]]:
    """The tensors in an argument of a call, as described by the file."""
    waiting = [said]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping) and part.get("class_name") == TENSOR:
            config = part.get("config")
            if not isinstance(config, Mapping):
                raise DamagedArchiveError("a tensor of a call is not described")
            yield config
        elif isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _wanted(node: _Node) -> Iterator[Key]:
    """The values that a call needs."""
    for config in _tensors([node.args, node.kwargs]):
        yield _key(config.get("keras_history"))


def _shapes(nodes: Sequence[_Node]) -> Iterator[tuple[Key, Shape]]:
    """The shapes of values, from the calls that read them."""
    for node in nodes:
        for config in _tensors([node.args, node.kwargs]):
            shape = _known(config.get("shape"))
            if shape is not None:
                yield _key(config.get("keras_history")), shape


def _key(said: Any) -> Key:
    if not isinstance(said, list) or len(said) != 3:
        raise DamagedArchiveError("a tensor does not name the layer that computes it")
    name, node, place = said
    if not (isinstance(name, str) and isinstance(node, int) and isinstance(place, int)):
        raise DamagedArchiveError("a tensor does not name the layer that computes it")
    return name, node, place


def _is_key(said: Any) -> bool:
    return isinstance(said, list) and len(said) == 3 and isinstance(said[0], str) and isinstance(said[1], int)


def _keys(said: Any) -> Iterator[Key]:
    """All values in a nested list: a single one, several, or by name."""
    if _is_key(said):
        yield _key(said)
    elif isinstance(said, Mapping):
        for name in sorted(said):
            yield from _keys(said[name])
    elif isinstance(said, list):
        for part in said:
            yield from _keys(part)
    else:
        raise DamagedArchiveError("the inputs or outputs of a network are not named")


def _results(said: Any, values: Mapping[Key, Value]) -> list[Value]:
    results = []
    for key in _keys(said):
        if key not in values:
            raise DamagedArchiveError(f"the output '{key[0]}' is not computed")
        results.append(values[key])
    if not results:
        raise MoteError("the model has no outputs")
    return results


def _filled(b: Builder, said: Any, values: Mapping[Key, Value]) -> Any:
    """An argument of a call with values in place of tensors."""
    if isinstance(said, list):
        return [_filled(b, part, values) for part in said]
    if not isinstance(said, Mapping):
        return said
    kind, config = said.get("class_name"), said.get("config")
    if kind == TENSOR and isinstance(config, Mapping):
        return values[_key(config.get("keras_history"))]
    if kind in ("__tensor__", "__numpy__") and isinstance(config, Mapping):
        try:
            return b.constant(np.asarray(config.get("value"), str(config.get("dtype", "float32"))))
        except (TypeError, ValueError):
            raise DamagedArchiveError("a constant is not an array") from None
    if kind == "__ellipsis__":
        return Ellipsis
    if kind == "__slice__" or kind == "slice":
        return slice(*[_bound(config, name) for name in ("start", "stop", "step")])
    return {name: _filled(b, part, values) for name, part in said.items()}


def _bound(config: Any, name: str) -> int | None:
    value = config.get(name) if isinstance(config, Mapping) else None
    return value if isinstance(value, int) else None


def _shown(shape: Sequence[Any]) -> str:
    return "x".join("?" if n is None else str(n) for n in shape)


def _some(names: Iterator[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(f"'{name}'" for name in unique[:5]) + (", ..." if len(unique) > 5 else "")
