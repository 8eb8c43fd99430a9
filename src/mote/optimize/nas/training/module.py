"""A network as a PyTorch module."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from mote.base.errors import MoteError
from mote.bench.execute.torch.float32.common import Value
from mote.bench.execute.torch.module import LearnerModule
from mote.ir.graph.tensor import Array
from mote.optimize.nas.spaces.layers import INPUT, NetworkLayer
from mote.optimize.nas.spaces.network import Network, Weights
from mote.optimize.nas.training.layer_modules import LayerModule, flat, layer_module
from mote.optimize.train.training import repeatable

CHUNK = 512
"""Batch size for evaluation."""


class NetworkModule(LearnerModule):
    """A trainable network: takes samples [n, height, width, channels] or [n, features], returns logits or regression
    values. Equal seeds give equal initial weights on every machine."""

    static = True

    def __init__(self, network: Network, seed: int = 0) -> None:
        super().__init__()
        self.network = network
        self.layers = nn.ModuleDict(
            {_key(layer.name): layer_module(layer, network.given(layer), seed) for layer in network.layers}
        )

    def layer(self, name: str) -> LayerModule[NetworkLayer]:
        """The module of a layer by layer name."""
        module = self.layers[_key(name)]
        assert isinstance(module, LayerModule)
        return module

    def has(self, name: str) -> bool:
        """Whether the network has a layer of this name."""
        return _key(name) in self.layers

    def forward(self, x: Value) -> Value:
        return computed(self.network, x, lambda layer, inputs: self.layer(layer.name)(*inputs))

    def scores(self, *inputs: Value) -> Value:
        return self.forward(*inputs)

    def outcome(self, *inputs: Value) -> Value:
        return self.forward(*inputs)

    def confident(self) -> bool:
        return self.network.classes

    def weights(self) -> Weights:
        """Trained constants, with batch normalization and branches folded."""
        return {
            layer.name: constants for layer in self.network.layers if (constants := self.layer(layer.name).export())
        }

    def state(self) -> bytes:
        """Serialized tensors, from which training can continue in another process."""
        stream = io.BytesIO()
        torch.save({name: value.cpu() for name, value in self.state_dict().items()}, stream)
        return stream.getvalue()

    def load_state(self, state: bytes) -> NetworkModule:
        """Loads tensors serialized by `state`."""
        self.load_state_dict(torch.load(io.BytesIO(state), map_location="cpu", weights_only=True))
        return self

    def predict(self, inputs: Array) -> Array:
        """Outputs for any number of samples, in evaluation mode on one thread."""
        home, before = next(self.parameters()).device, self.training
        self.eval()
        with torch.inference_mode(), repeatable(1):
            parts = [
                self(torch.from_numpy(np.ascontiguousarray(inputs[i : i + CHUNK], np.float32)).to(home)).cpu().numpy()
                for i in range(0, len(inputs), CHUNK)
            ]
        self.train(before)
        return np.concatenate(parts)


def computed(network: Network, x: Value, compute: Callable[[NetworkLayer, list[Value]], Value]) -> Value:
    """Runs a network whose layers are computed by a callback (channels first), on samples [n, ...] (channels last)."""
    if tuple(x.shape[1:]) != network.input:
        shown = ", ".join(map(str, network.input))
        raise MoteError(f"the samples have the shape {list(x.shape)}, it should be [samples, {shown}]")
    values = {INPUT: x.permute(0, 3, 1, 2) if x.dim() == 4 else x}
    for layer in network.layers:
        values[layer.name] = compute(layer, [values[name] for name in layer.inputs])
    return flat(values[network.layers[-1].name])


def _key(name: str) -> str:
    """Layer name as a valid PyTorch module name."""
    return name.replace(".", "/")
