"""`mote.check_generator`: a test suite for the authors of external generators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.base.notebook import table
from mote.base.progress import Say, counted, silent
from mote.base.results import Result
from mote.base.text import did_you_mean
from mote.bench.evaluation.verify import judged, verify
from mote.bench.execute.stimuli import stimuli
from mote.bench.generators.instrumented import MEANINGS, Violation, instrumented, is_checked
from mote.bench.generators.layers import LAYERS, layer_of, layers_model
from mote.bench.measure.runner import bench
from mote.bench.measuring import profile
from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Refusal
from mote.compiler.line import compile as compile_model
from mote.compiler.offload.backends import GENERATORS, GROUP, known, named, offload, register
from mote.compiler.offload.contract import Artifact, Generator, Judgement, Offloaded, forget
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers, Region, joined
from mote.ir.graph.tensor import Array

INPUTS = 3
"""Default number of inputs that each layer is run on."""
LEAST_CORRELATION = 0.5
"""Rank correlation of costs and measured cycles below which costs mislead the planner."""
MEMORY = "memory and alignment"
LEAST_COSTS = 4
"""Minimum number of regions to compare costs with measurements."""


@dataclass(frozen=True)
class GeneratorCheck:
    """One check of a generator."""

    name: str
    """The name of the check."""
    passed: bool | None
    """Whether it passed; None if nothing could be checked."""
    detail: str
    """Extent of the check, or why nothing could be checked."""
    failures: tuple[str, ...] = ()
    """Failed regions with reasons."""


@dataclass(frozen=True, repr=False)
class GeneratorReport(Result):
    """The checks of a generator on a target."""

    LINE = "of {generator!r} on {target}: {verdict}"
    TITLE = "{generator} for {target}"
    FACTS = "artifacts=regions, passed"
    JSON = "*, passed"

    generator: str
    """The name of the generator."""
    target: str
    """The name of the target."""
    regions: int
    """Number of checked artifacts: regions with each of their alternatives."""
    checks: tuple[GeneratorCheck, ...]
    """Results of the checks, in order."""

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)

    @property
    def verdict(self) -> str:
        """Verdict in words."""
        failed = [check.name for check in self.checks if check.passed is False]
        return f"FAILED: {', '.join(failed)}" if failed else f"passed, {self.regions:,} artifacts"

    def _parts(self) -> list[str]:
        marks = {True: "passed", False: "FAILED", None: "not checked"}
        rows = [(c.name, marks[c.passed], c.detail, "; ".join(c.failures)) for c in self.checks]
        return [table(("check", "result", "detail", "failures"), rows, left=4)]


def check_generator(
    generator: str | Generator,
    *,
    target: str | Target = "host",
    trust_target: bool = False,
    layers: Sequence[str] = (),
    models: Sequence[str | Path | bytes] = (),
    inputs: int = INPUTS,
    seed: int = 0,
    emulator: str | None = None,
    say: Say = silent,
) -> GeneratorReport:
    """Check an external generator: its claims on small layers and on `models`, reproducible builds, exact results,
    memory safety with guard bytes at the requested alignment, costs that correlate with measured cycles, and refusals
    with reasons.

    `generator` is its name, the package that announces it, `module:Class`, or an object. `layers` are names in
    `mote.bench.generators.layers.LAYERS`, by default all. Costs are measured on targets that can be emulated."""
    subject = _subject(generator)
    part = target if isinstance(target, Target) else targets.load(target, trusted=trust_target)
    for name in layers:
        if name not in LAYERS:
            guess = did_you_mean(name, LAYERS)
            raise MoteError(
                f"there is no layer '{name}'", where="option layers", remedy=f"{guess}use {', '.join(LAYERS)}"
            )
    with _standing_in(subject, subject):
        offload((subject.name,), part)
        suite = _Suite(subject, part, inputs, seed, emulator)
        given: list[Any] = [*suite.claimed(tuple(layers or LAYERS)), *models]
        done = counted(say, "checked models")
        for i, model in enumerate(given):
            suite.run(model)
            done(i + 1, len(given))
    return suite.report()


def _subject(generator: str | Generator) -> Generator:
    """Finds the generator of a name, package or class."""
    if isinstance(generator, Generator):
        return generator
    if ":" in generator:
        return _from_class(generator)
    if generator in known():
        return named([generator])[0]
    try:
        points = distribution(generator).entry_points.select(group=GROUP)
    except PackageNotFoundError:
        raise MoteError(
            f"there is no generator and no package '{generator}'",
            remedy=f"{did_you_mean(generator, known())}`mote backends` lists generators; module:Class names a class",
        ) from None
    names = [point.name for point in points]
    if len(names) != 1:
        has = f"announces {', '.join(names)}" if names else f"announces no generator as '{GROUP}'"
        raise MoteError(f"the package '{generator}' {has}", remedy="give the name of one, or module:Class")
    return named(names)[0]


def _from_class(text: str) -> Generator:
    module, _, name = text.partition(":")
    try:
        made = getattr(import_module(module), name)()
    except Exception as error:
        raise MoteError(
            f"'{text}' cannot be loaded: {type(error).__name__}: {error}",
            remedy="give module:Class, as an import would",
        ) from error
    if not isinstance(made, Generator):
        raise MoteError(
            f"'{text}' gives {type(made).__name__}, which is no Generator", remedy="derive it from Generator"
        )
    return made


@contextmanager
def _standing_in(generator: Generator, original: Generator) -> Iterator[None]:
    """Context manager that registers a generator, replacing another one of its name."""
    before = GENERATORS.get(original.name)
    register(generator)
    try:
        yield
    finally:
        if before is None:
            GENERATORS.pop(original.name, None)
        else:
            GENERATORS[original.name] = before
        forget()


Piece = tuple[Numbers, str]
"""A region by its operator numbers, and the name of one of its alternatives."""


class ChosenRegions(Generator):
    """A generator restricted to some of its regions and alternatives, optionally wrapped in a test harness."""

    def __init__(self, other: Generator, pieces: Iterable[Piece], *, guarded: bool = False) -> None:
        self.other, self.pieces, self.guarded = other, set(pieces), guarded
        self.name, self.device = other.name, other.device

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [joined(graph, [graph.ops[n] for n in ops]) for ops in sorted({ops for ops, _ in self.pieces})]

    def split(self, region: Op, graph: Graph, target: Target) -> Iterable[Op]:
        return ()

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        ops = numbers(graph, region)
        chosen = [a for a in alternatives(self.other.build(region, graph, target)) if (ops, a.variant) in self.pieces]
        if not self.guarded:
            return chosen
        return [instrumented(a, region, graph, ops[0]) if is_checked(a, region) else a for a in chosen]

    def reference(self, region: Op, graph: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.other.reference(region, graph, values)

    def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
        return self.other.simulate(memory)


def numbers(graph: Graph, region: Op) -> Numbers:
    """Positions of a region's operators in a graph."""
    return tuple(graph.places[id(op)] for op in (region.ops if isinstance(region, Region) else (region,)))


def alternatives(built: Artifact | Refusal | Sequence[Artifact]) -> list[Artifact]:
    return [] if isinstance(built, Refusal) else [built] if isinstance(built, Artifact) else list(built)


@dataclass
class _Suite:
    """Runs the checks of one generator."""

    generator: Generator
    target: Target
    inputs: int
    seed: int
    emulator: str | None
    regions: int = 0
    refused: int = 0
    guarded: int = 0
    failures: dict[str, list[str]] = field(default_factory=dict)
    costs: list[tuple[float, float]] = field(default_factory=list)
    """Pairs of (stated cost, measured cycles) of artifacts."""
    unmeasured: str = ""
    reference: str = ""

    def fail(self, check: str, where: str, why: str) -> None:
        self.failures.setdefault(check, []).append(f"{where}: {why}")

    def claimed(self, names: tuple[str, ...]) -> list[bytes]:
        """A model of the layers that the generator claims; None if it claims none."""
        graph = compile_model(layers_model(names, self.seed), target=self.target).plan.graph
        try:
            claims = list(self.generator.claims(graph, self.target))
        except Exception as error:
            self.fail("builds", "claims", _said(error))
            return []
        ops = [op for region in claims for op in (region.ops if isinstance(region, Region) else (region,))]
        wanted = {layer_of(op.name) for op in ops}
        return [layers_model(tuple(name for name in names if name in wanted), self.seed)] if wanted else []

    def run(self, model: Any) -> None:
        own = compile_model(model, target=self.target)
        graph = own.plan.graph
        built = self._built(graph)
        waiting = [(ops, artifact) for ops, made in built.items() for artifact in made]
        self.regions += len(waiting)
        while waiting:
            taken: set[int] = set()
            turn: dict[Piece, Artifact] = {}
            for ops, artifact in waiting:
                if taken.isdisjoint(ops):
                    taken.update(ops)
                    turn[ops, artifact.variant] = artifact
            waiting = [(ops, a) for ops, a in waiting if (ops, a.variant) not in turn]
            self._together(model, graph, turn)

    def _built(self, graph: Graph) -> dict[Numbers, list[Artifact]]:
        """Artifacts of all claims, each built twice."""
        try:
            claims = list(self.generator.claims(graph, self.target))
            again = list(self.generator.claims(graph, self.target))
        except Exception as error:
            self.fail("builds", "claims", _said(error))
            return {}
        if [numbers(graph, op) for op in claims] != [numbers(graph, op) for op in again]:
            self.fail("same each time", "claims", "differ from call to call")
        built: dict[Numbers, list[Artifact]] = {}
        waiting = claims[::-1]
        while waiting:
            region = waiting.pop()
            where = f"layer '{region.name}'"
            try:
                first = self.generator.build(region, graph, self.target)
                second = self.generator.build(region, graph, self.target)
            except Exception as error:
                self.fail("builds", where, _said(error))
                continue
            if _fingerprint(first) != _fingerprint(second):
                self.fail("same each time", where, "a second build differs from the first")
            if isinstance(first, Refusal):
                self.refused += 1
                if not first.why.strip():
                    self.fail("refusals", where, "is refused without a reason")
                waiting += list(self.generator.split(region, graph, self.target)) if isinstance(region, Region) else []
            built[numbers(graph, region)] = alternatives(first)
        return built

    def _together(self, model: Any, graph: Graph, turn: Mapping[Piece, Artifact]) -> None:
        """Checks disjoint regions in one build; if that fails, each one separately, to identify failures."""
        try:
            self._checked(model, graph, turn)
        except MoteError as error:
            if len(turn) == 1:
                ((ops, _),) = turn
                self.fail("builds", _where(graph, ops), _said(error))
                return
            for piece, artifact in turn.items():
                self._together(model, graph, {piece: artifact})

    def _checked(self, model: Any, graph: Graph, turn: Mapping[Piece, Artifact]) -> None:
        name = self.generator.name
        pins = {graph.numbers[ops[0]]: f"{name}[variant={v}]" if v else name for (ops, v) in turn}
        plain = self._compiled(model, pins, ChosenRegions(self.generator, turn))
        with _standing_in(ChosenRegions(self.generator, turn), self.generator):
            result = verify(plain, self.inputs, seed=self.seed, emulator=self.emulator)
        wrong = {m.number: m for m in reversed(result.mismatches) if m.number}
        by_number = {plain.plan.number(s): s.ops for s in plain.plan.steps if isinstance(s.kernel, Offloaded)}
        for number, ops in by_number.items():
            if number in wrong:
                bad = wrong[number]
                reason = f"{bad.differing:,} values differ, by {bad.max_abs_diff:g} at most ({bad.allowed:g} allowed)"
                self.fail("exact", _where(graph, ops), reason)
        self.reference = result.reference
        exact = {ops for number, ops in by_number.items() if number not in wrong}
        run = {p: a for p, a in turn.items() if a.judgement is not Judgement.REFERENCE}
        if len(run) < len(turn):
            return
        self._guards(model, graph, {p: a for p, a in turn.items() if p[0] in exact}, pins)
        self._measured(plain, turn)

    def _compiled(self, model: Any, pins: Mapping[str, str], generator: Generator) -> Compiled:
        with _standing_in(generator, self.generator):
            return compile_model(model, target=self.target, backend=[self.generator.name], kernels=dict(pins))

    def _guards(self, model: Any, graph: Graph, turn: Mapping[Piece, Artifact], pins: Mapping[str, str]) -> None:
        """Runs exact regions again with guard bytes."""
        able = [
            artifact
            for (ops, _), artifact in turn.items()
            if is_checked(artifact, joined(graph, [graph.ops[n] for n in ops]))
        ]
        if not able:
            return
        self.guarded += len(able)
        chosen = ChosenRegions(self.generator, [*turn], guarded=True)
        few = {graph.numbers[ops[0]]: pins[graph.numbers[ops[0]]] for ops, _ in turn}
        guarded = self._compiled(model, few, chosen)
        try:
            with _standing_in(chosen, self.generator):
                result = verify(guarded, self.inputs, seed=self.seed, emulator=self.emulator)
        except MoteError as error:
            if len(turn) > 1:
                raise
            ((ops, _),) = turn
            self.fail(MEMORY, _where(graph, ops), f"crashes at the alignment that it asks for: {error.reason}")
            return
        wrong = {m.number for m in result.mismatches}
        dumps = self._dumps(guarded, chosen) if wrong else {}
        for step in guarded.plan.steps:
            if isinstance(step.kernel, Offloaded) and guarded.plan.number(step) in wrong:
                self.fail(MEMORY, _where(graph, step.ops), _violation(dumps[step.ops]))

    def _dumps(self, made: Compiled, generator: Generator) -> dict[Numbers, list[bytes]]:
        """Outputs of a model's regions on each input."""
        plan, graph = made.plan, made.plan.graph
        raw = [[case[t].tobytes() for t in graph.inputs] for case in stimuli(graph, self.inputs, self.seed)]
        with (
            _standing_in(generator, self.generator),
            temporary_folder() as folder,
            bench(judged(made).firmware, folder, emulator=self.emulator) as on,
        ):
            dumps = on.execute(Mode.DUMP, raw).dumps
        places = {steps[0].ops: i for i, (_, steps) in enumerate(plan.works)}
        return {ops: [dump[place] for dump in dumps] for ops, place in places.items() if all(place in d for d in dumps)}

    def _measured(self, made: Compiled, turn: Mapping[Piece, Artifact]) -> None:
        """Measured cycles of the regions on an emulated core."""
        if self.target.is_host:
            self.unmeasured = "the host counts no cycles: give a target that is emulated, say cortex-m4"
            return
        timed = {ops: artifact for (ops, _), artifact in turn.items() if not artifact.simulated}
        if not timed:
            self.unmeasured = "the time of a simulated accelerator is not measured"
            return
        with _standing_in(ChosenRegions(self.generator, turn), self.generator):
            profiled = profile(made, emulator=self.emulator)
        cycles = {layer.number: layer.cycles for layer in profiled.layers}
        for step in made.plan.steps:
            if step.ops in timed and made.plan.number(step) in cycles:
                self.costs.append((timed[step.ops].cost, cycles[made.plan.number(step)]))

    def report(self) -> GeneratorReport:
        claims = f"{self.regions:,} artifacts, {self.refused:,} regions refused"
        checks = [
            self._check("builds", claims, bool(self.regions or self.failures), "it builds none of the layers"),
            self._check("same each time", f"{self.regions:,} artifacts, each built twice"),
            self._check("refusals", f"{self.refused:,} regions refused, with reasons" if self.refused else "none"),
            self._check("exact", f"against {self.reference}") if self.reference else _nothing("exact"),
            self._check(MEMORY, f"{self.guarded:,} artifacts with guard bytes, inputs and blobs compared")
            if self.guarded
            else _nothing(MEMORY),
            self._cost_check(),
        ]
        return GeneratorReport(self.generator.name, self.target.name, self.regions, tuple(checks))

    def _check(self, name: str, detail: str, good: bool = True, why: str = "") -> GeneratorCheck:
        failures = (*self.failures.get(name, []), *([] if good else [why]))
        return GeneratorCheck(name, not failures, detail, failures)

    def _cost_check(self) -> GeneratorCheck:
        if len(self.costs) < LEAST_COSTS:
            few = f"{len(self.costs)} regions are too few to compare" if self.costs else "nothing was measured"
            return GeneratorCheck("costs", None, self.unmeasured or few)
        said, measured = map(np.array, zip(*self.costs, strict=True))
        ratios = measured / np.maximum(said, 1.0)
        correlation = rank_correlation(said, measured)
        detail = (
            f"{len(self.costs)} regions take {np.median(ratios):.2f} times what they say ({ratios.min():.2f} to"
            f" {ratios.max():.2f}), rank correlation {correlation:.2f}"
        )
        if correlation >= LEAST_CORRELATION:
            return GeneratorCheck("costs", True, detail)
        reason = f"costs do not follow measured cycles: rank correlation {correlation:.2f} < {LEAST_CORRELATION}"
        return GeneratorCheck("costs", False, detail, (reason,))


def _nothing(name: str) -> GeneratorCheck:
    return GeneratorCheck(name, None, "nothing was run")


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's rank correlation; ties get the mean rank, and constants correlate with nothing."""
    ranks = [np.array([(x < values).sum() * -1 + (x > values).sum() for x in values], float) for values in (a, b)]
    spread = np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum())
    return float((ranks[0] * ranks[1]).sum() / spread) if spread else 0.0


def _where(graph: Graph, ops: Numbers) -> str:
    return f"layer '{graph.ops[ops[-1]].name}'"


def _violation(outputs: Sequence[bytes]) -> str:
    """The violation encoded in the outputs; without one, results depend on addresses."""
    marks = {output[0] for output in outputs if output and len(set(output)) == 1}
    for violation in Violation:
        if violation in marks:
            return MEANINGS[violation]
    return "other results at the alignment that it asks for, or outputs that are not written"


def _said(error: Exception) -> str:
    return error.reason if isinstance(error, MoteError) else f"{type(error).__name__}: {error}"


def _fingerprint(built: object) -> object:
    """Everything that two builds must have in common, in comparable types."""
    if isinstance(built, np.ndarray):
        return built.dtype, built.shape, built.tobytes()
    if is_dataclass(built):
        return type(built).__name__, [_fingerprint(getattr(built, f.name)) for f in fields(built)]
    if isinstance(built, Mapping):
        return [(_fingerprint(key), _fingerprint(value)) for key, value in built.items()]
    return [_fingerprint(each) for each in built] if isinstance(built, list | tuple) else built
