"""`mote check`: every model of a project against its reference, its budgets and its accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError, explaining
from mote.base.files import temporary_folder
from mote.base.progress import Say, silent
from mote.bench import measuring, verifying
from mote.bench.evaluation.evaluator import Evaluation, evaluate
from mote.bench.evaluation.images import LoadedImage, load_image
from mote.bench.evaluation.verify import VerifyResult
from mote.bench.measure.profiler import Profile
from mote.bench.measure.run import RunResult
from mote.bench.metrics.score import HIGHER, LOWER
from mote.compiler import kept
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.code_size import checked_code
from mote.ui.project.builder import PreparedModel, by_model, opened, packed, prepared_model, saying
from mote.ui.project.limits import MEASURES, PROFILE, RUN, SCORES
from mote.ui.project.making import compiled_within, first_needs
from mote.ui.project.project_file import ModelEntry
from mote.ui.project.result import CheckOutcome, CheckResult

COMPILES, VERIFIED, ON_CORE = "compiles", "verified", "on core"
"""Checks without a number: compiled within the budgets of its settings, equal to the reference, and samples of the data
on the emulated core equal to the host's."""
MICRO = 1e-6


@explaining()
def check(*names: str, project: str | Path | None = None, say: Say = silent) -> CheckResult:
    """Checks the models `names` of a project, or all: each compiles within the budgets of its settings, equals its
    reference, and keeps the limits of its table `check`. A limit that cannot be measured here is a failure. `project`
    is as for `mote.build`; nothing is written. `say` is a callback for progress."""
    file = opened(project)
    outcomes: list[CheckOutcome] = []
    for entries in by_model(file.entries(names)):
        try:
            ready = prepared_model(entries[0], saying(say, entries[0]))
        except MoteError as error:
            outcomes += [_failed(entry, COMPILES, error) for entry in entries]
            continue
        for entry in entries:
            outcomes += _checked(entry, ready, saying(say, entry))
    return CheckResult(str(file), tuple(outcomes))


def _failed(entry: ModelEntry, what: str, error: MoteError, **more: Any) -> CheckOutcome:
    where = f"{error.where}: " if error.where else ""
    return CheckOutcome(
        entry.name, entry.target, what, passed=False, detail=f"{where}{error.reason}", remedy=error.remedy, **more
    )


def _checked(entry: ModelEntry, ready: PreparedModel, say: Say) -> Iterator[CheckOutcome]:
    say("compiling")
    with temporary_folder() as folder:
        try:
            subject = _subject(entry, ready, folder, say)
        except MoteError as error:
            yield _failed(entry, COMPILES, error)
            return
        budgets = ", ".join(
            f"{key} {entry.given[key]}" for key in ("ram", "flash", "latency", "cycles") if key in entry.given
        )
        yield CheckOutcome(entry.name, entry.target, COMPILES, passed=True, detail=f"within {budgets}" * bool(budgets))
        yield from _verified(subject, say)
        yield from _limits(entry, RUN, lambda: _run_values(subject.run(say)))
        yield from _limits(entry, PROFILE, lambda: _profile_values(subject.profile(say)))
        yield from _scores(subject, say)


@dataclass(frozen=True)
class _Subject:
    """A model that is measured: compiled C, or an image in the runtime."""

    entry: ModelEntry
    ready: PreparedModel
    made: Compiled | LoadedImage

    @property
    def tools(self) -> dict[str, Any]:
        return dict(self.entry.checks.tools)

    def verify(self, say: Say) -> VerifyResult:
        say("comparing with the reference")
        source = self.ready.model if isinstance(self.made, LoadedImage) else None
        return verifying.verify(self.made, self.entry.checks.verify, source=source, **self.tools)

    def run(self, say: Say) -> RunResult:
        say("running")
        return measuring.run(self.made, layers=False, **self.tools)

    def profile(self, say: Say) -> Profile:
        say("counting cycles")
        return measuring.profile(self.made, layers=False, **self.tools)

    def evaluate(self, say: Say) -> Evaluation:
        """The accuracy; of an image that of the C with the same settings, which computes the same."""
        checks, made = self.entry.checks, self.made
        assert checks.data is not None
        if isinstance(made, LoadedImage):
            made = kept.compile(self.ready.model, self.ready.recipe(self.entry).settings, say=say)
        return evaluate(
            made,
            checks.data.read(labelled=True),
            metric=checks.metric,
            against=checks.against if "drop" in checks.limits else None,
            samples=0 if isinstance(self.made, LoadedImage) else checks.sample,
            worst=0,
            event=checks.event,
            threshold=checks.threshold,
            say=say,
            **self.tools,
        )


def _subject(entry: ModelEntry, ready: PreparedModel, folder: Path, say: Say) -> _Subject:
    recipe = ready.recipe(entry)
    if not entry.image:
        settings = replace(recipe.settings, **first_needs(recipe.package))
        compiled = compiled_within(ready.model, settings, say)
        checked_code(compiled)
        return _Subject(entry, ready, compiled)
    image = packed(entry, ready, say)
    path = folder / f"{image.name}.mote"
    image.write(path)
    return _Subject(entry, ready, load_image(path, recipe.settings, runtime=entry.image_options["runtime"]))


def _verified(subject: _Subject, say: Say) -> Iterator[CheckOutcome]:
    """Whether the code computes what the reference does."""
    entry = subject.entry
    if entry.checks.verify == 0:
        return
    try:
        result = subject.verify(say)
    except MoteError as error:
        yield _failed(entry, VERIFIED, error)
        return
    passed = result.exact if entry.checks.exact else result.passed
    compared = f"{result.tensors} tensors, {result.inputs} inputs, against {result.reference}"
    if not passed:
        count = len(result.mismatches)
        said = f"{count} mismatches" if count else "not bit for bit"
        compared += f": {said}, largest difference {result.max_abs_diff:.6g}"
    equal = "bit for bit" if result.exact else "by rounding" if result.passed else f"{len(result.mismatches)} differ"
    yield CheckOutcome(entry.name, entry.target, VERIFIED, passed, detail=compared, equal=equal)


def _limits(
    entry: ModelEntry, keys: Iterable[str], measured: Callable[[], Mapping[str, float | str]]
) -> Iterator[CheckOutcome]:
    """Holds values against the limits of some keys, which are measured only where there is one; a value that is a text
    says why there is none."""
    limits = {key: entry.checks.limits[key] for key in keys if key in entry.checks.limits}
    if not limits:
        return
    try:
        values = measured()
    except MoteError as error:
        for key, limit in limits.items():
            yield _failed(entry, key, error, limit=limit, unit=MEASURES[key].unit)
        return
    for key, limit in limits.items():
        value, unit = values[key], MEASURES[key].unit
        if isinstance(value, str):
            yield _failed(entry, key, MoteError(f"not measured: {value}"), limit=limit, unit=unit)
        else:
            yield CheckOutcome(entry.name, entry.target, key, value <= limit, value, limit, unit=unit)


def _run_values(result: RunResult) -> dict[str, float | str]:
    on_host = "the host is no microcontroller"
    stack = result.ram.stack if result.ram.stack is not None else result.ram.stack_measured
    return {
        "ram": on_host if result.ram.static is None else result.ram.total,
        "arena": result.ram.arena,
        "stack": on_host if stack is None else stack,
        "flash": on_host if result.flash.code is None else result.flash.total,
        "instructions": on_host if result.instructions is None else result.instructions,
    }


def _profile_values(result: Profile) -> dict[str, float | str]:
    return {
        "cycles": result.cycles,
        "latency": f"{result.target} has no clock" if result.seconds is None else result.seconds,
        "energy": result.reason if result.energy is None else result.energy.microjoules * MICRO,
    }


def _scores(subject: _Subject, say: Say) -> Iterator[CheckOutcome]:
    """The accuracy on data, its drop against another model, and samples on the emulated core."""
    entry = subject.entry
    least, most_drop = (entry.checks.limits.get(key) for key in SCORES)
    if least is None and most_drop is None:
        return
    say("measuring the accuracy")
    try:
        result = subject.evaluate(say)
        check_share(result, least)
    except MoteError as error:
        yield from (_failed(entry, key, error) for key in SCORES if key in entry.checks.limits)
        return
    score, sign = result.score, 1 if result.score.better == HIGHER else -1

    def outcome(key: str, value: float, limit: float, better: str, detail: str) -> CheckOutcome:
        passed = value <= limit if better == LOWER else value >= limit
        return CheckOutcome(entry.name, entry.target, key, passed, value, limit, better, score.metric, detail)

    if least is not None:
        context = f", {score.context}" if score.context else ""
        said = f"{score.samples:,} samples of {result.data}{context}"
        yield outcome("accuracy", score.value, least, score.better, said)
    if most_drop is not None and result.against is not None:
        drop = round(sign * (result.against.score.value - score.value), 12)
        yield outcome("drop", drop, most_drop, LOWER, f"against {result.against.model}")
    if result.core is not None:
        core = result.core
        equal = f"{core.equal} of {core.samples}"
        said = f"{equal} samples equal to the host's ({core.emulator})"
        yield CheckOutcome(entry.name, entry.target, ON_CORE, core.passed, detail=said, equal=equal)


def check_share(result: Evaluation, limit: float | None) -> None:
    """Refuses a limit of a share that is none, such as 97 for 97%."""
    metric = result.score.metric
    if limit is not None and limit > 1 and metric not in ("rmse", "mae"):
        raise MoteError(
            f"{limit:g} is more than {metric} can be", where="accuracy", remedy='write a share: 0.97 or "97%"'
        )
