"""What a user asks for: one small class of options for each arrow of the line, and Settings, their sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mote import targets
from mote.compiler.options import check_names, check_types, parsed
from mote.errors import MoteError
from mote.frontends import EDGES, FEATURES
from mote.kernels import cost
from mote.kernels.contract import Fixed
from mote.kernels.cost import Costs
from mote.plan.request import Policy
from mote.targets import Reads, Target

OPTIMIZE = tuple(Policy)
NUMERICS = ("litert", "tflm")
IO = ("model", "int8")
INPUT = ("whole", "rows")
STEP = ("", "layer", "row")
PLACES = ("flash", "ram")
CYCLES = "cycles"
"""The unit of costs that time is told by."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a model file is read."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The shapes of inputs, by name, where the model leaves them open or other ones are wanted."""
    edges: str = EDGES[0]
    """How images lie in inputs and outputs of the C: channels-last, as kernels take them, or as in the model."""
    features: str = FEATURES[0]
    """The type of the features that a forest is given."""
    outputs: tuple[str, ...] = ()
    """The only outputs that are wanted, by name, where not all are."""
    signature: str = ""
    """The signature that is wanted of a `.tflite` file that has several."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """The values of inputs that always have the same, by name."""


@dataclass(frozen=True)
class Machine:
    """What a model is compiled for."""

    target: Target
    fixed: Fixed | None = field(default=None, kw_only=True)
    """The kernels of the runtime that the model is packed for: no others may be chosen. Not for users to say."""


@dataclass(frozen=True, kw_only=True)
class Passing(Machine):
    """What passes may do to the graph."""

    io: str = "model"
    numerics: str = "litert"
    shrink: bool = True
    """Remove what cannot matter: channels, mostly."""
    stream: int | None = None
    """The axis of the input along which the model's window slides: only what is new is taken and computed."""
    hop: int = 0
    """How many elements of that axis are new every time; 0: as few as the model's strides allow."""
    causal: bool = False
    """Padding at the window's edges may be turned into what was before the stream."""


@dataclass(frozen=True, kw_only=True)
class Planning(Machine):
    """What is asked of a plan. `ram` and `flash` are budgets in bytes on top of the target's own memories."""

    optimize: str = "balanced"
    ram: int | None = None
    flash: int | None = None
    latency: float | None = None
    """Seconds that an inference may take, by the estimate, at the part's clock: the plan with the least RAM, then the
    least flash, that takes no longer."""
    cycles: int | None = None
    """Cycles that an inference may take, instead of seconds."""
    least_ram: bool = False
    """The plan with the least RAM, whatever it costs in speed."""
    input: str = "whole"
    """rows: the caller hands the input over row by row, so that it is never in RAM whole."""
    red_zones: bool = False
    """A debug build: run fails with MOTE_BROKEN where a kernel writes outside of its buffers."""
    step: str = ""
    """What a call of the step function does at most: a layer, or a row of a layer; either way the header says how long
    that takes. Without it a step is a piece of the plan."""
    recompute: float = 0.0
    """Percent of the model's MACs that may be done twice to need less RAM."""
    kernels: Mapping[str, str] = field(default_factory=dict)
    """Layers, by name or by the number that `mote plan` prints, and the kernels that they must have, by name or
    family."""
    place_code: str = "flash"
    """ram: inner loops are executed from RAM, on a part whose flash makes them wait."""
    ram_code: int = 0
    """Bytes of RAM that code takes: found by building it, not for users to say."""

    @property
    def costs(self) -> Costs:
        """What kernels take on the target."""
        table = cost.load(self.target.costs, f"target {self.target.name}")
        return table.on(self.target.constant_reads, self._code_reads)

    @property
    def _code_reads(self) -> Reads:
        """What fetching the code of inner loops costs."""
        if self.place_code == "flash":
            return self.target.code_reads
        return self.target.code_rams[0].reads if self.target.code_rams else Reads()

    @property
    def cycle_limit(self) -> int | None:
        """The cycles that an inference may take."""
        if self.latency is None:
            return self.cycles
        return int(self.latency * (self.target.clock_hz or 0))

    def time_line(self, cycles: int) -> str:
        """What may be said of so many cycles where a time was asked for: whether they are few enough."""
        limit, clock = self.cycle_limit, self.target.clock_hz
        if limit is None:
            return ""
        time = f" = {limit / clock * 1e3:,.4g} ms at {clock / 1e6:g} MHz" if clock else ""
        kept = (
            f"{cycles / limit:.0%} of it"
            if cycles <= limit
            else f"{cycles - limit:,} ({cycles / limit - 1:.1%}) too many"
        )
        return f"budget: {limit:,} cycles{time}, {kept}"

    @property
    def ram_limit(self) -> int | None:
        """For everything that is planned."""
        limit = _least(self.ram, self.target.ram)
        return limit if limit is None else max(limit - self.ram_beside, 0)

    @property
    def ram_beside(self) -> int:
        """Bytes of code in the RAM that the plan has to share with it: none where code has a memory of its own."""
        rams = self.target.code_rams
        return self.ram_code if not rams or "data" in rams[0].holds else 0

    @property
    def flash_limit(self) -> int | None:
        return _least(self.flash, self.target.flash)


@dataclass(frozen=True, kw_only=True)
class Emission(Planning):
    """What the generated C looks like."""

    name: str = ""
    single_file: bool = False
    caller_arena: bool = False
    check_flash: bool = False
    """Init compares the CRC-32 of the constants in flash."""


@dataclass(frozen=True, kw_only=True)
class Settings(Reading, Passing, Emission):
    """Everything that a user may ask for."""

    aligned: bool = False
    """Words are loaded from and stored to multiples of four only, for a firmware that traps others."""

    def __post_init__(self) -> None:
        check_types(self)
        if self.aligned:
            object.__setattr__(self, "target", targets.aligned(self.target))
        for option, value, allowed in (
            ("optimize", self.optimize, OPTIMIZE),
            ("numerics", self.numerics, NUMERICS),
            ("io", self.io, IO),
            ("input", self.input, INPUT),
            ("step", self.step, STEP),
            ("place_code", self.place_code, PLACES),
            ("edges", self.edges, EDGES),
            ("features", self.features, FEATURES),
        ):
            if value not in allowed:
                raise MoteError(f"'{value}' is not one of {', '.join(allowed)}", where=f"option {option}")
        if self.stream is None and (self.hop or self.causal):
            raise MoteError(
                "is for streams only",
                where="option hop" if self.hop else "option causal",
                remedy="say with --stream along which axis of the input the window slides",
            )
        if self.place_code == "ram":
            check_code_ram(self.target)
        self._check_time()
        if not 0 <= self.recompute <= 100:
            raise MoteError(
                f"{self.recompute:g} is not a percentage",
                where="option recompute",
                remedy="give how much of the model's work may be done twice, from 0 to 100",
            )

    def _check_time(self) -> None:
        """Refuse a time that means nothing, or nothing on this target."""
        option = "latency" if self.latency is not None else "cycles"
        if self.latency is None and self.cycles is None:
            return
        if self.latency is not None and self.cycles is not None:
            raise MoteError("a number of cycles was given, too", where="option latency", remedy="give one of them")
        if self.latency is not None and self.target.clock_hz is None:
            raise MoteError(
                f"the target '{self.target.name}' has no clock, so that nobody knows how long a cycle takes",
                where="option latency",
                remedy="name a part, or state clock_hz in a target of your own, or use --cycles",
            )
        if self.least_ram:
            raise MoteError(
                "the least RAM that is fast enough is taken anyway",
                where=f"option {option}",
                remedy="omit --ram min",
            )
        if (self.cycles if self.cycles is not None else self.latency or 0) <= 0:
            raise MoteError("is not positive", where=f"option {option}")
        if self.costs.unit != CYCLES:
            raise MoteError(
                f"what kernels cost on '{self.target.name}' is known in {self.costs.unit} only",
                where=f"option {option}",
                remedy="use --optimize speed, and `mote profile`, which counts cycles",
            )


def check_code_ram(target: Target) -> None:
    """Refuse to execute code from RAM where that cannot be done, or gains nothing."""
    where, remedy = f"option place_code on {target.name}", "omit it"
    if target.is_host:
        raise MoteError("there is no flash on this computer", where=where, remedy="choose a microcontroller")
    if target.memories and not target.code_rams:
        raise MoteError("none of its RAM can be executed", where=where, remedy=remedy)
    flash, ram = target.code_reads, target.code_rams[0].reads if target.code_rams else Reads()
    if not flash.waits:
        why = f" ({flash.source})" if flash.source else ""
        reason = f"there is nothing to gain: code in flash is fetched without waits{why}"
        raise MoteError(reason, where=where, remedy=remedy)
    if ram.miss >= flash.miss:
        reason = f"there is nothing to gain: code in RAM has {ram}, in flash {flash}"
        raise MoteError(reason, where=where, remedy=remedy)


def make_settings(target: str | Path | Target = "host", *, trust_target: bool = False, **options: Any) -> Settings:
    """Settings of options as a user writes them (`options.parsed`). `trust_target`: the target's file may name
    any option of a compiler, even those that run programs."""
    check_names(options, Settings)
    if not isinstance(target, str | Path | Target):
        raise MoteError(f"{target!r} is not a target", where="option target", remedy="`mote targets` lists names")
    chosen = target if isinstance(target, Target) else targets.load(str(target), trusted=trust_target)
    return Settings(chosen, **parsed(options))


def chosen_settings(settings: Settings | None, options: Mapping[str, Any]) -> Settings:
    """What a function of the API was given: settings, or options to make them of."""
    if settings is None:
        return make_settings(**options)
    if not isinstance(settings, Settings):
        shown = repr(settings) if isinstance(settings, str) else f"a {type(settings).__name__}"
        raise MoteError(f"{shown} is not Settings", remedy='name the option: compile(model, target="cortex-m4")')
    if options:
        raise MoteError(
            f"settings were given, and {', '.join(options)} as well",
            remedy="change the settings instead: dataclasses.replace(settings, ...)",
        )
    return settings


def settings_and_examples(second: Any, example_inputs: Any) -> tuple[Any, Any]:
    """What stands behind the model: settings, or what a module of PyTorch is called with."""
    if second is None or isinstance(second, Settings | str):
        return second, example_inputs
    if example_inputs is not None:
        raise MoteError("are given twice", where="option example_inputs", remedy="give them once")
    return None, second


def _least(*limits: int | None) -> int | None:
    return min((x for x in limits if x is not None), default=None)
