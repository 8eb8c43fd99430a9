"""Builder of a network's layers, appended one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mote.optimize.nas.spaces.layers import INPUT, AddLayer, ConvLayer, NetworkLayer, PoolLayer, Shape

Pair = tuple[int, int]
ONE = (1, 1)


@dataclass
class LayerStack:
    """The layers so far and their output shapes; a new layer reads the last one unless another source is named."""

    given: Shape
    """Shape of the network's input."""
    causal: bool = False
    layers: list[NetworkLayer] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    last: str = INPUT

    def __post_init__(self) -> None:
        self.shapes[INPUT] = self.given

    @property
    def shape(self) -> Shape:
        """Output shape of the last layer."""
        return self.shapes[self.last]

    @property
    def channels(self) -> int:
        """Output channels of the last layer."""
        return self.shape[-1]

    def append(self, layer: NetworkLayer) -> str:
        """Append a layer and return its name."""
        self.shapes[layer.name] = layer.shape(*(self.shapes[name] for name in layer.inputs))
        self.layers.append(layer)
        self.last = layer.name
        return layer.name

    def conv(
        self,
        name: str,
        filters: int,
        kernel: Pair = ONE,
        stride: Pair = ONE,
        dilation: Pair = ONE,
        *,
        activation: str = "none",
        branches: Sequence[int] = (),
        norm: bool = True,
        source: str = "",
    ) -> str:
        """Append a convolution of `source`, by default the last layer."""
        return self._window(name, filters, kernel, stride, dilation, activation, branches, norm, source or self.last)

    def depthwise(
        self,
        name: str,
        kernel: Pair,
        stride: Pair = ONE,
        dilation: Pair = ONE,
        *,
        activation: str = "none",
        branches: Sequence[int] = (),
    ) -> str:
        """Append a depthwise convolution of the last layer."""
        return self._window(name, 0, kernel, stride, dilation, activation, branches, True, self.last)

    def pool(self, name: str, kernel: Pair, stride: Pair, *, largest: bool = False) -> str:
        """Append pooling of the last layer."""
        height, width = (min(size, k) for size, k in zip(self.shape[:2], kernel, strict=True))
        return self.append(PoolLayer(name, (self.last,), (height, width), stride, ONE, "valid", largest))

    def add(self, name: str, other: str, activation: str = "none") -> str:
        """Append the sum of the last layer and another one."""
        return self.append(AddLayer(name, (self.last, other), activation))

    def _window(
        self,
        name: str,
        filters: int,
        kernel: Pair,
        stride: Pair,
        dilation: Pair,
        activation: str,
        branches: Sequence[int],
        norm: bool,
        source: str,
    ) -> str:
        """Append a convolution, with its kernel cropped to the taps that can read inside the input (a sequence has one
        column): to its center, or to its end along the time axis if causal."""
        sizes = self.shapes[source][:2]
        cut = [
            min(k, (size - 1 if self.causal and not axis else 2 * (size - 1)) // d + 1)
            for axis, (size, k, d) in enumerate(zip(sizes, kernel, dilation, strict=True))
        ]
        steps = [s if size > 1 else 1 for size, s in zip(sizes, stride, strict=True)]
        apart = [d if k > 1 else 1 for k, d in zip(cut, dilation, strict=True)]
        smaller = tuple(size for size in branches if size < max(cut))
        return self.append(
            ConvLayer(
                name,
                (source,),
                kernel=(cut[0], cut[1]),
                stride=(steps[0], steps[1]),
                dilation=(apart[0], apart[1]),
                padding="causal" if self.causal else "same",
                filters=filters,
                depthwise=not filters,
                activation=activation,
                norm=norm,
                branches=smaller,
            )
        )
