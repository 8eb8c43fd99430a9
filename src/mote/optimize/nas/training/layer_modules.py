"""PyTorch modules of layers (channels first), whose tensors can be replaced by slices of a supernet's tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod, sqrt
from typing import Any, Generic, TypeVar
from zlib import crc32

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from mote.base.errors import MoteError
from mote.bench.execute.torch.float32.common import Value
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import Axis
from mote.optimize.nas.spaces.layers import (
    ActivationLayer,
    AddLayer,
    AttentionLayer,
    ConcatLayer,
    ConvLayer,
    DenseLayer,
    GruLayer,
    LastLayer,
    MeanLayer,
    MulLayer,
    NetworkLayer,
    NormLayer,
    PoolLayer,
    Shape,
    WindowLayer,
)

EPSILON = 1e-5
"""Epsilon of batch and layer normalization."""
MOMENTUM = 0.1
"""Momentum of batch normalization's running statistics."""
STATISTICS = ("mean", "variance")
"""Name suffixes of batch normalization statistics, which are not trained."""
ACTIVATE: Mapping[str, Callable[[Value], Value]] = {
    "none": lambda x: x,
    "relu": functional.relu,
    "relu6": functional.relu6,
    "hardswish": functional.hardswish,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}

Tensors = Mapping[str, Value]
"""A layer's weights and batch normalization statistics, by name."""
Kind = TypeVar("Kind", bound=NetworkLayer)


class LayerModule(nn.Module, Generic[Kind]):
    """PyTorch module of a layer. Feature maps are [samples, channels, height, width], vectors [samples, elements]."""

    def __init__(self, layer: Kind, given: Sequence[Shape], seed: int | None = 0) -> None:
        super().__init__()
        self.layer = layer
        self.given = tuple(given)
        """Input shapes of one sample, channels last."""
        if seed is None:
            return
        random = torch.Generator().manual_seed(crc32(f"{seed} {layer.name}".encode()))
        for name, value in self.initial(random).items():
            if name.rpartition(".")[2] in STATISTICS:
                self.register_buffer(_key(name), value)
            else:
                self.register_parameter(_key(name), nn.Parameter(value))

    def initial(self, random: torch.Generator) -> dict[str, Value]:
        """Initial values of the layer's tensors, by name."""
        return {}

    def tensors(self) -> dict[str, Value]:
        """The layer's tensors by name."""
        own = [*self.named_parameters(recurse=False), *self.named_buffers(recurse=False)]
        return {_name(key): value for key, value in own}

    def forward(self, *inputs: Value) -> Value:
        return self.compute(self.tensors(), *inputs)

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        """The output computed with these tensors. If they include no running statistics, batch normalization uses those
        of the batch."""
        raise NotImplementedError

    def sliced(self, layer: Kind, given: Sequence[Shape]) -> dict[str, Value]:
        """Slices of the tensors for a layer of equal name that is at most as large, with inputs of these shapes."""
        if self.tensors():
            raise MoteError(f"weights of a {type(layer).__name__} cannot be shared", where=layer.name)
        return {}

    def export(self) -> dict[str, Array]:
        """Trained constants as arrays, in the shapes of `NetworkLayer.parameters`."""
        return {}


def _key(name: str) -> str:
    return name.replace(".", "_of_")


def _name(key: str) -> str:
    return key.replace("_of_", ".")


class WeightModule(LayerModule[Kind]):
    """Module of a layer with weights, followed by batch normalization or a bias."""

    momentum = MOMENTUM
    """Momentum of the running statistics."""

    def normalized(self, tensors: Tensors, sums: Value, of: str = "") -> Value:
        """Applies batch normalization, with running statistics unless in training mode; also with running statistics if
        each channel has a single value."""
        mean, variance = tensors.get(f"{of}mean"), tensors.get(f"{of}variance")
        batch = mean is None or (self.training and sums.numel() > sums.shape[1])
        return functional.batch_norm(
            sums, mean, variance, tensors[f"{of}scale"], tensors[f"{of}shift"], batch, self.momentum, EPSILON
        )

    def folded(self, weights: Value, of: str = "") -> tuple[Array, Array]:
        """Weights [channels, ...] with batch normalization folded in, and the folded bias."""
        tensors = {name: value.detach().cpu().double() for name, value in self.tensors().items()}
        kernel = weights.detach().cpu().double()
        if f"{of}scale" not in tensors:
            return kernel.numpy(), tensors[f"{of}bias"].numpy()
        factor = tensors[f"{of}scale"] / torch.sqrt(tensors[f"{of}variance"] + EPSILON)
        bias = tensors[f"{of}shift"] - tensors[f"{of}mean"] * factor
        return (kernel * factor.reshape(-1, *(1,) * (kernel.dim() - 1))).numpy(), bias.numpy()


def _norm(channels: int, of: str = "") -> dict[str, Value]:
    """Initial batch normalization tensors."""
    return {
        f"{of}scale": torch.ones(channels),
        f"{of}shift": torch.zeros(channels),
        f"{of}mean": torch.zeros(channels),
        f"{of}variance": torch.ones(channels),
    }


class ConvModule(WeightModule[ConvLayer]):
    """Module of a convolution with kernel [filters, channels, height, width], or [channels, 1, height, width] if
    depthwise.

    Tensors of a parallel branch have its kernel size as prefix: `3.weights`, `0.scale`."""

    def initial(self, random: torch.Generator) -> dict[str, Value]:
        layer, channels = self.layer, self.given[0][2]
        filters, depth = (channels, 1) if layer.depthwise else (layer.filters, channels)

        def kernel(size: tuple[int, int]) -> Value:
            return torch.randn(filters, depth, *size, generator=random) * sqrt(2 / (depth * prod(size)))

        tensors = {"weights": kernel(layer.kernel)}
        tensors |= _norm(filters) if layer.norm else {"bias": torch.zeros(filters)}
        for branch in layer.branches:
            if branch:
                tensors[f"{branch}.weights"] = kernel(branch_kernel(layer, branch))
            elif filters != channels:
                raise MoteError(f"an identity from {channels} to {filters} channels", where=layer.name)
            tensors |= _norm(filters, f"{branch}.")
        return tensors

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        (x,) = inputs
        layer = self.layer
        axes = layer.axes((*x.shape[2:], x.shape[1]))
        if layer.branches:
            x, axes = _pad(x, axes), _without_padding(axes)
        sums = _convolve(x, tensors["weights"], axes, layer.depthwise, tensors.get("bias"))
        total = self.normalized(tensors, sums) if layer.norm else sums
        for branch in layer.branches:
            size, cut = branch_kernel(layer, branch), x
            for dim, (axis, begin, length) in enumerate(zip(axes, crop_begins(layer, size), size, strict=True), 2):
                cut = cut.narrow(dim, begin * axis.dilation, x.shape[dim] - (axis.kernel - length) * axis.dilation)
            if branch:
                shorter = [replace(axis, kernel=length) for axis, length in zip(axes, size, strict=True)]
                part = _convolve(cut, tensors[f"{branch}.weights"], shorter, layer.depthwise)
            else:
                part = cut[:, :, :: axes[0].stride, :: axes[1].stride]
            total = total + self.normalized(tensors, part, f"{branch}.")
        return ACTIVATE[layer.activation](total)

    def sliced(self, layer: ConvLayer, given: Sequence[Shape]) -> dict[str, Value]:
        """Slices of the leading channels and of the kernels' center; see `crop_begins`."""
        channels = given[0][2]
        filters, depth = (channels, 1) if layer.depthwise else (layer.filters, channels)
        tensors = {name: value for name, value in self.tensors().items() if _branch(name) in (None, *layer.branches)}
        for name, value in tensors.items():
            if value.dim() == 1:
                tensors[name] = value[:filters]
                continue
            branch, outer = _branch(name), (value.shape[2], value.shape[3])
            height, width = layer.kernel if branch is None else branch_kernel(layer, branch)
            top, side = crop_begins(replace(self.layer, kernel=outer), (height, width))
            tensors[name] = value[:filters, :depth, top : top + height, side : side + width]
        return tensors

    def export(self) -> dict[str, Array]:
        layer, tensors = self.layer, self.tensors()
        kernel, bias = self.folded(tensors["weights"])
        for branch in layer.branches:
            filters, depth = kernel.shape[:2]
            identity = torch.eye(filters)[:, :, None, None] if depth > 1 else torch.ones(filters, 1, 1, 1)
            part, more = self.folded(tensors[f"{branch}.weights"] if branch else identity, f"{branch}.")
            (top, side), (height, width) = crop_begins(layer, part.shape[2:]), part.shape[2:]
            kernel[:, :, top : top + height, side : side + width] += part
            bias = bias + more
        last = np.moveaxis(kernel, 1, 3)
        weights = last[..., 0].transpose(1, 2, 0) if layer.depthwise else last
        return {"weights": _float(weights), "bias": _float(bias)}


def _branch(name: str) -> int | None:
    """Kernel size of the branch that a tensor belongs to; None for the main kernel."""
    of, point, _ = name.partition(".")
    return int(of) if point else None


def branch_kernel(layer: ConvLayer, branch: int) -> tuple[int, int]:
    """Kernel shape of a branch, capped at the layer's own along each axis."""
    height, width = layer.kernel
    return min(branch or 1, height), min(branch or 1, width)


def crop_begins(layer: WindowLayer, size: Sequence[int]) -> tuple[int, int]:
    """Offset of a cropped kernel in a layer's kernel: centered, but at the end along the time axis if causal."""
    (height, width), (rows, columns) = layer.kernel, size
    return height - rows if layer.padding == "causal" else (height - rows) // 2, (width - columns) // 2


def _convolve(x: Value, kernel: Value, axes: Sequence[Axis], depthwise: bool, bias: Value | None = None) -> Value:
    height, width = axes
    symmetric = all(axis.before == axis.after for axis in axes)
    x = x if symmetric else _pad(x, axes)
    padding = (height.before, width.before) if symmetric else (0, 0)
    return functional.conv2d(
        x,
        kernel,
        bias,
        stride=(height.stride, width.stride),
        padding=padding,
        dilation=(height.dilation, width.dilation),
        groups=x.shape[1] if depthwise else 1,
    )


def _pad(x: Value, axes: Sequence[Axis], value: float = 0.0) -> Value:
    height, width = axes
    amounts = (width.before, width.after, height.before, height.after)
    return functional.pad(x, amounts, value=value) if any(amounts) else x


def _without_padding(axes: Sequence[Axis]) -> tuple[Axis, Axis]:
    height, width = (replace(axis, before=0, after=0) for axis in axes)
    return height, width


class DenseModule(WeightModule[DenseLayer]):
    """Module of a fully connected layer with weights [units, elements], elements in channels-last order."""

    def initial(self, random: torch.Generator) -> dict[str, Value]:
        units, elements = self.layer.units, prod(self.given[0])
        gain = 1 if self.layer.activation == "none" else 2
        tensors = {"weights": torch.randn(units, elements, generator=random) * sqrt(gain / elements)}
        return tensors | (_norm(units) if self.layer.norm else {"bias": torch.zeros(units)})

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        sums = functional.linear(flat(inputs[0]), tensors["weights"], tensors.get("bias"))
        return ACTIVATE[self.layer.activation](self.normalized(tensors, sums) if self.layer.norm else sums)

    def sliced(self, layer: DenseLayer, given: Sequence[Shape]) -> dict[str, Value]:
        tensors = {name: value[: layer.units] for name, value in self.tensors().items()}
        slices = [slice(size) for size in given[0]]
        elements = tensors["weights"].reshape(layer.units, *self.given[0])
        return tensors | {"weights": elements[:, *slices].reshape(layer.units, -1)}

    def export(self) -> dict[str, Array]:
        weights, bias = self.folded(self.tensors()["weights"])
        return {"weights": _float(weights), "bias": _float(bias)}


def flat(x: Value) -> Value:
    """Flattens samples in channels-last order."""
    return x if x.dim() == 2 else x.permute(0, 2, 3, 1).flatten(1)


class PoolModule(LayerModule[PoolLayer]):
    """Module of pooling; average pooling excludes padding."""

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        (x,) = inputs
        layer = self.layer
        axes = layer.axes((*x.shape[2:], x.shape[1]))
        if layer.largest:
            padded = _pad(x, axes, -torch.inf)
            return functional.max_pool2d(padded, layer.kernel, layer.stride, dilation=layer.dilation)
        if layer.dilation != (1, 1):
            raise MoteError("average pooling has no dilation", where=layer.name)
        sums = functional.avg_pool2d(_pad(x, axes), layer.kernel, layer.stride)
        if all(axis.before == axis.after == 0 for axis in axes):
            return sums
        ones = torch.ones(1, 1, *x.shape[2:], device=x.device)
        return sums / functional.avg_pool2d(_pad(ones, axes), layer.kernel, layer.stride)


class MeanModule(LayerModule[MeanLayer]):
    """Module of a mean over height, width or both."""

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        axes = self.layer.axes
        return inputs[0].mean([axis + 2 for axis in axes], keepdim=axes != (0, 1))


class LastModule(LayerModule[LastLayer]):
    """Module that selects the last time step of a sequence."""

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        return inputs[0][:, :, -1].permute(0, 2, 1).flatten(1)


class AddModule(LayerModule[AddLayer]):
    """Module of a sum of two inputs."""

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        one, other = _equal_rank(*inputs)
        return ACTIVATE[self.layer.activation](one + other)


class MulModule(LayerModule[MulLayer]):
    """Module of a product of two inputs."""

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        one, other = _equal_rank(*inputs)
        return one * other


def _equal_rank(one: Value, other: Value) -> tuple[Value, Value]:
    """Both inputs with equal rank: a vector next to a feature map becomes [samples, channels, 1, 1]."""
    rank = max(one.dim(), other.dim())
    one, other = (x if x.dim() == rank else x[:, :, None, None] for x in (one, other))
    return one, other


class ActivationModule(LayerModule[ActivationLayer]):
    """Module of a separate activation."""

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        return ACTIVATE[self.layer.activation](inputs[0])


class ConcatModule(LayerModule[ConcatLayer]):
    """Module of a concatenation along the channels."""

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        return torch.cat(inputs, 1)


class GruModule(LayerModule[GruLayer]):
    """Module of a GRU, with tensors in PyTorch's gate order."""

    def initial(self, random: torch.Generator) -> dict[str, Value]:
        units, shapes = self.layer.units, self.layer.parameters(*self.given)
        recurrent = torch.cat([_orthogonal(units, random) for _ in range(3)])
        kernel = torch.randn(shapes["kernel"], generator=random) * sqrt(1 / shapes["kernel"][1])
        return {
            "kernel": kernel,
            "recurrent": recurrent,
            "bias": torch.zeros(3 * units),
            "recurrent_bias": torch.zeros(3 * units),
        }

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        rows = inputs[0][..., 0].permute(2, 0, 1)
        state = rows.new_zeros(1, rows.shape[1], self.layer.units)
        weights = [tensors[name] for name in ("kernel", "recurrent", "bias", "recurrent_bias")]
        outputs: Value
        outputs, _ = torch.gru(rows, state, weights, True, 1, 0.0, self.training, False, False)
        return outputs.permute(1, 2, 0)[..., None]

    def export(self) -> dict[str, Array]:
        return _arrays(self.tensors())


def _orthogonal(size: int, random: torch.Generator) -> Value:
    matrix, signs = torch.linalg.qr(torch.randn(size, size, generator=random))
    turned: Value = matrix * signs.diagonal().sign()
    return turned


class NormModule(LayerModule[NormLayer]):
    """Module of layer normalization over the channels."""

    def initial(self, random: torch.Generator) -> dict[str, Value]:
        return {"scale": torch.ones(self.given[0][-1]), "bias": torch.zeros(self.given[0][-1])}

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        x = inputs[0].movedim(1, -1)
        scale, bias = tensors["scale"], tensors["bias"]
        return functional.layer_norm(x, scale.shape, scale, bias, EPSILON).movedim(-1, 1)

    def export(self) -> dict[str, Array]:
        return _arrays(self.tensors())


class AttentionModule(LayerModule[AttentionLayer]):
    """Module of multi-head self-attention over time; scores are divided by the square root of the head size."""

    def initial(self, random: torch.Generator) -> dict[str, Value]:
        shapes = self.layer.parameters(*self.given)
        return {
            name: torch.zeros(shape)
            if len(shape) == 1
            else torch.randn(shape, generator=random) * sqrt(2 / (shape[0] + shape[1]))
            for name, shape in shapes.items()
        }

    def compute(self, tensors: Tensors, *inputs: Value) -> Value:
        rows = inputs[0][..., 0].permute(0, 2, 1)
        heads = (*rows.shape[:2], self.layer.heads, self.layer.size)
        query, key, value = (
            functional.linear(rows, tensors[name], tensors[f"{name}_bias"]).reshape(heads)
            for name in ("query", "key", "value")
        )
        scores = torch.einsum("nqhs,nkhs->nhqk", query, key) / sqrt(self.layer.size)
        mixed = torch.einsum("nhqk,nkhs->nqhs", scores.softmax(-1), value).flatten(2)
        return functional.linear(mixed, tensors["out"], tensors["out_bias"]).permute(0, 2, 1)[..., None]

    def export(self) -> dict[str, Array]:
        return _arrays(self.tensors())


def _arrays(tensors: Tensors) -> dict[str, Array]:
    return {name: _float(value.detach().cpu().numpy()) for name, value in tensors.items()}


def _float(values: Array) -> Array:
    return np.ascontiguousarray(values, np.float32)


MODULES: Mapping[type[NetworkLayer], type[LayerModule[Any]]] = {
    ConvLayer: ConvModule,
    DenseLayer: DenseModule,
    PoolLayer: PoolModule,
    MeanLayer: MeanModule,
    LastLayer: LastModule,
    AddLayer: AddModule,
    MulLayer: MulModule,
    ActivationLayer: ActivationModule,
    ConcatLayer: ConcatModule,
    GruLayer: GruModule,
    NormLayer: NormModule,
    AttentionLayer: AttentionModule,
}


def layer_module(layer: NetworkLayer, given: Sequence[Shape], seed: int = 0) -> LayerModule[Any]:
    """The PyTorch module of a layer, for inputs of these shapes."""
    return MODULES[type(layer)](layer, given, seed)
