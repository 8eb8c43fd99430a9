"""The settings of a compilation: one class of options per stage, each field a row of the table of options, and
Settings, their sum."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import Any

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.base.option import OptionRow, RestrictedUse, Why, check, check_use, option, rows
from mote.base.text import did_you_mean, printable
from mote.compiler.emit.c.encryption import read_key
from mote.compiler.emit.c.names import c_prefix
from mote.compiler.kernels import cost
from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.backends import MOTE, external
from mote.compiler.options.parsing import (
    BACKENDS,
    FILE,
    KERNELS,
    LABELS,
    MEMORY,
    MINIMUM,
    SAMPLES,
    SIZE,
    TARGET,
    TIME,
    TRAINING,
    check_types,
    point_settings,
    ram_by_memory,
)
from mote.compiler.passes.training.spec import Spec
from mote.compiler.pins_file import PinsFile, with_pins
from mote.compiler.plan.selection.request import Policy
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.reading import ReadOptions
from mote.hardware.targets import Reads, Target
from mote.hardware.targets.flags import SETS

OPTIMIZE = tuple(Policy)
ROUNDINGS = ("litert", "tflm")
NUMERICS = (*ROUNDINGS, "half")
IO = ("model", "int8")
INPUT = ("whole", "rows")
STEP = ("", "layer", "row")
BARRIER = 64
"""Approximate cycles of a barrier between two cores that spin on RAM."""
PLACES = ("flash", "ram")
NO_STEPS = "none"
"""Value of `preprocess` that disables the preprocessing steps in the model's metadata."""
CYCLES = "cycles"
"""The unit of costs that latency budgets need."""
FOR_STREAMS = "is for streams only", "say with --stream along which axis of the input the window slides"
FAST_ENOUGH: Mapping[str, Why] = {
    f"least_{what.lower()}": (f"the least {what} that is fast enough is taken anyway", f"omit --{what.lower()} min")
    for what in ("RAM", "flash")
}
"""Reasons why a latency budget conflicts with `least_ram` and `least_flash`."""


def no_code_ram(target: Target) -> Why:
    """Why code in RAM is impossible or gains nothing on a target; empty if it does gain."""
    flash, ram = target.code_reads, target.code_rams[0].reads if target.code_rams else Reads()
    if target.is_host:
        return "the host has no flash", "choose a microcontroller"
    if target.memories and not target.code_rams:
        return "none of its RAM can be executed"
    if not flash.waits:
        return f"there is nothing to gain: code in flash is fetched without waits{_by(flash)}"
    return f"there is nothing to gain: code in RAM has {ram}, in flash {flash}" if ram.miss >= flash.miss else ""


def no_constants_ram(target: Target) -> Why:
    """Why constants in RAM are impossible or gain nothing on a target; empty if they do gain."""
    if target.is_host:
        return "the host has no flash", "choose a microcontroller"
    if target.core.flash_apart:
        return f"constants lie in the program memory of {target.core.title}"
    reads = target.constant_reads
    return "" if reads.waits else f"there is nothing to gain: constants in flash are read without waits{_by(reads)}"


def _by(reads: Reads) -> str:
    return f" ({reads.source})" if reads.source else ""


def _no_numerics(target: Target, numerics: str) -> Why:
    if numerics != "half" or {"mve", "fpu"} <= target.features:
        return ""
    return f"{target.name} has no vectors of half precision", "omit it, or compile for a Cortex-M55 or M85"


def _no_second_core(target: Target, cores: int) -> Why:
    if not target.memories or cores <= target.cores:
        return ""
    remedy = "omit it, or name a part with two equal cores; in a target of your own state cores = 2"
    return "the part has one core that could run a model", remedy


def _no_training(target: Target, train: Spec) -> Why:
    if not target.core.flash_apart:
        return ""
    reason = f"models do not learn on {target.core.title}: the constants of a branch are read as data"
    return reason, "omit it, or choose a core with one address space"


def _no_clock(target: Target, latency: float) -> Why:
    if target.clock_hz is not None:
        return ""
    remedy = "name a part, or state clock_hz in a target of your own, or use --cycles"
    return "the target has no clock, so that the duration of a cycle is unknown", remedy


@dataclass(frozen=True)
class TargetOptions:
    """The target of a compilation."""

    target: Target = field(metadata={OptionRow: OptionRow(group="target", written=TARGET, help=
        "a name from `mote targets` or a .toml file (default: host)")})  # fmt: skip
    _: KW_ONLY
    encrypt: str = option("", "generated C", "KEYFILE", file=True, help=
        "encrypt constants in flash: AES-CTR with the key of 16 or 32 bytes in this file; a function of the firmware"
        " decrypts them into the arena",
        excludes={"backend": "constants of an external generator are not decrypted"},
        image="the runtime reads constants where they lie, in flash that the part itself may encrypt",
        two_cores="constants are decrypted by the core that needs them")  # fmt: skip
    """With encryption, passes split large layers, and the planner allocates RAM for decrypted constants."""


@dataclass(frozen=True, kw_only=True)
class Shorthands:
    """Options that expand to other options, and are no fields of Settings."""

    trust_target: bool = option(False, "target", help=
        "allow the target file any compiler option, even those that execute programs")  # fmt: skip
    point: str | None = option(None, "plan", "NAME", help=
        "plan by the name that `mote explore` prints: ram-BYTES, within-BYTES, default, least, fastest")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PassOptions(TargetOptions):
    """The options of the graph passes."""

    preprocess: str = option("", "preprocessing", "STEPS", help=
        "preprocessing that is compiled before the model, which then takes raw samples of a sensor: audio,mfcc"
        " (docs/improve/features.md)")  # fmt: skip
    """Empty: the steps in the metadata of the model's file; "none": no steps."""
    postprocess: str = option("", "preprocessing", "STEPS", help=
        "post-processing that is compiled behind the model, from scores to decisions:"
        ' "moving-average=4,detect(1,0.8)" (docs/improve/post-processing.md)')  # fmt: skip
    labels: tuple[str, ...] = option((), "model", "FILE", file=True, written=LABELS, help=
        "class names, one per line, as a JSON list or a CSV column (default: those in the model's file)",
        several="several models do not have the same classes")  # fmt: skip
    io: str = option("model", "model", choices=IO, help=
        "int8: int8 inputs and outputs without QUANTIZE and DEQUANTIZE layers, which the application then does",
        )  # fmt: skip
    numerics: str = option("litert", "model", choices=NUMERICS, lacks=_no_numerics, help=
        "reproduce the rounding of LiteRT or of TFLite Micro, bit for bit (default: litert); half: compute float32"
        " layers in half precision (Cortex-M55, M85)")  # fmt: skip
    shrink: bool = option(True, "plan", flag="no-shrink", help=
        "keep channels, weights and layers that cannot affect the outputs")  # fmt: skip
    train: Spec | None = option(None, "training on the device", "WHAT", written=TRAINING, lacks=_no_training, help=
        "on-device training: last, biases, layers by name or number, auto:RAM=64K, or a learner such as"
        " prototype:classes=3 (docs/improve/on-device-training.md)")  # fmt: skip
    train_data: Dataset | None = option(None, "training on the device", "DATA", file=True, written=SAMPLES, help=
        "samples with labels for --train: for the ranges of int8 gradients, and for what auto chooses",
        needs={"train": ("is for models that learn", "say what learns, too: --train last")})  # fmt: skip
    """The loaded samples; users may name the file or folder that holds them."""
    stream: int | None = option(None, "streaming", "AXIS", help=
        "streaming inference along this axis of the input: each run takes only the new part of the sliding window, the"
        " rest is state",
        excludes={"train": "a stream has no samples with labels, by which a model learns"})  # fmt: skip
    hop: int = option(0, "streaming", "N", needs={"stream": FOR_STREAMS}, help=
        "elements by which the window advances with each run (default: the fewest possible)")  # fmt: skip
    causal: bool = option(False, "streaming", needs={"stream": FOR_STREAMS}, help=
        "replace padding along the streamed axis by past inputs: a causal model, whose outputs differ from the"
        " windowed one")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlanOptions(TargetOptions):
    """Options of the planner. `ram` and `flash` are budgets in bytes, in addition to the target's memory sizes."""

    optimize: str = option("balanced", "plan", choices=OPTIMIZE, help=
        "speed: fastest kernels, with more RAM and flash; size: least flash; balanced: nearly the fastest, with little"
        " RAM and flash (default)")  # fmt: skip
    ram: int | None = option(None, "plan", "BYTES", written=MEMORY, unit="bytes", help=
        "RAM budget (K and M suffixes): the fastest plan within it; min: the least RAM; NAME=BYTES,...: what the model"
        " may take of each of the part's memories")  # fmt: skip
    flash: int | None = option(None, "plan", "BYTES", written=SIZE, unit="bytes", help=
        "flash budget (K and M suffixes): exceeding it is an error; min: the least flash")  # fmt: skip
    latency: float | None = option(None, "plan", "TIME", written=TIME, unit="seconds", least=0, lacks=_no_clock, help=
        "latency budget (us, ms, s) at the part's clock: the plan with the least RAM whose estimate meets it",
        excludes={"cycles": ("a number of cycles was given, too", "give one of them"), **FAST_ENOUGH})  # fmt: skip
    cycles: int | None = option(None, "plan", "N", unit="cycles", least=1, excludes=FAST_ENOUGH,
        help="latency budget in cycles")  # fmt: skip
    least_ram: bool = option(False, "plan", only_python=True, help=
        "the plan with the least RAM, at any cost in speed, as ram=min")  # fmt: skip
    least_flash: bool = option(False, "plan", only_python=True, help=
        "with optimize=size: the plan with the least flash, at any cost in speed, as flash=min")  # fmt: skip
    kernels: Mapping[str, str] = option({}, "plan", "LAYER=NAME", flag="kernel", written=KERNELS, help=
        "pin the kernel (or kernel family) of a layer, given by the name or number that `mote plan` prints, with values"
        " of its knobs: 3=gemm4[columns=2], 3=gemm4[constants=ram]; repeatable")  # fmt: skip
    backend: tuple[str, ...] = option((), "plan", "NAME", written=BACKENDS, empty=((MOTE,),), help=
        "backends that compute parts of the model where that costs less than Mote's own kernels, separated by commas;"
        " repeatable")  # fmt: skip
    """Names of external generators that may compute regions of the graph. `mote` names Mote's own kernels, which are
    candidates in any case."""
    aligned: bool = option(False, "plan", help="aligned 32-bit accesses only")
    """For firmware that traps unaligned accesses."""
    input: str = option("whole", "plan", choices=INPUT, help=
        "rows: push the input row by row, so that it is never in RAM as a whole (default: whole)",
        two_cores="rows that are handed over are computed one by one, which leaves nothing to share")  # fmt: skip
    step: str = option("", "plan", choices=STEP, help=
        "most work of one step() call: a layer or a row; the header states what the longest one measured took",
        several=("how long a step takes is not measured for several models of one project",
            "compile the models one by one with --step to see it; the step functions are there without it"),
        two_cores="a step that is split is the work of two cores, so that there is no bound for one")  # fmt: skip
    recompute: float = option(0.0, "plan", "PERCENT", unit="percent of the MACs", least=0, most=100, help=
        "share of the MACs that may be recomputed to save RAM (default: 0)")  # fmt: skip
    cores: int = option(1, "target", "N", least=1, most=2, lacks=_no_second_core, help=
        "2: split layers between two equal cores, such as those of an RP2350 (default: 1)",
        image="the runtime runs an image on one core",
        several="two cores compute one model at a time, and models know nothing of each other's barriers",
        )  # fmt: skip
    barrier: int = option(BARRIER, "target", "CYCLES", unit="cycles", least=0, help=
        f"cycles of a barrier between two cores, for the estimate (default: {BARRIER})")  # fmt: skip
    place_code: str = option("flash", "generated C", choices=PLACES, help=
        "ram: execute inner loops from RAM, for parts with flash wait states (default: flash)",
        lacks=lambda target, _: no_code_ram(target),
        image="an image holds no code",
        several="code in RAM is not counted for several models of one project")  # fmt: skip
    place_constants: str = option("flash", "generated C", choices=PLACES, help=
        "ram: start-up copies constants to RAM, as many as fit, for parts with flash wait states and RAM to spare"
        " (default: flash)",
        lacks=lambda target, _: no_constants_ram(target),
        excludes={"encrypt": "constants would lie decrypted in RAM"},
        image="an image is read where it lies; put all of it into RAM instead",
        several="constants in RAM are not counted for several models of one project")  # fmt: skip
    flags: str = option("", "generated C", choices=("", *SETS), image="an image holds no code", help=
        "set of compiler flags, instead of those that --optimize says")  # fmt: skip
    red_zones: bool = option(False, "generated C", help=
        "debug build that detects kernels writing outside of their buffers",
        image="the runtime checks an image before it runs it",
        two_cores="the cores would look at the zones of each other while these change")  # fmt: skip
    pins: PinsFile | None = option(None, "plan", "FILE", file=True, written=FILE, help=
        "kernels, places and compiler flags that `mote tune` has chosen")  # fmt: skip
    """The pin file that `kernels` and other tuned settings come from; it is valid for one model."""

    @property
    def external(self) -> tuple[str, ...]:
        """The backends other than Mote's own kernels."""
        return external(self.backend)

    @property
    def built_for(self) -> str:
        """The optimization policy or the set of flags that the C compiler is run with. `size` with a latency budget is
        built as `balanced`: estimates hold for that level, and -Os takes up to a third more cycles."""
        return self.flags or self._policy

    @property
    def _policy(self) -> str:
        return "balanced" if self.optimize == Policy.SIZE and self.cycle_limit is not None else self.optimize

    @property
    def costs(self) -> Costs:
        """The cost table of kernels on the target, with all constants in the memory that the options name."""
        return self.costs_of(in_ram=self.place_constants == "ram")

    def costs_of(self, *, in_ram: bool) -> Costs:
        """The cost table of kernels on the target, with constants in RAM or in flash."""
        table = cost.load(self.target.costs, f"target {self.target.name}")
        return table.built_for(self._policy).on(Reads() if in_ram else self.target.constant_reads, self._code_reads)

    @property
    def _code_reads(self) -> Reads:
        """Read costs of the memory that inner loops are fetched from."""
        if self.place_code == "flash":
            return self.target.code_reads
        return self.target.code_rams[0].reads if self.target.code_rams else Reads()

    @property
    def cycle_limit(self) -> int | None:
        """The cycle limit of an inference; None if there is no latency budget."""
        if self.latency is None:
            return self.cycles
        return int(self.latency * (self.target.clock_hz or 0))

    def time_line(self, cycles: int) -> str:
        """A line that compares cycles with the latency budget; empty without a budget."""
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
        """The RAM limit for everything that is planned: the smaller of the budget and the target's RAM."""
        return _least(self.ram, self.target.ram)

    @property
    def flash_limit(self) -> int | None:
        return _least(self.flash, self.target.flash)


@dataclass(frozen=True, kw_only=True)
class EmitOptions(PlanOptions):
    """The options of the generated C."""

    name: str = option("", "generated C", help=
        "prefix of the C symbols and files (default: from the file name)",
        several=("several models cannot have one name", "omit it: each model is called as its file"))  # fmt: skip
    single_file: bool = option(False, "generated C", image="an image is one file anyway", help=
        "one .c and one .h file instead of a folder of headers")  # fmt: skip
    caller_arena: bool = option(False, "generated C", help=
        "the application passes the tensor arena to init()",
        image="the runtime is always given its memory",
        several=("an arena of the caller's is not one of the project",
            "compile the models one by one with --caller-arena, and pass the same memory to every init()"),
        )  # fmt: skip
    instances: bool = option(False, "generated C", help=
        "no static variables: functions take a pointer to an instance, of which there may be any number",
        image="the runtime runs any number of interpreters",
        several=("arenas of several models of one project are variables, and a model with instances has none",
            "compile the models one by one with --instances; where they take turns, with --caller-arena too, and pass"
            " the same memory to every init()"),
        two_cores="a barrier is for one inference at a time")  # fmt: skip
    cpp: bool = option(False, "generated C", image="an image has no C++ header", help=
        "write NAME.hpp, a C++17 class over the C functions, too")  # fmt: skip
    check_flash: bool = option(False, "generated C", help=
        "init() fails if a constant in flash is corrupted (CRC-32)",
        image="an image has a CRC-32, which mote_image_crc compares")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Settings(ReadOptions, PassOptions, EmitOptions):
    """All options of a compilation."""

    def __post_init__(self) -> None:
        check_types(self)
        if self.aligned:
            object.__setattr__(self, "target", targets.aligned(self.target))
        check(TABLE, self)
        if self.cores > 1:
            check_use(TABLE, self, RestrictedUse.TWO_CORES)
        usable, why = c_prefix(self.name, self.instances)
        if self.name and why:
            raise MoteError(f"'{printable(self.name)}' {why}", where="option name", remedy=f"use '{usable}'")
        if self.encrypt:
            read_key(self.encrypt)
        if self.least_flash and self.optimize != Policy.SIZE:
            raise MoteError(
                f"the least flash is not what '{self.optimize}' is for",
                where="option least_flash",
                remedy='write optimize="size", or flash="min"',
            )
        if self.cycle_limit is not None and self.costs.unit != CYCLES:
            raise MoteError(
                f"what kernels cost on '{self.target.name}' is known in {self.costs.unit} only",
                where="option cycles" if self.latency is None else "option latency",
                remedy="use --optimize speed, and `mote profile`, which counts cycles",
            )


TABLE = rows(ReadOptions, EmitOptions, PlanOptions, PassOptions, TargetOptions, Shorthands)
"""The table of options: the row of every option that users have, by its name in Python."""


def parsed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Parses options as users write them to fields of Settings: each by its row; RAM and flash may be "min", and
    `point` is the name of a plan of `mote explore`."""
    values = dict(options)
    point = values.pop("point", None)
    if point is not None and (values.get("ram") is not None or values.get("least_ram")):
        raise MoteError("a point is a budget already", where="option ram", remedy="give one of them")
    if point is not None and (values.get("latency") is not None or values.get("cycles") is not None):
        raise MoteError("a point is one plan, however long it takes", where="option point", remedy="give one of them")
    if values.get("ram") == MINIMUM:
        values |= {"ram": None, "least_ram": True}
    if values.get("flash") == MINIMUM:
        if values.get("optimize") == "speed":
            raise MoteError("speed takes flash", where="option flash", remedy="omit --optimize speed, or --flash min")
        values |= {"flash": None, "least_flash": True, "optimize": "size"}
    for name, value in values.items():
        if name in TABLE and (written := TABLE[name].written):
            values[name] = written.parse(name, value)
    return values if point is None else values | point_settings(point)


def changed_options(settings: Settings, but: Collection[str] = ()) -> dict[str, Any]:
    """The options that differ from their defaults, by their names in Python, without those in `but`."""
    values = {name: getattr(settings, name) for name in TABLE if hasattr(settings, name) and name not in but}
    return {name: value for name, value in values.items() if value != TABLE[name].default}


def check_names(options: Iterable[str]) -> None:
    """Refuses unknown options."""
    known = sorted({*TABLE, *_USUAL} - {"target", "trust_target"})
    for name in options:
        if name not in known:
            remedy = f"{did_you_mean(name, known)}the options are: {', '.join(known)}"
            raise MoteError(f"there is no option '{name}'", remedy=remedy)


def make_settings(target: str | Path | Target = "host", *, trust_target: bool = False, **options: Any) -> Settings:
    """Makes Settings from options as users write them, and from the pin file that `pins` names. `trust_target`: the
    target's file may use any compiler flag, even those that run programs."""
    check_names(options)
    named = TARGET.parse("target", target)
    chosen = named if isinstance(named, Target) else targets.load(str(named), trusted=trust_target)
    sizes = ram_by_memory(options.get("ram"))
    if sizes:
        chosen, options = targets.limited(chosen, sizes), {**options, "ram": None}
    values = parsed(options)
    pins = values.pop("pins", None)
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
    """Resolves the second positional argument of API functions: settings, or example inputs of a PyTorch module."""
    if second is None or isinstance(second, Settings | str):
        return second, example_inputs
    if example_inputs is not None:
        raise MoteError("are given twice", where="option example_inputs", remedy="give them once")
    return None, second


def _least(*limits: int | None) -> int | None:
    return min((x for x in limits if x is not None), default=None)
