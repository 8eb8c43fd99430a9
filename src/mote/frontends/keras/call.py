"""A call of a layer, as the parsers of layers see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import moves
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras.config import LayerConfig
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array, Shape

Results = Value | Sequence[Value]
CHANNELS_LAST, CHANNELS_FIRST = "channels_last", "channels_first"


@dataclass(frozen=True)
class LayerCall:
    """A layer and its arguments: values in place of tensors, anything else as in the file."""

    b: Builder
    layer: LayerConfig
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    apply: Callable[[LayerConfig, Sequence[Any], Mapping[str, Any]], Results]
    """Calls a layer that is inside of this one."""
    masks: MutableMapping[Value, Value] = field(default_factory=dict)
    """Masks of values with masked steps: booleans [batch, steps]."""
    made: dict[Value, Value] = field(default_factory=dict)
    """Masks that the layer itself computes for its results."""
    codes: MutableMapping[int, tuple[Shape, Callable[[Quantization], Value]]] = field(default_factory=dict)
    """Integer versions of products, by the tensors that hold them: their shapes, and functions that build them
    quantized."""

    @property
    def values(self) -> list[Value]:
        """The values of the first argument, which may be a list."""
        values = list(flat(self.args[0] if self.args else None))
        if not values:
            raise UnsupportedNodeError("it is called with no tensor")
        return values

    @property
    def x(self) -> Value:
        """The only input value."""
        inputs = self.values
        if len(inputs) != 1:
            raise UnsupportedNodeError(f"it is called with {len(inputs)} tensors, not one")
        return inputs[0]

    def argument(self, name: str, position: int, default: Any = None) -> Any:
        """An argument by position or by name."""
        return self.args[position] if position < len(self.args) else self.kwargs.get(name, default)

    def weight(self, number: int | str, shape: Sequence[int | None], what: str) -> Array:
        return self.layer.weight(number, shape, what)

    def bias(self, number: int, channels: int) -> Array | None:
        """The bias, if the layer has one."""
        return self.weight(number, (channels,), "bias") if self.layer.flag("use_bias", True) else None

    @property
    def mask(self) -> Value | None:
        """The mask of the first value: from the call, or from the value; None where no step is masked."""
        given = self.kwargs.get("mask")
        mask = next(flat(given), None) if given is not None else self.masks.get(self.values[0])
        if given is not None and mask is None:
            raise UnsupportedNodeError("a mask that is not a tensor is not supported")
        return mask

    def refuse_mask(self) -> None:
        """Refuse masked inputs, for layers that would use a mask in an unsupported way."""
        if self.mask is not None:
            raise UnsupportedNodeError("a mask of its sequence is not supported (Masking, Embedding with mask_zero)")

    @property
    def channels_first(self) -> bool:
        return self.layer.options.get("data_format") == CHANNELS_FIRST


def only(results: Results) -> Value:
    """The value of a layer with a single result."""
    if isinstance(results, Value):
        return results
    if len(results) != 1:
        raise UnsupportedNodeError(f"a sublayer returns {len(results)} values, not one")
    return results[0]


def flat(given: Any) -> Iterator[Value]:
    """All values in a nested argument, in order."""
    if isinstance(given, Value):
        yield given
    elif isinstance(given, Mapping):
        for name in sorted(given):
            yield from flat(given[name])
    elif isinstance(given, list | tuple):
        for part in given:
            yield from flat(part)


def channels_second(b: Builder, x: Value, first: bool) -> Value:
    """An image (or a sequence, or a volume) with its channels on axis 1, unless they are there already."""
    return x if first or x.rank < 3 else moves.transpose(b, x, (0, x.rank - 1, *range(1, x.rank - 1)))


def channels_back(b: Builder, x: Value, first: bool) -> Value:
    """An image with its channels moved back from axis 1 to the last axis, unless the model has them first."""
    return x if first or x.rank < 3 else moves.transpose(b, x, (0, *range(2, x.rank), 1))


Parser = Callable[[LayerCall], Results]
