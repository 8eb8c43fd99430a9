"""Stages and heads of a search space: a kind of block, and values to choose from for each of its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.optimize.nas.spaces.blocks import BLOCKS, KEPT, REQUIRED, NetworkBlock
from mote.optimize.nas.spaces.options import STAGE_OPTIONS, Options, OptionValue, option_values

_COMMON: Mapping[str, OptionValue | None] = {"depth": 1, "precision": "int8"}


@dataclass(frozen=True)
class SpaceStage:
    """A sequence of blocks of one kind; the first one has the stage's stride. An option is a value or a sequence of
    values to choose from; None is the block's default."""

    block: str
    width: Options | None = None
    """Output channels; None keeps those of the input."""
    depth: Options | None = None
    """Number of blocks."""
    stride: Options | None = None
    kernel: Options | None = None
    """Kernel size, chosen separately for each block (as are expand and dilation); "5x1" is 5 rows (of time) and 1
    column."""
    expand: Options | None = None
    """Inner channels as a multiple of input channels (mobile, fused, tenet) or output channels (bottleneck,
    transformer)."""
    dilation: Options | None = None
    heads: Options | None = None
    activation: Options | None = None
    precision: Options | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.block, str) or self.block not in BLOCKS:
            near = did_you_mean(self.block, BLOCKS) if isinstance(self.block, str) else ""
            raise MoteError(f"block is {self.block!r}", remedy=f"{near}name one of {', '.join(BLOCKS)}")
        _ = self.values

    @property
    def kind(self) -> NetworkBlock:
        return BLOCKS[self.block]

    @cached_property
    def values(self) -> dict[str, tuple[OptionValue, ...]]:
        """Values of each option of the block, ascending in network size; without `width` if the input's is kept."""
        taken = {**_COMMON, **self.kind.options}
        for name in STAGE_OPTIONS:
            if name not in taken and getattr(self, name, None) is not None:
                remedy = f"{did_you_mean(name, taken)}it takes {', '.join(taken)}"
                raise MoteError(f"block '{self.block}' takes no {name}", remedy=remedy)
            if taken.get(name) == REQUIRED and getattr(self, name) is None:
                raise MoteError(f"block '{self.block}' needs {name}", remedy=f"add {name} = [8, 16], or one number")
        given = {name: getattr(self, name) for name in taken}
        whole = {name: taken[name] if value is None else value for name, value in given.items()}
        return {name: option_values(name, value) for name, value in whole.items() if value is not KEPT}

    @property
    def keeps(self) -> bool:
        """Whether the first block keeps its input's shape in every network of the space."""
        return "width" not in self.values and self.values.get("stride", (1,)) == (1,)


@dataclass(frozen=True)
class SpaceHead:
    """The head of a network: from the last feature map to the outputs."""

    pool: Options = "mean"
    """Pooling: `mean` over all positions, `last` row (time step), or `flatten`."""
    width: Options | None = None
    """Channels of a pointwise convolution before pooling; None for no such layer."""
    hidden: Options = 0
    """Units of a hidden fully connected layer; 0 for no such layer."""
    activation: Options = "relu"
    precision: Options = "int8"

    def __post_init__(self) -> None:
        _ = self.values

    @cached_property
    def values(self) -> dict[str, tuple[OptionValue, ...]]:
        """Values of each option, ascending in network size."""
        given = {name: getattr(self, name) for name in ("pool", "width", "hidden", "activation", "precision")}
        return {name: option_values(name, value) for name, value in given.items() if value is not None}
