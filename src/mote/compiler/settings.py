"""The settings of a compilation: one class of options per stage, and Settings, their sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.base.text import printable
from mote.compiler.emit.c.encryption import read_key
from mote.compiler.emit.c.names import c_prefix
from mote.compiler.kernels import cost
from mote.compiler.kernels.contract import Fixed
from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.backends import external
from mote.compiler.options import check_names, check_types, parsed, ram_by_memory
from mote.compiler.passes.training.spec import parsed as training
from mote.compiler.pins_file import with_pins
from mote.compiler.plan.selection.request import Policy
from mote.frontends import EDGES, FEATURES
from mote.frontends.data.dataset_type import Dataset
from mote.hardware.targets import Reads, Target
from mote.hardware.targets.flags import SETS

OPTIMIZE = tuple(Policy)
ROUNDINGS = ("litert", "tflm")
NUMERICS = (*ROUNDINGS, "half")
IO = ("model", "int8")
INPUT = ("whole", "rows")
STEP = ("", "layer", "row")
MOST_CORES = 2
BARRIER = 64
"""Cycles of a barrier between two cores that spin on RAM, about."""
PLACES = ("flash", "ram")
NO_STEPS = "none"
"""The option for a model without its preprocessing."""
CYCLES = "cycles"
"""The unit of costs in which time limits are checked."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a model file is read."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Shapes of inputs by name, for dynamic ones or to override the model's."""
    edges: str = EDGES[0]
    """Layout of image inputs and outputs of the C: channels-last, or as in the model."""
    features: str = FEATURES[0]
    """The feature type of a forest."""
    outputs: tuple[str, ...] = ()
    """Names of the outputs to keep; empty: all."""
    signature: str = ""
    """The signature of a `.tflite` file with several."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Values of constant inputs, by name."""


@dataclass(frozen=True)
class TargetOptions:
    """The target of a compilation."""

    target: Target
    fixed: Fixed | None = field(default=None, kw_only=True)
    """The kernels of the runtime that the model is packed for. Internal."""
    encrypt: str = field(default="", kw_only=True)
    """The file with the AES key that constants are encrypted with in flash: passes split large layers, the planner
    keeps RAM for what is decrypted."""
    preprocess: str = field(default="", kw_only=True)
    """Preprocessing steps that are compiled before the model: it then takes raw samples, or lines of a camera, which
    the caller pushes. Empty: those in the metadata of the model's file; "none": none."""
    labels: tuple[str, ...] = field(default=(), kw_only=True)
    """Names of the classes, in the place of those in the model's file."""
    postprocess: str = field(default="", kw_only=True)
    """Post-processing steps that are compiled behind the model: its outputs are then those of the last one."""


@dataclass(frozen=True, kw_only=True)
class PassOptions(TargetOptions):
    """The options of the graph passes."""

    io: str = "model"
    numerics: str = "litert"
    shrink: bool = True
    """Remove dead channels and other parts that cannot change a result."""
    stream: int | None = None
    """The input axis of a sliding window, for incremental inference: only new elements are passed and computed."""
    hop: int = 0
    """New elements per inference (the hop) along that axis; 0: the smallest hop that the model's strides allow."""
    causal: bool = False
    """Allow causal padding: zeros at the window's edges become earlier elements of the stream."""
    train: str = ""
    """Training on the device (`mote.compiler.passes.training.spec`): of layers, of biases, of what budgets choose, or
    of a learner. Empty: nothing."""
    train_data: Dataset | None = None
    """Samples with labels: for the ranges of int8 gradients and for what budgets choose. Options may name the file or
    folder that has them, which is read once: settings hold what was in it."""


@dataclass(frozen=True, kw_only=True)
class PlanOptions(TargetOptions):
    """Planner options. `ram` and `flash` are budgets in bytes in addition to the target's memories."""

    optimize: str = "balanced"
    ram: int | None = None
    flash: int | None = None
    latency: float | None = None
    """Latency limit in seconds, by the estimate at the part's clock: the plan with the least RAM, then the least flash,
    within it."""
    cycles: int | None = None
    """Cycle limit of an inference, instead of a latency."""
    least_ram: bool = False
    """The plan with the least RAM, at any cost in speed."""
    least_flash: bool = False
    """With `optimize="size"`: the plan with the least flash, at any cost in speed."""
    input: str = "whole"
    """rows: the caller pushes the input row by row, so that it is never in RAM as a whole."""
    red_zones: bool = False
    """Debug build: run fails with MOTE_BROKEN if a kernel writes outside its buffers."""
    step: str = ""
    """Granularity of the step function: a layer, or a row of a layer; the header then states its bound. Empty: a step
    of the plan."""
    recompute: float = 0.0
    """Percent of the model's MACs that may be recomputed to save RAM."""
    kernels: Mapping[str, str] = field(default_factory=dict)
    """Required kernels, by name or family, for layers by name or by number in `mote plan`."""
    backend: tuple[str, ...] = ()
    """Backends, by name, that compute parts of the model where that is better: external generators, which are asked
    for the regions that they compute. `mote` names Mote's own kernels, which are candidates in any case."""
    cores: int = 1
    """Cores that compute one inference: 2 splits layers between two equal cores, which wait for each other at barriers
    of the firmware's."""
    barrier: int = BARRIER
    """Cycles of a barrier between two cores, for the estimate."""
    place_code: str = "flash"
    """ram: inner loops are executed from RAM, for parts with slow flash."""
    ram_code: int = 0
    """Bytes of RAM that code takes. Internal: determined by building it."""
    other_code: int = 1 << 10
    """Bytes of a flash budget for code beside that of kernels. Internal: grows where the code that was built exceeds
    the budget."""
    place_constants: str = "flash"
    """ram: start-up code copies constants to RAM, as many as fit, for parts with slow flash and RAM to spare."""
    ram_constants: int = 0
    """Bytes of RAM that constants take. Internal: determined by emitting them."""
    all_in_ram: bool = True
    """Whether all constants fit there. Internal: determined by planning so."""
    flags: str = ""
    """A set of compiler flags of the model's C (`mote.hardware.targets.flags.SETS`), in the place of those of
    `optimize`."""
    pinned_model: str = ""
    """The SHA-256 of the only model that the kernels are for. Internal: a file of pins says it."""
    low: float = 1.0
    """How many times the estimate a plan's cycles are. Internal: determined by running it, for a time limit."""

    @property
    def external(self) -> tuple[str, ...]:
        """The backends other than Mote's own kernels."""
        return external(self.backend)

    @property
    def built_for(self) -> str:
        """The policy whose optimization level of the C compiler the code is built with: that of `balanced` for `size`
        within a time limit, since estimates are those of that level, and -Os takes up to a third more cycles. Or a set
        of flags."""
        return self.flags or self._policy

    @property
    def _policy(self) -> str:
        return "balanced" if self.optimize == Policy.SIZE and self.cycle_limit is not None else self.optimize

    @property
    def costs(self) -> Costs:
        """The cost table of kernels on the target."""
        table = cost.load(self.target.costs, f"target {self.target.name}")
        return table.built_for(self._policy).on(self._constant_reads, self._code_reads)

    @property
    def _constant_reads(self) -> Reads:
        """Costs of reading constants."""
        placed = self.place_constants == "ram" and self.all_in_ram
        return Reads() if placed else self.target.constant_reads

    @property
    def _code_reads(self) -> Reads:
        """Costs of fetching the code of inner loops."""
        if self.place_code == "flash":
            return self.target.code_reads
        return self.target.code_rams[0].reads if self.target.code_rams else Reads()

    @property
    def cycle_limit(self) -> int | None:
        """The cycle limit of an inference."""
        if self.latency is None:
            return self.cycles
        return int(self.latency * (self.target.clock_hz or 0))

    def time_line(self, cycles: int) -> str:
        """A summary of cycles against the requested time limit."""
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
        """The RAM limit for everything that is planned."""
        limit = _least(self.ram, self.target.ram)
        return limit if limit is None else max(limit - self.ram_beside - self.ram_constants, 0)

    @property
    def ram_beside(self) -> int:
        """Bytes of code in the RAM that the plan shares with it: 0 where code has a memory of its own."""
        rams = self.target.code_rams
        return self.ram_code if not rams or "data" in rams[0].holds else 0

    @property
    def flash_limit(self) -> int | None:
        return _least(self.flash, self.target.flash)


@dataclass(frozen=True, kw_only=True)
class EmitOptions(PlanOptions):
    """The options of the generated C."""

    name: str = ""
    single_file: bool = False
    caller_arena: bool = False
    instances: bool = False
    """Every function takes a pointer to an instance, a struct with all of the model's variables."""
    cpp: bool = False
    """Write NAME.hpp, a C++17 class, too."""
    check_flash: bool = False
    """Init verifies the CRC-32 of the constants in flash."""


@dataclass(frozen=True, kw_only=True)
class Settings(ReadOptions, PassOptions, EmitOptions):
    """All options of a compilation."""

    aligned: bool = False
    """Use aligned 32-bit accesses only, for firmware with unaligned-access trapping enabled."""

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
            ("place_constants", self.place_constants, PLACES),
            ("edges", self.edges, EDGES),
            ("features", self.features, FEATURES),
            ("flags", self.flags, ("", *SETS)),
        ):
            if value not in allowed:
                raise MoteError(f"'{value}' is not one of {', '.join(filter(None, allowed))}", where=f"option {option}")
        if self.stream is None and (self.hop or self.causal):
            raise MoteError(
                "is for streams only",
                where="option hop" if self.hop else "option causal",
                remedy="say with --stream along which axis of the input the window slides",
            )
        if self.numerics == "half" and not {"mve", "fpu"} <= self.target.features:
            raise MoteError(
                f"{self.target.name} has no vectors of half precision",
                where="option numerics",
                remedy="omit it, or compile for a Cortex-M55 or M85",
            )
        self._check_name()
        if self.place_code == "ram":
            check_code_ram(self.target)
        if self.place_constants == "ram":
            check_constants_ram(self.target, self.encrypt)
        if self.encrypt:
            read_key(self.encrypt)
        if self.encrypt and self.external:
            raise MoteError(
                "constants of an external generator are not decrypted",
                where="option encrypt",
                remedy="omit --backend, or --encrypt",
            )
        self._check_time()
        self._check_cores()
        self._check_flash()
        self._check_training()
        if not 0 <= self.recompute <= 100:
            raise MoteError(
                f"{self.recompute:g} is not a percentage",
                where="option recompute",
                remedy="give how much of the model's work may be done twice, from 0 to 100",
            )

    def _check_name(self) -> None:
        """Refuses a name that is no prefix of C symbols and files."""
        usable, why = c_prefix(self.name, self.instances)
        if self.name and why:
            raise MoteError(f"'{printable(self.name)}' {why}", where="option name", remedy=f"use '{usable}'")

    def _check_flash(self) -> None:
        """Refuses the least flash of a policy that takes flash for time."""
        if self.least_flash and self.optimize != Policy.SIZE:
            raise MoteError(
                f"the least flash is not what '{self.optimize}' is for",
                where="option least_flash",
                remedy='write optimize="size", or flash="min"',
            )

    def _check_training(self) -> None:
        """Refuses training that is misspelt, of a stream, or where no branch can be taken."""
        if not self.train:
            if self.train_data is not None:
                remedy = "say what learns, too: --train last"
                raise MoteError("is for models that learn", where="option train_data", remedy=remedy)
            return
        training(self.train)
        if self.stream is not None:
            raise MoteError(
                "a stream has no samples with labels, by which a model learns",
                where="option stream",
                remedy="omit it, or --train",
            )
        if self.target.core.flash_apart:
            raise MoteError(
                f"models do not learn on {self.target.core.title}: the constants of a branch are read as data",
                where="option train",
                remedy="omit it, or choose a core with one address space",
            )

    def _check_cores(self) -> None:
        """Refuses two cores where there are none, or with options that one core's schedule is for."""
        if not 1 <= self.cores <= MOST_CORES:
            raise MoteError(f"{self.cores} is not 1 or {MOST_CORES}", where="option cores", remedy="omit it, or give 2")
        if self.barrier < 0:
            raise MoteError("is negative", where="option barrier", remedy="give the cycles that a barrier takes")
        if self.cores == 1:
            return
        target = self.target
        if target.memories and target.cores < self.cores:
            raise MoteError(
                f"the part '{target.name}' has one core that could run a model",
                where="option cores",
                remedy="omit it, or name a part with two equal cores; in a target of your own state cores = 2",
            )
        for option, why, wrong in (
            ("input", "rows that are handed over are computed one by one, which leaves nothing to share", "rows"),
            ("step", "a step that is split is the work of two cores, so that there is no bound for one", self.step),
            ("red_zones", "the cores would look at the zones of each other while these change", True),
            ("instances", "a barrier is for one inference at a time", True),
            ("encrypt", "constants are decrypted by the core that needs them", self.encrypt),
        ):
            if wrong and getattr(self, option) == wrong:
                shown = "" if wrong is True else f" {wrong}"
                flag = f"--{option.replace('_', '-')}{shown}"
                raise MoteError(
                    f"two cores cannot share it: {why}", where=f"option {option}", remedy=f"omit {flag} or --cores"
                )

    def _check_time(self) -> None:
        """Refuses an invalid time limit, or one that the target cannot be checked for."""
        option = "latency" if self.latency is not None else "cycles"
        if self.latency is None and self.cycles is None:
            return
        if self.latency is not None and self.cycles is not None:
            raise MoteError("a number of cycles was given, too", where="option latency", remedy="give one of them")
        if self.latency is not None and self.target.clock_hz is None:
            raise MoteError(
                f"the target '{self.target.name}' has no clock, so that the duration of a cycle is unknown",
                where="option latency",
                remedy="name a part, or state clock_hz in a target of your own, or use --cycles",
            )
        for what, least in (("RAM", self.least_ram), ("flash", self.least_flash)):
            if least:
                raise MoteError(
                    f"the least {what} that is fast enough is taken anyway",
                    where=f"option {option}",
                    remedy=f"omit --{what.lower()} min",
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
    """Refuses code in RAM where it is impossible, or gains nothing."""
    where, remedy = f"option place_code on {target.name}", "omit it"
    if target.is_host:
        raise MoteError("the host has no flash", where=where, remedy="choose a microcontroller")
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


def check_constants_ram(target: Target, encrypt: str = "") -> None:
    """Refuses constants in RAM where it is impossible, or gains nothing."""
    where, remedy = f"option place_constants on {target.name}", "omit it"
    if target.is_host:
        raise MoteError("the host has no flash", where=where, remedy="choose a microcontroller")
    if target.core.flash_apart:
        raise MoteError(f"constants lie in the program memory of {target.core.title}", where=where, remedy=remedy)
    if encrypt:
        raise MoteError("constants would lie decrypted in RAM", where=where, remedy="omit it, or --encrypt")
    reads = target.constant_reads
    if not reads.waits:
        why = f" ({reads.source})" if reads.source else ""
        reason = f"there is nothing to gain: constants in flash are read without waits{why}"
        raise MoteError(reason, where=where, remedy=remedy)


def make_settings(target: str | Path | Target = "host", *, trust_target: bool = False, **options: Any) -> Settings:
    """Makes Settings from options as users write them (`options.parsed`), and from the file of pins that `pins` names.
    `trust_target`: the target's file may use any compiler flag, even those that run programs."""
    check_names(options, Settings)
    if not isinstance(target, str | Path | Target):
        raise MoteError(f"{target!r} is not a target", where="option target", remedy="`mote targets` lists names")
    chosen = target if isinstance(target, Target) else targets.load(str(target), trusted=trust_target)
    sizes = ram_by_memory(options.get("ram"))
    if sizes:
        chosen, options = targets.limited(chosen, sizes), {**options, "ram": None}
    pins = options.pop("pins", "")
    if not isinstance(pins, str | Path):
        raise MoteError(f"{pins!r} is not a file", where="option pins", remedy="name one that `mote tune` has written")
    values = parsed(options)
    return Settings(chosen, **(with_pins(values, pins, chosen.name, _USUAL) if pins else values))


_USUAL = {f.name: f.default for f in fields(Settings)}


def chosen_settings(settings: Settings | None, options: Mapping[str, Any]) -> Settings:
    """The settings argument of an API function, or Settings made from its options."""
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
    """Tells apart the second argument: settings, or example inputs of a PyTorch module."""
    if second is None or isinstance(second, Settings | str):
        return second, example_inputs
    if example_inputs is not None:
        raise MoteError("are given twice", where="option example_inputs", remedy="give them once")
    return None, second


def _least(*limits: int | None) -> int | None:
    return min((x for x in limits if x is not None), default=None)
