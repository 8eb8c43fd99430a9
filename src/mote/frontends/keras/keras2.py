"""Models of Keras 2 (`tf.keras`) converted to the description of Keras 3: calls of layers, options with other names or
defaults, and the paths of weights."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mote.base.errors import MoteError
from mote.frontends import limits
from mote.frontends.keras.activations import KERAS2_HARD_SIGMOID
from mote.frontends.keras.archive import Archive, DamagedArchiveError, Stored
from mote.frontends.keras.config import NETWORKS, LayerConfig
from mote.frontends.keras.layers import LAYERS, merging, qkeras
from mote.frontends.keras.layers.operations import OPERATIONS
from mote.frontends.keras.layers.recurrent import CELLS, RECURRENT
from mote.frontends.keras.masks import ALL, JOINING
from mote.ir.graph.tensor import Array

TENSOR = "__keras_tensor__"
CONSTANT = "_CONSTANT_VALUE"
"""Placeholder for the layer name where an operand is a constant."""
KNOWN = {*LAYERS, *NETWORKS, *CELLS, "InputLayer", "StackedRNNCells"}
"""Keras's own classes, where a file does not name their module."""
UNREAD = {
    *("CuDNNGRU", "CuDNNLSTM", "DenseFeatures", "Hashing", "IntegerLookup", "LocallyConnected1D"),
    *("QAdaptiveActivation", "QGRU", "QLSTM", "QSeparableConv1D", "QSimpleRNN"),
    *("LocallyConnected2D", "StringLookup", "TextVectorization", "ClassMethod", "InstanceMethod", "InstanceProperty"),
}
"""Unsupported classes of Keras 2 and QKeras."""
INSIDE = ("layer", "backward_layer", "cell")
"""Options that hold a layer."""
ACTIVATIONS = ("activation", "recurrent_activation")
CONTAINERS = {"_layer_checkpoint_dependencies": "layers"}
"""Groups of weights with other names in the first `.keras` files."""
PROJECTIONS = {
    "query": "query_dense",
    "key": "key_dense",
    "value": "value_dense",
    "gate": "gate_dense",
    "attention_output": "output_dense",
}
"""The layers inside of MultiHeadAttention by the names of their weights."""


def modernized(archive: Archive) -> Archive:
    """A model as Keras 3 would have saved it to a `.keras` file."""
    version = archive.version
    if version.startswith(("0.", "1.")):
        raise MoteError(
            f"it was saved by Keras {version}, whose layers had other names and options",
            remedy="load and save it in Keras 2 (pip install tf_keras): load_model('model.h5').save('new.h5')",
        )
    older = version.startswith("2.") or (not version and archive.layers is not None)
    if not older and archive.layers is None:
        return archive
    try:
        config = _network(_plain(archive.config), older, 0)
    except RecursionError:
        raise DamagedArchiveError("its layers are nested too deeply") from None
    if archive.layers is None:
        return Archive(config, version, {_renamed(path): x for path, x in archive.weights.items()})
    return Archive(config, version, dict(_placed(LayerConfig(config, {}, ""), archive.layers)))


def _renamed(path: str) -> str:
    return "/".join(CONTAINERS.get(part, part) for part in path.split("/"))


# The network


def _plain(said: Any) -> Any:
    """JSON without the wrappers of Keras 2 around tuples and shapes."""
    if isinstance(said, list):
        return [_plain(part) for part in said]
    if not isinstance(said, Mapping):
        return said
    if said.get("class_name") in ("__tuple__", "TensorShape") and isinstance(said.get("items"), list):
        return [_plain(part) for part in said["items"]]
    return {name: _plain(part) for name, part in said.items()}


def _network(said: Any, older: bool, depth: int) -> dict[str, Any]:
    """A network, whose layers are a plain list in Sequential models of the first versions."""
    limits.check_bodies(0, depth)
    made = _layer(said, older, depth)
    options = made["config"]
    layers = options if isinstance(options, list) else options.get("layers") if isinstance(options, Mapping) else None
    if not isinstance(layers, list):
        return made
    told = [_network(part, older, depth + 1) if _is_network(part) else _layer(part, older, depth) for part in layers]
    names = {str(part.get("name") or _name(part)) for part in told}
    skipped = _skipped(told, options)
    for part in told:
        nodes = part.get("inbound_nodes")
        if isinstance(nodes, list):
            part["inbound_nodes"] = [_node(node, names, skipped) for node in nodes]
    if isinstance(options, list):
        return {**made, "config": {"name": "sequential", "layers": told}}
    ends = {end: _shifted(options[end], skipped) for end in ("input_layers", "output_layers") if end in options}
    return {**made, "config": {**options, "layers": told, **ends}}


def _is_network(said: Any) -> bool:
    return isinstance(said, Mapping) and _kind(said) in NETWORKS


def _kind(said: Mapping[str, Any]) -> str:
    """The class name; empty where it is not a string."""
    name = said.get("class_name")
    return name if isinstance(name, str) else ""


def _name(said: Mapping[str, Any]) -> str:
    options = said.get("config")
    return str(options.get("name")) if isinstance(options, Mapping) else ""


def _layer(said: Any, older: bool, depth: int) -> dict[str, Any]:
    if not isinstance(said, Mapping) or not isinstance(said.get("class_name"), str):
        raise DamagedArchiveError("a layer is not described")
    kind, module = said["class_name"], said.get("module")
    if not isinstance(module, str):
        module = "keras.src.ops" if _is_operation(said) else "keras.layers" if kind in KNOWN | UNREAD else ""
    elif module.partition(".")[0] == "tf_keras":
        module = f"keras{module.removeprefix('tf_keras')}"
    options = said.get("config")
    if isinstance(options, Mapping) and kind not in NETWORKS:
        options = _options(kind, options, older, depth)
    return {**said, "module": module, "config": options}


def _is_operation(said: Mapping[str, Any]) -> bool:
    """Whether an HDF5 file of Keras 3, which does not record it, has a function: one with two operands is not called
    with a list, as the layer of that name is."""
    nodes = said.get("inbound_nodes")
    node = nodes[0] if isinstance(nodes, list) and nodes else None
    args = node.get("args") if isinstance(node, Mapping) else None
    if said["class_name"] not in OPERATIONS or not isinstance(args, list):
        return False
    joins = said["class_name"] in merging.LAYERS and bool(args) and not isinstance(args[0], list)
    return joins or said["class_name"] not in LAYERS


def _options(kind: str, options: Mapping[str, Any], older: bool, depth: int) -> dict[str, Any]:
    """The options of a layer with the names and defaults of Keras 3."""
    made = dict(options)
    for option in INSIDE:
        if isinstance(made.get(option), Mapping):
            limits.check_bodies(0, depth)
            inside = made[option]
            made[option] = (_network if _is_network(inside) else _layer)(inside, older, depth + 1)
    if isinstance(made.get("cells"), list):
        made["cells"] = [_layer(cell, older, depth + 1) for cell in made["cells"]]
    if not older:
        return made
    for option in ACTIVATIONS if kind not in qkeras.LAYERS else ():
        if option in made:
            made[option] = _activation(made[option], depth)
    if kind == "LeakyReLU" and "alpha" in made:
        made["negative_slope"] = made.pop("alpha")
    if kind in JOINING or kind == "Concatenate":
        made[ALL] = True
    if kind in ("GRU", "GRUCell"):
        made.setdefault("reset_after", False)
    if (
        kind in ("BatchNormalization", "QBatchNormalization")
        and isinstance(made.get("axis"), list)
        and len(made["axis"]) == 1
    ):
        made["axis"] = made["axis"][0]
    return {
        name: value for name, value in made.items() if value is not None or name not in ("threshold", "negative_slope")
    }


def _activation(said: Any, depth: int) -> Any:
    """An activation by its name, or a layer."""
    if isinstance(said, Mapping):
        inside = said.get("config")
        if isinstance(inside, str):
            said = inside
        elif isinstance(inside, Mapping) and _kind(said) in KNOWN:
            return _layer(said, True, depth + 1)
    return KERAS2_HARD_SIGMOID if said == "hard_sigmoid" else said


# Calls


def _skipped(layers: Sequence[Mapping[str, Any]], options: Any) -> set[str]:
    """Nested networks whose first call is the one that created them: in the outer network their calls count from 1."""
    networks = {str(layer.get("name") or _name(layer)) for layer in layers if _kind(layer) in NETWORKS}
    ends = options.get("output_layers") if isinstance(options, Mapping) else None
    least: dict[str, int] = {}
    for part in _lists([layer.get("inbound_nodes") for layer in layers] + [ends]):
        if _names_tensor(part, networks):
            least[part[0]] = min(part[1], least.get(part[0], part[1]))
    return {name for name, first in least.items() if first == 1}


def _lists(said: Any) -> Iterator[list[Any]]:
    """All lists in a nested part of the network."""
    waiting = [said]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            yield part
            waiting += part
        elif isinstance(part, Mapping):
            waiting += part.values()


def _names_tensor(said: Any, names: Collection[str]) -> bool:
    """Whether a list refers to a layer's result: layer name, call index and output index."""
    is_tensor = isinstance(said, list) and len(said) in (3, 4) and isinstance(said[0], str) and said[0] in names
    return is_tensor and all(isinstance(n, int) and not isinstance(n, bool) for n in said[1:3])


def _shifted(said: Any, skipped: Collection[str]) -> Any:
    """The inputs or outputs of a network with call indices counted from 0."""
    if _names_tensor(said, skipped):
        return [said[0], said[1] - 1, said[2]]
    return [_shifted(part, skipped) for part in said] if isinstance(said, list) else said


def _node(node: Any, names: Collection[str], skipped: Collection[str]) -> Any:
    """A call as Keras 3 describes it: in Keras 2 its keyword arguments are stored with its first tensor."""
    if isinstance(node, Mapping) and "args" in node:
        return node
    kwargs: dict[str, Any] = {}

    def first(said: Any) -> Any:
        if isinstance(said, list) and len(said) in (3, 4) and isinstance(said[0], str):
            if len(said) == 4 and isinstance(said[3], Mapping):
                kwargs.update(said[3])
            return said[2] if said[0] == CONSTANT else _tensor(said, skipped)
        if isinstance(said, Mapping):
            return {name: first(part) for name, part in said.items()}
        if not isinstance(said, list):
            raise DamagedArchiveError("a call lacks its arguments")
        return [first(part) for part in said]

    given = first(node)
    given = given[0] if isinstance(given, list) and len(given) == 1 else given
    return {"args": [given], "kwargs": {name: _operand(part, names, skipped) for name, part in kwargs.items()}}


def _operand(said: Any, names: Collection[str], skipped: Collection[str]) -> Any:
    if _names_tensor(said, names) and len(said) == 3:
        return _tensor(said, skipped)
    if isinstance(said, list):
        return [_operand(part, names, skipped) for part in said]
    if isinstance(said, Mapping) and said.keys() == {"start", "stop", "step"}:
        return {"class_name": "slice", "config": said}
    return said


def _tensor(said: Sequence[Any], skipped: Collection[str]) -> dict[str, Any]:
    name, call, place = said[:3]
    if not (isinstance(call, int) and isinstance(place, int)):
        raise DamagedArchiveError("a tensor does not name the layer that computes it")
    return {"class_name": TENSOR, "config": {"keras_history": [name, call - (name in skipped), place]}}


# Weights


def _placed(network: LayerConfig, layers: Mapping[str, Stored]) -> Iterator[tuple[str, Array]]:
    """The weights of a network's layers, under the paths of a `.keras` file."""
    for layer in network.children():
        yield from _of_layer(layer, layers.get(layer.name, ()))


def _of_layer(layer: LayerConfig, stored: Stored) -> Iterator[tuple[str, Array]]:
    """The weights of a layer, in the order of its sublayers."""
    if layer.kind in NETWORKS and "layers" in layer.options:
        yield from _of_network(layer, stored)
    elif layer.kind == "Bidirectional":
        half = len(stored) // 2
        for option, own in (("forward_layer", stored[:half]), ("backward_layer", stored[half:])):
            yield from _of_layer(layer.child(option, layer.get("layer")), own)
    elif layer.kind in ("TimeDistributed", "SpectralNormalization"):
        yield from _of_layer(layer.child("layer", layer.get("layer")), stored)
    elif layer.kind == "RNN":
        yield from _of_cells(layer.child("cell", layer.get("cell")), stored)
    elif layer.kind in RECURRENT or layer.kind.startswith("ConvLSTM"):
        yield from _numbered(f"{layer.path}cell/", stored)
    elif layer.kind in ("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"):
        for name, value in stored:
            part = PROJECTIONS.get(name.rsplit("/", 2)[-2] if "/" in name else "", "")
            yield f"{layer.path}{part}/vars/{int('bias' in name.rpartition('/')[2])}", value
    else:
        yield from _numbered(layer.path, stored)


def _numbered(path: str, stored: Stored) -> Iterator[tuple[str, Array]]:
    yield from ((f"{path}vars/{i}", value) for i, (_, value) in enumerate(stored))


def _of_cells(cell: LayerConfig, stored: Stored) -> Iterator[tuple[str, Array]]:
    """The weights of consecutive cells: each has a kernel, a recurrent kernel and perhaps a bias."""
    for one in cell.children("cells") if cell.kind == "StackedRNNCells" else [cell]:
        count = 3 if one.flag("use_bias", True) else 2
        yield from _numbered(one.path, stored[:count])
        stored = stored[count:]


def _of_network(network: LayerConfig, stored: Stored) -> Iterator[tuple[str, Array]]:
    """The weights of a nested network: all trainable ones come first, and only their names tell the layer."""
    leaves = list(_leaves(network, ()))
    own: dict[int, list[tuple[str, Array]]] = {}
    for name, value in stored:
        folder = f"/{name.rpartition('/')[0]}/"
        fitting = [i for i, (layer, _) in enumerate(leaves) if f"/{layer.name}/" in folder]
        if not fitting:
            raise MoteError(
                f"no layer of '{network.name}' has the name of its weight '{name}'",
                remedy="give the layers of the network their names before it is built, and save the model again",
            )
        best = max(fitting, key=lambda i: (sum(f"/{n}/" in folder for n in leaves[i][1]), len(leaves[i][0].name)))
        own.setdefault(best, []).append((name, value))
    for i, weights in own.items():
        yield from _of_layer(leaves[i][0], weights)


def _leaves(network: LayerConfig, around: tuple[str, ...]) -> Iterator[tuple[LayerConfig, tuple[str, ...]]]:
    """The layers of a network and of nested ones, each with the names of the networks that contain it."""
    for layer in network.children():
        if layer.kind in NETWORKS and "layers" in layer.options:
            yield from _leaves(layer, (*around, layer.name))
        else:
            yield layer, around
