"""`mote.search`: finds, trains and quantizes models for a data set within a target's limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Unpack

from mote.base.errors import BudgetError, MoteError, explaining
from mote.base.extras import require
from mote.base.progress import Say, silent
from mote.base.text import did_you_mean, printable
from mote.bench.metrics import accuracy
from mote.compiler.given import CompileOptions
from mote.compiler.options.records import recorded
from mote.compiler.settings import Settings, chosen_settings
from mote.frontends.data.dataset import dataset, prepared
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.features.pipeline import preprocessing
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.nas.around.family import AroundFamily
from mote.optimize.nas.around.given import GivenModel, given_model
from mote.optimize.nas.around.pricing import GraphPricing
from mote.optimize.nas.candidates import AXES, CandidateEvaluator, SearchCandidate, SearchEffort, least_worth, spread
from mote.optimize.nas.classical.classical_family import ClassicalFamily, suits
from mote.optimize.nas.classical.classical_space import ClassicalSpace
from mote.optimize.nas.costs.compiled_costs import compiled_model, costs_of, limited
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.costs.pricer import Pricer
from mote.optimize.nas.evolution import POPULATION, beginning, evolve
from mote.optimize.nas.family import Choice, FinishedMember, ModelFamily
from mote.optimize.nas.halving import halve
from mote.optimize.nas.member import SearchMember
from mote.optimize.nas.named_spaces import GivenSpace, named_space
from mote.optimize.nas.network_family import AUTO, POOL, STRATEGIES, NetworkFamily
from mote.optimize.nas.result import SearchResult
from mote.optimize.nas.spaces.options import PRECISIONS
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import spaces_for
from mote.optimize.nas.tasks import SOUND, LearningTask, kind_of, learning_tasks
from mote.optimize.search import digest, front
from mote.optimize.search.session import searching

TEACHER = "mote.optimize.nas.training.teacher"
"""Module that needs PyTorch, imported only for training."""
TRIALS, TRAINED, AROUND = 300, 36, 100
"""Default number of trials with a supernet, with training of each candidate, and around a given model."""
NOTHING = "none"
"""Value of the option `augment` that disables data augmentation."""
GIVEN = "given"
"""Name of the user's own model among the results of a search around it."""
SHARING_TIME = 1 / 3
"""Maximum share of the time budget for training supernets."""
CHOOSING = 0.5
"""Share of the time budget after which finalists are trained."""
EPOCHS = 30
FINALISTS = 6
"""Default number of candidates that are fully trained."""

STATED = (
    *("validate", "space", "task", "precision", "strategy", "teacher", "trials", "finalists", "minutes", "augment"),
    *("device", "optimize", "workers", "scheduler"),
)
"""Options that the command of a result states, besides those in its report."""


class SearchOptions(CompileOptions, total=False):
    """Keyword arguments of `mote.search`: those of a compilation and the fields of `SearchPlan`."""

    space: GivenSpace | Sequence[GivenSpace]
    task: str
    precision: str | Sequence[str]
    strategy: str
    teacher: GivenSpace | None
    augment: str
    device: str
    epochs: int
    trials: int | None
    finalists: int
    minutes: float | None
    seed: int
    journal: str | Path | None
    workers: int
    scheduler: str


@dataclass(frozen=True, kw_only=True)
class SearchPlan:
    """The space, strategy and budget of a search."""

    space: GivenSpace | Sequence[GivenSpace] = ()
    task: str = ""
    precision: str | Sequence[str] = ()
    strategy: str = AUTO
    teacher: GivenSpace | None = None
    augment: str = ""
    device: str = "auto"
    epochs: int = EPOCHS
    trials: int | None = None
    """Candidates to score; None for the default of the space."""
    finalists: int = FINALISTS
    minutes: float | None = None
    """Time limit in minutes, after which nothing new is started; None for no limit."""
    seed: int = 0
    journal: str | Path | None = None
    workers: int = 0
    scheduler: str = ""

    def __post_init__(self) -> None:
        for name, value in (("epochs", self.epochs), ("trials", self.trials), ("finalists", self.finalists)):
            if value is not None and value < 1:
                raise MoteError(f"{value} is less than 1", where=f"option {name}", remedy="give a larger number")
        if self.minutes is not None and self.minutes <= 0:
            raise MoteError("there is nothing to spend", where="option minutes", remedy="give a larger number")
        if self.strategy not in STRATEGIES:
            remedy = f"{did_you_mean(self.strategy, STRATEGIES)}use {', '.join(STRATEGIES)}"
            raise MoteError(f"'{printable(self.strategy)}' is no strategy", where="option strategy", remedy=remedy)

    @property
    def spaces(self) -> list[GivenSpace]:
        """The spaces as a list."""
        return [self.space] if isinstance(self.space, GivenSpace) else list(self.space)

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The precisions as a tuple."""
        return chosen_precisions(self.precision)

    def stated_options(self, validate: str, optimize: str) -> dict[str, Any]:
        """Options that differ from their defaults, in the order of a result's command, including validation data and
        optimization."""
        usual = vars(SearchPlan()) | {"space": [], "precision": "", "teacher": "", "optimize": "balanced"}
        stated = vars(self) | {"validate": validate, "optimize": optimize}
        stated |= {"space": list(map(named, self.spaces)), "precision": ",".join(self.precisions)}
        stated |= {"teacher": named(self.teacher)}
        return {name: stated[name] for name in STATED if stated[name] not in (usual.get(name), "")}


def named(space: GivenSpace | None) -> str:
    """Name or file of a space."""
    return "" if space is None else str(space) if isinstance(space, str | Path) else space.name


def chosen_precisions(given: str | Sequence[str]) -> tuple[Precision, ...]:
    """Parses precisions from a comma-separated string or a sequence."""
    names = given.split(",") if isinstance(given, str) and given else given
    for name in names:
        if name not in PRECISIONS:
            known = [precision.value for precision in PRECISIONS]
            remedy = f"{did_you_mean(name, known)}use {', '.join(known)}"
            raise MoteError(
                f"'{printable(name)}' is no precision of a network", where="option precision", remedy=remedy
            )
    return tuple(Precision(name) for name in names)


@explaining()
def search(
    data: Any,
    settings: Settings | None = None,
    *,
    test: Any,
    validate: Any = None,
    around: Any = None,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """Models for a task within the limits of a target: `search(train, test=test, target="stm32l4r5", ram="32K",
    flash="128K", latency="20ms").write("best")`. Options are those of `mote.compile` and those below.

    `data` and `test` are what `mote.dataset` takes, with labels: classes, or values of a regression. The `task` is
    image, spectrogram, sound, series or table; without one the shape of samples tells. A `space` is a name, a TOML
    file, a `SearchSpace` or a `ClassicalSpace`, or several; without one it is that for the task. For tables there are
    also the models of scikit-learn, if that is installed: `classical`. Candidates are compared by a part of the data
    that is held out, or by data to `validate` with; the test data is used once, for the models of the result.

    With a float model to search `around`, of any format that `mote.compile` reads (a module of PyTorch with
    `example_inputs`), candidates are this model with fewer channels, blocks and taps, sparse weights and other
    precisions, distilled from it; the first member of the result is the model itself, `given`.

    `precision`: int8, int4 (weights) or int16 (activations) for layers, or several to choose from, instead of those of
    the space. `trials`: candidates scored. `strategy`: supernet (by its shared weights), halving (by training them for
    a part of the `epochs`), or auto, which suits the space. `teacher`: a space whose largest network is trained first,
    whatever its costs; all others learn from it (distillation). `finalists`: candidates that are trained for all of
    the epochs and quantized. After `minutes` nothing new is begun. `journal`: a file of results, from which an
    interrupted search continues. `augment` transforms samples in training: "flip,shift=4". Without it spectrograms are
    shifted and stretched in time, unless it is "none". `seed` is that of splits, choices and weights, `device` the one
    that PyTorch trains on; `workers` and `scheduler` (`mote.search.running`) do not change the result."""
    plan, others = recorded(SearchPlan, options, SearchOptions.__annotations__)
    chosen = chosen_settings(settings, others)
    train, tested = (dataset(given, labelled=True) for given in (data, test))
    held = None if validate is None else dataset(validate, labelled=True)
    limits = CostLimits(chosen.ram, chosen.flash, chosen.cycles, chosen.latency)
    request = _Request(plan, train, tested, held, replace(chosen, latency=None, cycles=None), limits, say)
    stated = plan.stated_options("" if held is None else held.shown, chosen.optimize)
    if around is not None:
        result = _around(given_model(around, example_inputs=example_inputs), request)
    else:
        result = _in_spaces(request)
    return replace(result, options=stated)


@dataclass(frozen=True, eq=False)
class _Request:
    """Arguments of one call of `mote.search`."""

    plan: SearchPlan
    train: Dataset
    test: Dataset
    held: Dataset | None
    """Validation data; None if a part of the training data is held out."""
    settings: Settings
    limits: CostLimits
    say: Say

    def costs(self, finished: FinishedMember) -> NetworkCosts | DoesNotFit:
        """Costs of a finished model after compilation, or the limit that it exceeds."""
        return _shipped_costs(finished, self.settings, self.limits)

    def subject(self, task: LearningTask, families: Sequence[ModelFamily], test: Dataset) -> SearchSubject:
        return SearchSubject(task, tuple(families), test, self.settings, self.limits, self.costs)


def _around(model: GivenModel, request: _Request) -> SearchResult:
    """Runs a search around a user's float model."""
    plan, precisions = request.plan, request.plan.precisions
    stated = {"space": plan.space, "task": plan.task, "teacher": plan.teacher, "strategy": plan.strategy != AUTO}
    for option in (name for name, value in stated.items() if value):
        raise MoteError("the model says that already", where=f"option {option}", remedy="omit it, or the model")
    request.say("judging layers...")
    task = model.task(request.train, request.held, plan.seed)
    if precisions and Precision.INT8 not in precisions:
        raise MoteError("the model is int8, but for some layers", where="option precision", remedy="add int8 to it")
    family = AroundFamily.of(
        model,
        task,
        request.settings,
        GraphPricing(request.settings, request.limits),
        precisions=precisions or PRECISIONS,
        augment="" if plan.augment == NOTHING else plan.augment,
        device=plan.device,
    )
    subject = request.subject(task, [family], model.in_graph_layout(request.test))
    result = search_families(subject, replace(plan, trials=plan.trials or AROUND), say=request.say)
    return replace(_with_given(result, subject, family), around=model.where)


def _in_spaces(request: _Request) -> SearchResult:
    """Runs a search of the named spaces, or of the default ones for the task."""
    plan = request.plan
    if (plan.task or kind_of(request.train)) != SOUND:
        held = None if request.held is None else _floats(request.held)
        request = replace(request, train=_floats(request.train), test=_floats(request.test), held=held)
    tasks = _tasks(request)
    spaces = _spaces(plan.spaces, tasks[0])
    taught = None if plan.teacher is None else _teacher(plan.teacher, tasks, plan)
    seconds = inf if plan.minutes is None else 60 * plan.minutes * SHARING_TIME / len(spaces)
    pricer = Pricer(request.settings, request.limits)
    families = [_family(space, tasks, request, pricer, taught, seconds) for space in spaces]
    return search_families(request.subject(tasks[0], families, request.test), plan, say=request.say)


def _tasks(request: _Request, front_ends: Sequence[str] = ()) -> Sequence[LearningTask]:
    plan, ends = request.plan, {"front_ends": front_ends} if front_ends else {}
    return learning_tasks(request.train, request.held, kind=plan.task, seed=plan.seed, **ends)


def _family(
    space: SearchSpace | ClassicalSpace,
    tasks: Sequence[LearningTask],
    request: _Request,
    pricer: Pricer,
    teacher: Any,
    seconds: float,
) -> ModelFamily:
    """The search family of a space; `seconds` limits the training of its supernet."""
    plan = request.plan
    if isinstance(space, ClassicalSpace):
        return ClassicalFamily(tasks[0], request.settings, request.limits, space, plan.seed)
    space = space.with_precision(plan.precisions) if plan.precisions else space
    preprocess = space.preprocess
    front_ends = [
        str(text) for text in ([preprocess] if isinstance(preprocess, str | float | int) else preprocess) if text
    ]
    own_tasks = _tasks(request, front_ends) if front_ends else tasks
    return NetworkFamily.of(
        space,
        own_tasks,
        pricer,
        epochs=plan.epochs,
        seed=plan.seed,
        augment=_augmented(plan.augment, own_tasks[0]),
        device=plan.device,
        strategy=plan.strategy,
        seconds=seconds,
        count=min(plan.trials or POOL, POOL),
        teacher=teacher,
    )


def _augmented(given: str, task: LearningTask) -> str:
    """The requested data augmentation, or the default of the task."""
    return "" if given == NOTHING else given or task.augmentation


def _teacher(given: GivenSpace, tasks: Sequence[LearningTask], plan: SearchPlan) -> Any:
    """The distillation teacher: the largest network of a space."""
    space = named_space(given)
    if isinstance(space, ClassicalSpace) or len(tasks) > 1:
        reason = "only networks teach" if len(tasks) == 1 else "it would have to take the data of several front ends"
        raise MoteError(reason, where="option teacher", remedy="name a space of networks for data without a front end")
    require("torch", extra="torch", what="mote.search")
    space = replace(space, resolution=None, preprocess="")
    augment = _augmented(plan.augment, tasks[0])
    return import_module(TEACHER).NetworkTeacher(space, tasks[0], plan.epochs, plan.seed, augment, plan.device)


def _spaces(given: Sequence[GivenSpace], task: LearningTask) -> list[SearchSpace | ClassicalSpace]:
    """The requested spaces, or the default ones for a task: classical models for tables, and the first network space of
    its kind."""
    if given:
        return [named_space(one) for one in given]
    return [*([ClassicalSpace()] if suits(task) else []), *spaces_for(task.kind)[:1]]


def _floats(data: Dataset) -> Dataset:
    """Converts integer inputs, such as image bytes, to float."""
    whole = any(values.dtype.kind in "iu" for values in data.inputs.values())
    return dataset(data, preprocess="float", labelled=True) if whole else data


def _shipped_costs(finished: FinishedMember, settings: Settings, limits: CostLimits) -> NetworkCosts | DoesNotFit:
    """Costs of a finished model after compilation, or the limit that it exceeds."""
    try:
        compiled = compiled_model(finished.files[finished.model], settings, finished.options)
    except BudgetError as error:
        return DoesNotFit(error.reason)
    return limited(costs_of(compiled), limits)


@dataclass(frozen=True, eq=False)
class SearchSubject:
    """Families of candidates for a task and a target."""

    task: LearningTask
    families: tuple[ModelFamily, ...]
    test: Dataset
    """Test data before preprocessing."""
    settings: Settings
    """Settings that models are compiled with."""
    limits: CostLimits
    costs: Callable[[FinishedMember], NetworkCosts | DoesNotFit]
    """Computes the costs of a finished model."""


def search_families(subject: SearchSubject, plan: SearchPlan, *, say: Say = silent) -> SearchResult:
    """Searches families of candidates: supernets by evolution, others by successive halving; then fully trains the
    finalists and tests them once."""
    effort = SearchEffort(inf if plan.minutes is None else 60 * plan.minutes)
    say = effort.meter.metered(say)
    families = tuple(_prepared(subject.families, plan.journal, say))
    with searching(families, scheduler=plan.scheduler, workers=plan.workers, journal=plan.journal) as runner:
        evaluator = CandidateEvaluator(families, runner, effort, say)
        finalists = _finalists(evaluator, plan)
        finished = list(evaluator.finished(finalists, plan.epochs))
    members, notes = _members(subject, families, finished, say)
    if not members:
        raise MoteError(
            f"no trained model fits: {notes[0]}",
            where=f"target {subject.settings.target.name}",
            remedy="allow more RAM, flash or time",
        )
    best = front(members, lambda m: -m.validation, lambda m: m.costs.ram, lambda m: m.costs.flash, _cycles)
    chosen = {m.name for m in best}
    return SearchResult(
        data=subject.task.train.shown,
        test=subject.test.shown,
        target=subject.settings.target.name,
        task=subject.task.kind,
        metric=subject.task.metric,
        limits=subject.limits,
        members=tuple(best),
        dominated=tuple(m for m in members if m.name not in chosen),
        families=tuple(family.name for family in families),
        trials=effort.trials,
        costed=effort.costed,
        epochs=plan.epochs,
        seed=plan.seed,
        spent=effort.meter.spent(),
        settings=subject.settings,
        preprocess=str(subject.test.preprocessing),
        notes=(*notes, *_context(best[0], subject)),
    )


def _context(member: SearchMember, subject: SearchSubject) -> Iterator[str]:
    """A note that puts test accuracy in context (chance level, confidence interval); none for a regression."""
    labels = subject.test.labels
    if subject.task.classes and labels is not None:
        count = len(labels)
        score = accuracy("top1", round(member.test * count), labels.reshape(-1), count, {})
        yield f"test accuracy of {member.name} on {count:,} samples: {score.context}"


def _cycles(member: SearchMember) -> float:
    return member.costs.cycles


def _prepared(families: Sequence[ModelFamily], journal: str | Path | None, say: Say) -> Iterator[ModelFamily]:
    """Families with trained supernets and teachers, whose checkpoints are stored next to the journal."""
    for family in families:
        yield family.prepared("" if journal is None else f"{journal}.{digest(family.key)[:12]}", say)


def _finalists(evaluator: CandidateEvaluator, plan: SearchPlan) -> list[SearchCandidate]:
    """Selects the candidates to train fully, spread over the front, most accurate first. Supernet families and others
    get separate shares, as their accuracies are not comparable."""
    groups = [
        [number for number, family in enumerate(evaluator.families) if family.shared is shared]
        for shared in (True, False)
    ]
    count = -(-plan.finalists // sum(map(bool, groups)))
    finalists: list[SearchCandidate] = []
    for shared, numbers in zip((True, False), groups, strict=True):
        if not numbers:
            continue
        if shared:
            trials, rng = plan.trials or TRIALS, Random(plan.seed)
            first = beginning(evaluator, numbers, min(POPULATION, trials), rng)
            scored = evolve(evaluator, first, trials, rng, CHOOSING)
        else:
            trials = plan.trials or TRAINED
            scored = halve(evaluator, numbers, trials, plan.epochs, count, plan.seed, CHOOSING)
        if scored:
            best = scored if len(scored) <= count else spread(_worthy(front(scored, *AXES), count), count)
            finalists += filter(None, map(evaluator.planned, best))
    if not finalists:
        raise MoteError(
            "no candidate could be trained", where="option data", remedy="look at the data: are its values finite?"
        )
    return sorted(finalists, key=lambda c: -c.accuracy)


def _worthy(best: Sequence[SearchCandidate], count: int) -> list[SearchCandidate]:
    """Candidates of a front that are not far below the most accurate one; at least the `count` most accurate."""
    ordered = sorted(best, key=lambda c: -c.accuracy)
    least = least_worth(ordered)
    return [c for rank, c in enumerate(ordered) if rank < count or c.accuracy >= least]


def _members(
    subject: SearchSubject,
    families: Sequence[ModelFamily],
    finished: Sequence[tuple[SearchCandidate, FinishedMember | DoesNotFit]],
    say: Say,
) -> tuple[list[SearchMember], list[str]]:
    """Tested models that fit, by falling validation accuracy, and notes on those that do not."""
    members, notes = [], []
    counts: dict[str, int] = {}
    for candidate, failed in finished:
        if isinstance(failed, DoesNotFit):
            family = families[candidate.family]
            notes.append(f"{family.name} {family.described(candidate.choice)} could not be finished: {failed.reason}")
    ready = [(candidate, model) for candidate, model in finished if isinstance(model, FinishedMember)]
    for candidate, model in sorted(ready, key=lambda pair: (-pair[1].validation, pair[0].costs.cycles)):
        family = families[candidate.family]
        described = family.described(candidate.choice)
        costs = subject.costs(model)
        if isinstance(costs, DoesNotFit):
            notes.append(f"{family.name} {described} was trained, but does not fit: {costs.reason}")
            continue
        counts[family.name] = counts.get(family.name, 0) + 1
        name = f"{family.name.replace('/', '-').replace(' ', '-')}-{counts[family.name]}"
        say(f"testing {name}...")
        members.append(_member(subject, name, family, candidate.choice, model, costs))
    return members, notes


def _member(
    subject: SearchSubject,
    name: str,
    family: ModelFamily,
    choice: Choice,
    finished: FinishedMember,
    costs: NetworkCosts,
) -> SearchMember:
    """Tests a finished model and returns the search member."""
    test = prepared(subject.test, preprocessing(finished.steps)) if finished.steps else subject.test
    return SearchMember(
        name=name,
        family=family.name,
        description=family.described(choice),
        choice=choice,
        validation=finished.validation,
        test=subject.task.accuracy(finished.files[finished.model], test),
        costs=costs,
        files=finished.files,
        model=finished.model,
        steps=finished.steps,
        options=finished.options,
    )


def _with_given(result: SearchResult, subject: SearchSubject, family: AroundFamily) -> SearchResult:
    """Prepends the user's own model, only quantized, to the members; if it does not fit, adds a note instead."""
    finished = family.finish({}, 1)
    costs = subject.costs(finished)
    if isinstance(costs, DoesNotFit):
        test = subject.task.accuracy(finished.files[finished.model], subject.test)
        note = f"the model as given has a test {result.metric} of {test:.2%}, but does not fit: {costs.reason}"
        return replace(result, notes=(*result.notes, note))
    given = _member(subject, GIVEN, family, {}, finished, costs)
    others, worse = (tuple(m for m in models if m.choice) for models in (result.members, result.dominated))
    return replace(result, members=(given, *others), dominated=worse)
