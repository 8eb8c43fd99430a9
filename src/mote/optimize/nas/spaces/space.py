"""Search spaces of networks: decisions, choices, and the network of a choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from random import Random
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.stated import parts
from mote.optimize.nas.spaces.blocks import BlockValues
from mote.optimize.nas.spaces.layer_stack import LayerStack
from mote.optimize.nas.spaces.layers import DenseLayer, LastLayer, MeanLayer, Shape
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.spaces.options import STAGE_OPTIONS, Options, OptionValue, listed, pair
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage

Choice = Mapping[str, Any]
"""A JSON value for every active decision, by decision name. Decisions about blocks beyond the chosen depth are omitted,
so that different choices are different networks."""
KINDS = ("image", "spectrogram", "series", "table")
"""Kinds of data, with samples of shape (height, width, channels), (time, bins, channels), (time, 1, channels),
(features,)."""
_PIXELS = ("camera", "gray", "crop")
"""Preprocessing steps that run before an image is resized."""


@dataclass(frozen=True)
class SpaceDecision:
    """A decision with several values."""

    name: str
    values: tuple[OptionValue, ...]
    """Its values, ascending in network size."""
    depth: str = ""
    """Name of the depth decision that can deactivate this one, for blocks beyond the minimum depth."""
    block: int = 0
    """Number of the block in its stage, from 1."""

    def active(self, choice: Choice) -> bool:
        """Whether the decision is active: the chosen depth includes its block."""
        return not self.depth or bool(choice[self.depth] >= self.block)


@dataclass(frozen=True)
class SearchSpace:
    """A search space of networks: a stem, stages of blocks, and a head."""

    name: str
    stages: Sequence[SpaceStage] = ()
    stem: SpaceStage | None = None
    """Optional first block before the stages."""
    head: SpaceHead = field(default_factory=SpaceHead)
    resolution: Options | None = None
    """Image heights to choose from: integers, or fractions of the data's such as 0.5; widths keep the aspect ratio."""
    preprocess: Options = ""
    """Preprocessing steps to choose from, as `mote compile --preprocess` takes them."""
    causal: bool = False
    """Whether windows never read later rows (time steps), so that networks can stream."""
    kinds: Sequence[str] = ()
    """Kinds of data that it is for; empty for any."""
    about: str = ""
    only: Mapping[str, Sequence[OptionValue]] = field(default_factory=dict)
    """Restricted values by decision name; see `narrowed`."""

    def __post_init__(self) -> None:
        self._check()

    @cached_property
    def decisions(self) -> tuple[SpaceDecision, ...]:
        """All decisions; a stage's depth comes before its blocks."""
        decisions = [SpaceDecision("preprocess", self._preprocess), SpaceDecision("resolution", self._resolution)]
        for name, stage in self._named:
            each = {option for option in stage.values if STAGE_OPTIONS[option].each}
            decisions += [SpaceDecision(f"{name}.{o}", v) for o, v in stage.values.items() if o not in each]
            depths = [int(depth) for depth in stage.values["depth"]]
            for number in range(1, depths[-1] + 1):
                depth = f"{name}.depth" if number > depths[0] else ""
                block = _block(name, number)
                decisions += [SpaceDecision(f"{block}.{o}", stage.values[o], depth, number) for o in sorted(each)]
        decisions += [SpaceDecision(f"head.{option}", values) for option, values in self.head.values.items()]
        return tuple(
            replace(decision, values=tuple(self.only.get(decision.name, decision.values)))
            for decision in decisions
            if len(decision.values) > 1
        )

    @cached_property
    def shared(self) -> bool:
        """Whether a supernet can hold all networks: the largest network has every layer of the others, at least as
        large."""
        stages = [stage for _, stage in self._named]
        resized = len(self._preprocess) > 1 or len(self._resolution) > 1
        hidden = self.head.values["hidden"]
        return (
            all(stage.kind.shared and _nested(stage.values.get("kernel", (1,))) for stage in stages)
            and not (resized and any(stage.kind.rows for stage in stages))
            and "flatten" not in self.head.values["pool"]
            and (0 not in hidden or hidden == (0,))
        )

    @property
    def skips(self) -> bool:
        """Whether all optional blocks have shortcuts: removing them then hardly changes the following layers' inputs,
        as weight sharing requires."""
        chosen = {decision.name for decision in self.decisions if len(decision.values) > 1}
        return all(stage.kind.shortcut or f"{name}.depth" not in chosen for name, stage in self._named)

    @property
    def size(self) -> int:
        """Number of different choices."""
        total = prod(len(decision.values) for decision in self.decisions if not self._depends_on_depth(decision))
        for name, stage in self._named:
            inside = [d for d in self.decisions if d.block and d.name.startswith(f"{name}.")]
            depths = self.only.get(f"{name}.depth", stage.values["depth"])
            ways = [prod(len(d.values) for d in inside if d.block <= int(depth)) for depth in depths]
            total *= sum(ways)
        return total

    def with_precision(self, precision: Options) -> SearchSpace:
        """The space with these precisions to choose from in every stage and the head."""
        stages = tuple(replace(stage, precision=precision) for stage in self.stages)
        stem = None if self.stem is None else replace(self.stem, precision=precision)
        return replace(self, stages=stages, stem=stem, head=replace(self.head, precision=precision))

    def narrowed(self, choices: Iterable[Choice]) -> SearchSpace:
        """The subspace of the values that occur in some choices."""
        seen: dict[str, list[OptionValue]] = {}
        for choice in choices:
            for name, value in choice.items():
                seen.setdefault(name, []).append(value)
        return replace(
            self, only={d.name: tuple(v for v in d.values if v in seen.get(d.name, d.values)) for d in self.decisions}
        )

    def random(self, rng: Random) -> Choice:
        """A random choice."""
        return self._completed({}, rng)

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        """A mutation of a choice: one decision changed, and on average one more."""
        open_ones = [d for d in self.decisions if d.name in choice and any(v != choice[d.name] for v in d.values)]
        if not open_ones:
            return choice
        sure = rng.choice(open_ones)
        changed = {d.name: d for d in open_ones if d is sure or rng.random() < 1 / len(open_ones)}
        values = {
            name: rng.choice([v for v in changed[name].values if v != value]) if name in changed else value
            for name, value in choice.items()
        }
        return self._completed(values, rng)

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        """Uniform crossover of two choices."""
        values: dict[str, Any] = {}
        for decision in self.decisions:
            if decision.active(values):
                name = decision.name
                values[name] = rng.choice([parent[name] for parent in (one, other) if name in parent])
        return values

    def smallest(self) -> Choice:
        """The choice with the smallest value of every decision."""
        return self._ends(0)

    def largest(self) -> Choice:
        """The choice with the largest value of every decision; the supernet of a shareable space."""
        return self._ends(-1)

    def input(self, choice: Choice, given: Shape) -> Shape:
        """The network's input shape for a choice, for samples of shape `given` before resizing."""
        value = _picked(choice, "resolution", self._resolution)
        if value == 1.0 and isinstance(value, float):
            return given
        if len(given) != 3:
            raise MoteError(
                f"a sample has the shape {given}, and no image can be resized to it",
                where=self._where,
                remedy="leave out resolution, which is for images",
            )
        rows = max(round(value * given[0]), 1) if isinstance(value, float) else int(value)
        return rows, max(round(given[1] * rows / given[0]), 1), given[2]

    def preprocessing(self, choice: Choice, given: Shape) -> str:
        """The preprocessing steps of a choice, with a resize step if its resolution differs from that of the
        samples."""
        text = str(_picked(choice, "preprocess", self._preprocess))
        size = self.input(choice, given)
        if size == given:
            return text
        steps = parts(text, self._where, "gray,scale=1/255")
        before = max((n for n, step in enumerate(steps, 1) if step.split("=")[0].split("(")[0] in _PIXELS), default=0)
        return ",".join([*steps[:before], f"resize={size[1]}x{size[0]}", *steps[before:]])

    def described(self, choice: Choice) -> str:
        """One-line summary of a choice: widths and depths of stages, and the resolution if it is a decision."""
        words = []
        for name, stage in self._named:
            width, depth = (
                _picked(choice, f"{name}.{option}", stage.values[option]) if option in stage.values else ""
                for option in ("width", "depth")
            )
            words.append(f"{width or stage.block}{f' x {depth}' if stage.values['depth'] != (1,) else ''}")
        at = f" at {choice['resolution']}" if "resolution" in choice else ""
        return ", ".join(words) + at

    def network(self, choice: Choice, given: Shape, outputs: int, classes: bool = True) -> Network:
        """The network of a choice, for samples of shape `given` after preprocessing but before resizing."""
        self.check(choice)
        size = self.input(choice, given)
        stack = LayerStack(size, self.causal)
        precisions: dict[str, str] = {}
        for name, stage in self._named:
            before = len(stack.layers)
            self._add_stage(stack, name, stage, choice)
            precisions |= _precisions(
                stack, before, str(_picked(choice, f"{name}.precision", stage.values["precision"]))
            )
        before = len(stack.layers)
        self._add_head(stack, choice, outputs)
        head = str(_picked(choice, "head.precision", self.head.values["precision"]))
        precisions |= _precisions(stack, before, head)
        return Network(size, tuple(stack.layers), classes, self.preprocessing(choice, given), precisions)

    def check(self, choice: Choice) -> None:
        """Raises an error for a choice that does not belong to this space."""
        names = {decision.name: decision for decision in self.decisions}
        for name in choice:
            if name not in names:
                remedy = f"{did_you_mean(name, names)}its decisions are: {', '.join(names) or 'none'}"
                raise MoteError(f"there is no decision '{name}'", where=self._where, remedy=remedy)
        for decision in self.decisions:
            if decision.active(choice) and choice.get(decision.name) not in decision.values:
                values = ", ".join(map(str, decision.values))
                reason = f"'{decision.name}' is {choice.get(decision.name)!r}"
                raise MoteError(reason, where=self._where, remedy=f"choose one of {values}")

    @property
    def _where(self) -> str:
        return f"space '{self.name}'"

    @cached_property
    def _named(self) -> tuple[tuple[str, SpaceStage], ...]:
        """Stem and stages with their names."""
        stages = [(f"stage{number}", stage) for number, stage in enumerate(self.stages, 1)]
        return (("stem", self.stem), *stages) if self.stem else tuple(stages)

    @cached_property
    def _preprocess(self) -> tuple[OptionValue, ...]:
        return listed("preprocess", self.preprocess)

    @cached_property
    def _resolution(self) -> tuple[OptionValue, ...]:
        values = listed("resolution", 1.0 if self.resolution is None else self.resolution)
        whole = all(type(value) is int and 1 <= value <= 4096 for value in values)
        if not whole and not all(type(value) is float and 0 < value <= 1 for value in values):
            remedy = "give rows as whole numbers, such as [24, 32], or fractions of the data's, such as [0.5, 1.0]"
            raise MoteError(f"resolution is {self.resolution!r}", where=self._where, remedy=remedy)
        return tuple(sorted(values))

    def _check(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise MoteError("it has no name", where="space", remedy='begin with name = "my-space"')
        if not self._named:
            raise MoteError("it has no stage", where=self._where, remedy='add [[stage]] with block = "conv", width = 8')
        if self.stem and self.stem.values["depth"] != (1,):
            raise MoteError("the stem has a depth", where=self._where, remedy="a stem is one block: make it a stage")
        for kind in self.kinds:
            if kind not in KINDS:
                near = did_you_mean(str(kind), KINDS)
                raise MoteError(f"there is no kind {kind!r}", where=self._where, remedy=f"{near}use {', '.join(KINDS)}")
        try:
            resized = len(self._resolution) > 1 or self._resolution != (1.0,)
            steps = self._preprocess
        except MoteError as error:
            error.where = self._where
            raise
        for text in steps:
            if not isinstance(text, str):
                remedy = 'give steps as text, such as "gray,scale=1/255", or a list of such to choose from'
                raise MoteError(f"preprocess is {text!r}", where=self._where, remedy=remedy)
            if ".py:" not in text:
                preprocessing(text)
            if resized and "resize" in text:
                remedy = "leave out one of them: resolution adds the step that resizes"
                raise MoteError("both resolution and preprocess resize images", where=self._where, remedy=remedy)

    def _depends_on_depth(self, decision: SpaceDecision) -> bool:
        """Whether a decision depends on the depth of its stage or is that depth."""
        return decision.block > 0 or decision.name.endswith(".depth")

    def _completed(self, values: Choice, rng: Random) -> Choice:
        """A complete choice: `values` for active decisions, and random values for missing ones."""
        choice: dict[str, Any] = {}
        for decision in self.decisions:
            if decision.active(choice):
                choice[decision.name] = values.get(decision.name, rng.choice(decision.values))
        return choice

    def _ends(self, end: int) -> Choice:
        choice: dict[str, Any] = {}
        for decision in self.decisions:
            if decision.active(choice):
                choice[decision.name] = decision.values[end]
        return choice

    def _add_stage(self, stack: LayerStack, name: str, stage: SpaceStage, choice: Choice) -> None:
        """Append the blocks of a stage."""
        where = f"{self._where}, {name}"
        if len(stack.shape) != 3 and stage.block != "mlp":
            remedy = "use the block 'mlp' for tables and behind other blocks of its kind"
            raise MoteError(f"block '{stage.block}' takes no vector", where=where, remedy=remedy)
        if stage.kind.sequence and stack.shape[1] != 1:
            shape = f"of {stack.shape[1]} columns"
            remedy = "put the block 'frames' before it, as the stem: it makes channels of columns"
            raise MoteError(f"block '{stage.block}' takes sequences, not maps {shape}", where=where, remedy=remedy)
        for number in range(1, int(_picked(choice, f"{name}.depth", stage.values["depth"])) + 1):
            block = _block(name, number)
            values = {
                option: _picked(choice, f"{block if STAGE_OPTIONS[option].each else name}.{option}", several)
                for option, several in stage.values.items()
            }
            keeps = stage.keeps if number == 1 else True
            stage.kind.build(stack, _values(block, values, stack.channels, keeps, number > 1))

    def _add_head(self, stack: LayerStack, choice: Choice, outputs: int) -> None:
        """Append the head."""
        values = {option: _picked(choice, f"head.{option}", v) for option, v in self.head.values.items()}
        activation = str(values["activation"])
        if len(stack.shape) == 3:
            if "width" in values:
                stack.conv("head.conv", int(values["width"]), activation=activation)
            if values["pool"] == "mean":
                stack.append(MeanLayer("head.mean", (stack.last,)))
            elif values["pool"] == "last":
                stack.append(LastLayer("head.last", (stack.last,)))
        if values["hidden"]:
            stack.append(DenseLayer("head.hidden", (stack.last,), units=int(values["hidden"]), activation=activation))
        stack.append(DenseLayer("head.logits", (stack.last,), units=outputs))


def _block(stage: str, number: int) -> str:
    """Name of a block; a stem has a single one."""
    return stage if stage == "stem" else f"{stage}.block{number}"


def _picked(choice: Choice, name: str, values: tuple[OptionValue, ...]) -> OptionValue:
    """The value of an option: its only one, or the chosen one in the type that the space declares."""
    return values[0] if len(values) == 1 else values[values.index(choice[name])]


def _values(name: str, values: Mapping[str, OptionValue], channels: int, keeps: bool, later: bool) -> BlockValues:
    sizes = {option: pair(values[option]) for option in ("kernel", "stride", "dilation") if option in values}
    if later:
        sizes["stride"] = (1, 1)
    return BlockValues(
        name,
        width=int(values.get("width", channels)),
        keeps=keeps,
        **sizes,
        expand=float(values.get("expand", 1)),
        heads=int(values.get("heads", 1)),
        activation=str(values.get("activation", "relu")),
    )


def _precisions(stack: LayerStack, first: int, precision: str) -> dict[str, str]:
    """Precisions by name for the layers from index `first` on: int4 applies to layers with weights, int16 to all
    (activations)."""
    if precision == "int8":
        return {}
    shapes = stack.shapes
    return {
        layer.name: precision
        for layer in stack.layers[first:]
        if precision == "int16" or layer.parameters(*(shapes[name] for name in layer.inputs))
    }


def _nested(kernels: tuple[OptionValue, ...]) -> bool:
    """Whether each kernel size contains the one before it along both axes."""
    return all(a <= c and b <= d for (a, b), (c, d) in pairwise(map(pair, kernels)))
