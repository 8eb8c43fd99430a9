"""The compiler as one readable line of steps: file -> Graph -> passes -> Plan -> C project."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from mote import frontends, targets
from mote.compile.advice import advice
from mote.compile.options import check_names, check_types, parsed
from mote.emit.c import header
from mote.emit.c.golden import Run, runs
from mote.emit.c.names import c_prefix
from mote.emit.c.options import ProjectOptions
from mote.emit.c.project import Job, Project, generate
from mote.errors import BudgetError, MoteError, explaining, naming
from mote.files import write_folder
from mote.frontends import EDGES, FEATURES, Format, Source
from mote.graph import Graph
from mote.graph.edges import code_axis
from mote.graph.rows import row_count
from mote.kernels import cost
from mote.kernels.contract import Fixed
from mote.kernels.cost import Costs
from mote.ops.control import unbounded
from mote.passes import Saving, optimize, stream
from mote.plan.estimate import estimate
from mote.plan.goal import DoesNotFitError, Goal, Say, TooSlowError, silent
from mote.plan.lowering import Lowering, Policy
from mote.plan.memories import TooSmallError
from mote.plan.plan import Plan
from mote.plan.planner import plan
from mote.targets import Reads, Target
from mote.text import printable

OPTIMIZE = tuple(Policy)
NUMERICS = ("litert", "tflm")
IO = ("model", "int8")
INPUT = ("whole", "rows")
STEP = ("", "layer", "row")
PLACES = ("flash", "ram")
USUAL_CODE = 4 << 10
"""Bytes of flash that are left to code other than that of kernels when these are chosen: what most models need. Whether
a model needs more is seen when its code has been measured."""
CYCLES = "cycles"
"""The unit of costs that time is told by."""
CAUSAL = "another model than the windowed one: what was before the stream takes the place of padding"
"""What is to be said of a causal stream of a model that pads."""
RED_ZONE = 16
"""Bytes before and after every buffer in a debug build."""


@dataclass(frozen=True)
class Settings:
    """What a user asks for. `ram` and `flash` are budgets in bytes on top of the target's own memories."""

    target: Target
    name: str = ""
    io: str = "model"
    numerics: str = "litert"
    optimize: str = "balanced"
    single_file: bool = False
    caller_arena: bool = False
    check_flash: bool = False
    """Init compares the CRC-32 of the constants in flash."""
    ram: int | None = None
    flash: int | None = None
    latency: float | None = None
    """Seconds that an inference may take, by the estimate, at the part's clock: the plan with the least RAM, then the
    least flash, that takes no longer."""
    cycles: int | None = None
    """The same in cycles."""
    least_ram: bool = False
    """The plan with the least RAM, whatever it costs in speed."""
    input: str = "whole"
    """rows: the caller hands the input over row by row, so that it is never in RAM whole."""
    red_zones: bool = False
    """A debug build: run fails with MOTE_BROKEN where a kernel writes outside of its buffers."""
    step: str = ""
    """What a call of the step function does at most: a layer, or a row of a layer; either way the header says how long
    that takes. Without it a step is a piece of the plan."""
    shrink: bool = True
    """Remove what cannot matter: channels, mostly."""
    recompute: float = 0.0
    """Percent of the model's MACs that may be done twice to need less RAM."""
    stream: int | None = None
    """The axis of the input along which the model's window slides: only what is new is taken and computed."""
    hop: int = 0
    """How many elements of that axis are new every time; 0: as few as the model's strides allow."""
    kernels: Mapping[str, str] = field(default_factory=dict)
    """Layers, by name or by the number that `mote plan` prints, and the kernels that they must have, by name or
    family."""
    aligned: bool = False
    """Words are loaded from and stored to multiples of four only, for a firmware that traps others."""
    place_code: str = "flash"
    """ram: inner loops are executed from RAM, on a part whose flash makes them wait."""
    ram_code: int = 0
    """Bytes of RAM that code takes: found by building it, not for users to say."""
    causal: bool = False
    """Padding at the window's edges may be turned into what was before the stream."""
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
    fixed: Fixed | None = None
    """The kernels of the runtime that the model is packed for: no others may be chosen. Not for users to say."""

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


@dataclass(frozen=True)
class Compiled:
    """A compiled model: the source graph, the optimized one inside `plan`, and the C project."""

    source: Graph
    plan: Plan
    savings: tuple[Saving, ...]
    project: Project
    settings: Settings
    path: str
    model: Source
    """What was compiled: what the format's own runtime is asked about."""
    renamed: str = ""
    """Why the C has another name than the model file, where it has."""
    warnings: tuple[str, ...] = ()
    """What is odd about the model file, and how it was understood."""

    def __repr__(self) -> str:
        plan, constants = self.plan, self.project.constants
        return (
            f"<Compiled {self.name!r} for {self.settings.target.name}: {len(plan.graph.ops)} operators,"
            f" arena {plan.arena:,} bytes, constants {constants:,} bytes>"
        )

    @property
    def name(self) -> str:
        return self.project.options.name

    @property
    def data(self) -> bytes:
        """The model file."""
        return self.model.data

    @cached_property
    def macs(self) -> int:
        return sum(op.macs(self.plan.graph) for op, _ in self.plan.works)

    @property
    def unbounded(self) -> list[str]:
        """The loops of which nobody knows how often they run, so that neither MACs nor cost say what they take."""
        return list(dict.fromkeys(op.name for op in unbounded(self.plan.graph)))

    @cached_property
    def cost(self) -> int:
        """About what an inference takes, in the unit of the target's costs."""
        return round(estimate(self.settings.costs, self.plan))

    def in_flash(self) -> Compiled:
        """The same plan with all code in flash, without a self-test: what code in RAM is held against."""
        project = generate(Job(self.plan, replace(self.project.options, code_in_ram=False)))
        return replace(self, project=project, settings=replace(self.settings, place_code="flash", ram_code=0))

    def with_step_bound(self, instructions: int) -> Compiled:
        """The same model, whose header states how long a step takes at most."""
        options = replace(self.project.options, step_bound=instructions)
        files = {**self.project.files, f"{self.name}.h": header.text(self.plan, options)}
        return replace(self, project=replace(self.project, options=options, files=files))

    def write(self, folder: str | Path, *, force: bool = False) -> list[str]:
        """Write the C project, in place of one that Mote wrote there, and beside whatever else is in the folder; as a
        whole, or not at all. A file of the user's in the way is refused; by `force` it is overwritten, and returned."""
        return write_folder(str(folder), self.project.files, force=force)


def compile(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Any,
) -> Compiled:
    """Compile a model: a file, its bytes, or an object (`mote.frontends.source_of`). Options are the fields of
    Settings, and may be written as for the command: `target` as a name or a file, `ram="24K"` or `"min"`, `flash="1M"`,
    `point="ram-9000"`, `kernels=["3=conv2d"]`, `shapes=["input=1,3,96,96"]`, `constants={"sr": 16000}`. Example
    inputs of a module of PyTorch may stand in the place of settings. `say` is a callback for the progress of the search
    for a plan."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    settings = chosen_settings(settings, options)
    source = given_model(model, settings, example_inputs)
    with naming(source.where), explaining():
        return _compile(source, settings, say)


def settings_and_examples(second: Any, example_inputs: Any) -> tuple[Any, Any]:
    """What stands behind the model: settings, or what a module of PyTorch is called with."""
    if second is None or isinstance(second, Settings | str):
        return second, example_inputs
    if example_inputs is not None:
        raise MoteError("are given twice", where="option example_inputs", remedy="give them once")
    return None, second


def given_model(model: Any, settings: Settings, example_inputs: Any = None) -> Source:
    """What a function of the API was given as a model, with what the settings say about reading it."""
    source = frontends.source_of(
        model,
        shapes=settings.shapes,
        edges=settings.edges,
        example_inputs=example_inputs,
        features=settings.features,
        outputs=settings.outputs,
        signature=settings.signature,
        constants=settings.constants,
    )
    if source.format != Format.TFLITE and settings.numerics != NUMERICS[0]:
        raise MoteError(
            f"TFLite Micro does not run models of {source.title}, so that there are no numerics of it to follow",
            where="option numerics",
            remedy="omit it",
        )
    return source


def _compile(source: Source, settings: Settings, say: Say = silent) -> Compiled:
    where = source.where
    graph, warnings, ready, savings = prepared(source, settings)
    chosen = plan_for(ready, where, settings, say)
    name, renamed = c_name(settings, graph)
    options_ = ProjectOptions(
        name=name,
        source=Path(where).name,
        notes=warnings,
        target=settings.target.name,
        optimize=settings.optimize,
        core_flags=settings.target.gcc_flags,
        cpu=settings.target.cpu,
        fused="fma" in settings.target.features,
        single_file=settings.single_file,
        caller_arena=settings.caller_arena,
        model=zlib.crc32(source.data),
        check_flash=settings.check_flash,
        flashes=settings.target.choice("flash"),
        code_in_ram=settings.place_code == "ram",
    )
    same = chosen.graph.tensors.keys() == ready.tensors.keys()
    project = generate(Job(chosen, options_, golden(ready if same else chosen.graph)))
    settings = replace(settings, name=name)
    warnings = (*warnings, *advice(chosen, settings.target))
    compiled = Compiled(graph, chosen, savings, project, settings, where, source, renamed, warnings)
    check_budgets(compiled, code=0)
    return compiled


def prepared(source: Source, settings: Settings) -> tuple[Graph, tuple[str, ...], Graph, tuple[Saving, ...]]:
    """The model as it is in the file, what is odd about that, the model that is planned, and what passes did to it."""
    graph, warnings = _read(source)
    return graph, warnings, *optimized(graph, settings)


def optimized(graph: Graph, settings: Settings) -> tuple[Graph, tuple[Saving, ...]]:
    """The graph that is planned, and what passes did to it."""
    after, savings = _optimized(graph, settings.io, settings.numerics, settings.shrink, settings.fixed is None)
    if settings.stream is None:
        return after, savings
    streamed, saving = _streamed(after, settings)
    return streamed, (*savings, saving)


def planned(graph: Graph, settings: Settings, where: str = "", say: Say = silent) -> Plan:
    """The plan of a graph as a front end or the quantizer made it: what it takes on a target, without C or a file."""
    return plan_for(optimized(graph, settings)[0], where or graph.name, settings, say)


@lru_cache(maxsize=4)
def _read(source: Source) -> tuple[Graph, tuple[str, ...]]:
    """The model as it is in the file, and what is odd about that: read once for all targets and settings."""
    model = frontends.read(source)
    return model.graph(), model.warnings


@lru_cache(maxsize=4)
def _optimized(
    graph: Graph, io: str, numerics: str, shrinking: bool, own_code: bool
) -> tuple[Graph, tuple[Saving, ...]]:
    """The model after the passes: the same for all targets and most settings, so that who compiles it in several ways
    waits for that, and for packing its weights, once."""
    after, savings = optimize(graph, io=io, numerics=numerics, shrinking=shrinking, own_code=own_code)
    return after, tuple(savings)


def forget() -> None:
    """Forget the models that were compiled: what is measured or changed is then measured or changed from the start."""
    _read.cache_clear()
    _optimized.cache_clear()
    golden.cache_clear()


def _streamed(graph: Graph, settings: Settings) -> tuple[Graph, Saving]:
    streamed = stream.run(graph, _stream_axis(graph, settings), settings.hop, causal=settings.causal)
    before, after = (sum(op.macs(g) for op in g.ops) for g in (graph, streamed))
    kept = sum(state.initial.nbytes for state in streamed.states)
    detail = f"{after:,} MACs each time instead of {before:,}, {kept:,} bytes kept in {len(streamed.states)} windows"
    return streamed, Saving("stream", 0, detail, CAUSAL if settings.causal and _is_padded(graph, settings) else "")


def _stream_axis(graph: Graph, settings: Settings) -> int:
    """The axis of the code's input along which the window slides: settings say the model's."""
    assert settings.stream is not None
    return code_axis(graph.tensors[graph.inputs[0]], settings.stream) if graph.inputs else settings.stream


def _is_padded(graph: Graph, settings: Settings) -> bool:
    """Whether the model pads along the stream, so that only a causal one can be made of it."""
    try:
        stream.run(graph, _stream_axis(graph, settings), settings.hop)
    except MoteError:
        return True
    return False


def plan_for(graph: Graph, where: str, settings: Settings, say: Say) -> Plan:
    """The plan of an optimized graph that settings ask for."""
    goal = Goal(
        ram=settings.ram_limit,
        spend=settings.ram is not None,
        flash=None if settings.flash_limit is None else max(settings.flash_limit - USUAL_CODE, 0),
        most_cost=settings.cycle_limit,
        least=settings.least_ram,
        pushed=settings.input == "rows",
        small_steps=settings.step == "row",
        zone=RED_ZONE if settings.red_zones else 0,
        recompute=settings.recompute,
        pins=settings.kernels,
        costs=settings.costs,
    )
    if goal.pushed:
        _check_pushable(graph, where)
    memories = () if goal.zone else settings.target.choice("ram")
    try:
        return plan(graph, _lowering(settings), goal, memories, say)
    except TooSmallError as error:
        raise BudgetError(
            f"its parts do not fit the memories one by one: {error.memory.name} would need {error.need:,} bytes,"
            f" {error.need - error.memory.size:,} more than are there",
            where=f"{where} on {settings.target.name}",
            remedy=f"use a part with more {error.memory.name}, or a smaller model",
        ) from None
    except TooSlowError as error:
        raise _too_slow(settings, round(error.taken), where) from None
    except DoesNotFitError as error:
        assert goal.ram is not None
        raise BudgetError(
            f"needs {error.least:,} bytes of RAM at least, {error.least - goal.ram:,} more than the {goal.ram:,} that"
            " are there",
            where=f"{where} on {settings.target.name}",
            remedy="use a part with more RAM, a smaller model, a larger --ram budget"
            + ("" if goal.pushed else ", or --input rows, which does not keep the whole input in RAM"),
        ) from None


def _too_slow(settings: Settings, cycles: int, where: str) -> BudgetError:
    """What is to be said of the fastest plan where that is too slow."""
    limit, clock = settings.cycle_limit, settings.target.clock_hz
    assert limit is not None
    over = cycles - limit
    time = f", {over / clock * 1e3:,.3g} ms at {clock / 1e6:g} MHz" if clock else ""
    budgets = " within the budget of RAM or flash" if settings.ram is not None or settings.flash is not None else ""
    return BudgetError(
        f"takes about {cycles:,} cycles at least{budgets}, by the estimate, {over:,} ({over / limit:.1%}{time}) more"
        f" than the {limit:,} that it may take",
        where=f"{where} on {settings.target.name}",
        remedy="use a faster part, a smaller model, or a larger --latency or --cycles budget",
    )


def _lowering(settings: Settings) -> Lowering:
    return Lowering(settings.target.features, Policy(settings.optimize), fixed=settings.fixed)


def _check_pushable(graph: Graph, where: str) -> None:
    if len(graph.inputs) != 1:
        raise MoteError(f"has {len(graph.inputs)} inputs; only a single one can come row by row", where=where)
    shape = graph.tensors[graph.inputs[0]].shape
    if row_count(shape) == 1:
        raise MoteError(
            f"the input {'x'.join(map(str, shape))} has one row only, so that it cannot come row by row",
            where=where,
            remedy="omit --input rows",
        )


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


@lru_cache(maxsize=4)
def golden(graph: Graph) -> tuple[Run, ...]:
    """What the reference computes in the self-test: the same for all plans of a graph."""
    return runs(graph)


def check_budgets(compiled: Compiled, code: int, stack: int = 0, what: str = "code") -> None:
    """Refuse a model that does not fit, with the numbers. `code` and `stack` are 0 until they are known; `what` is what
    the code is called. The part's RAM must hold the stack as well; a budget is for what is planned."""
    s, planned = compiled.settings, {"arena": compiled.plan.arena, "counters": compiled.plan.static}
    planned |= {"code in RAM": s.ram_beside}
    if s.ram_code and not s.ram_beside:
        memory = s.target.code_rams[0]
        over_budget(memory.name, {"code": s.ram_code}, memory.size, s, compiled.path)
    check_flashes(compiled.project, s, code, compiled.path)
    over_budget("RAM", planned, s.ram, s, compiled.path)
    over_budget("RAM", {**planned, "stack": stack}, s.target.ram, s, compiled.path)
    over_budget("flash", {"constants": compiled.project.constants, what: code}, s.flash_limit, s, compiled.path)


def check_code_ram(target: Target) -> None:
    """Refuse to execute code from RAM where that cannot be done, or gains nothing."""
    where, remedy = f"option place_code on {target.name}", "omit it"
    if target.arch == "host":
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


def over_budget(what: str, parts: dict[str, int], limit: int | None, settings: Settings, path: str) -> None:
    """Refuse parts that are more than a limit together."""
    need = sum(parts.values())
    if limit is not None and need > limit:
        shown = " + ".join(f"{name} {nbytes}" for name, nbytes in parts.items() if nbytes)
        raise BudgetError(
            f"needs {need:,} bytes of {what} ({shown}), {need - limit:,} more than the {limit:,} that are there",
            where=f"{path} on {settings.target.name}",
            remedy=f"use a part with more {what}, a smaller model, or a larger --{what.lower()} budget",
        )


def check_flashes(project: Project, settings: Settings, code: int, path: str) -> None:
    """Refuse constants that do not fit the flash memories that they were given; the code is in the fastest one."""
    for i, memory in enumerate(settings.target.choice("flash")):
        need = project.flash[memory.name] + (0 if i else code)
        over = need - memory.size
        if over > 0:
            raise BudgetError(
                f"needs {need:,} bytes of {memory.name}, {over:,} more than the {memory.size:,} that are there",
                where=f"{path} on {settings.target.name}",
                remedy=f"use a part with more {memory.name}, or a smaller model",
            )


def c_name(settings: Settings, graph: Graph) -> tuple[str, str]:
    """The prefix of C symbols and files, and why it is not the name that was given; one that was asked for must do."""
    given = settings.name or graph.name
    usable, why = c_prefix(given)
    said = f"'{printable(given)}' {why}" if why else ""
    if settings.name and said:
        raise MoteError(said, where="option name", remedy=f"use '{usable}'")
    return usable, said


def _least(*limits: int | None) -> int | None:
    return min((x for x in limits if x is not None), default=None)
