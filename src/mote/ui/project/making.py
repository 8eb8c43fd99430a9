"""One model as files: the C project, packages, adapters and binaries of `mote compile` and `mote build`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mote.base.deferred import deferred
from mote.base.errors import MoteError
from mote.base.files import edited
from mote.base.progress import Say, silent
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.programs.example import EXAMPLE, Example
from mote.compiler.emit.c.programs.recorded import recorded_example
from mote.compiler.fitting.code_size import CodeSize, checked_code, with_built
from mote.compiler.kept import compile_within
from mote.compiler.package.adapters.compiled_model import AdaptedModel, check_adapter, model_adapter_files
from mote.compiler.package.adapters.sources import Recording, playable_files, recording_of, source_files
from mote.compiler.package.description import Files, metadata
from mote.compiler.package.packagers import check_binaries, chosen_packagers, package_files, write_files
from mote.compiler.settings import Settings
from mote.deploy.firmware.artifacts import Artifacts, artifacts, check_artifacts
from mote.frontends.features.pipeline import preprocessing
from mote.ir.graph.types import DType

if TYPE_CHECKING:
    from mote.bench.measure import run, time_limit
else:
    run, time_limit = map(deferred, ("mote.bench.measure.run", "mote.bench.measure.time_limit"))


@dataclass(frozen=True)
class BuildRecipe:
    """How a model becomes files: settings of the compilation, and what is made of the C."""

    settings: Settings
    folder: str
    """The folder, or the archive, that is written."""
    binaries: tuple[str, ...] = ()
    """Kinds of `--output`: lib, elf, bin, hex, uf2."""
    package: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    """Metadata of packages, as KEY=VALUE."""
    adapter: str = ""
    source: tuple[str, ...] = ()
    """Sources of samples: adapters to drivers, or a recording."""
    force: bool = False
    """Overwrite files that Mote did not write, or that were changed since."""


@dataclass(frozen=True)
class ModelAdapter:
    """The adapter of the models of a project; without a name there is none."""

    name: str
    files: Mapping[str, str]
    models: Sequence[AdaptedModel]


@dataclass(frozen=True)
class MadeModel:
    """A compiled model and its files."""

    compiled: Compiled
    code: CodeSize
    artifacts: Artifacts
    adapter: ModelAdapter
    files: Files
    """Every file to write, by path in the folder."""
    once: frozenset[str]
    """Files for users to edit, which are kept once they were."""
    plays: bool
    """Whether the example plays a recording to the model."""

    def write(self, recipe: BuildRecipe) -> list[str]:
        """Writes the files; returns those of the user's that were overwritten."""
        return write_files(recipe.folder, self.files, self.once, force=recipe.force)


def make(model: Any, recipe: BuildRecipe, say: Say = silent) -> MadeModel:
    """Compiles a model, once for each group of packages that need other settings, and makes its files."""
    check_artifacts(recipe.settings, recipe.binaries)
    packagers = chosen_packagers(recipe.package)
    check_binaries(recipe.package, recipe.binaries)
    check_adapter(recipe.adapter, caller_arena=recipe.settings.caller_arena)
    about, sources = metadata(recipe.metadata), source_files(recipe.source)
    needs = {name: tuple(packager.settings.items()) for name, packager in packagers.items()}
    variants = {
        changed: compiled_within(model, replace(recipe.settings, **dict(changed)), say)
        for changed in dict.fromkeys(needs.values() or [()])
    }
    first = next(iter(variants))
    code = checked_code(variants[first])
    variants[first] = compiled = with_built(variants[first], code)
    adapters = {changed: adapter_of(recipe.adapter, [variant]) for changed, variant in variants.items()}
    player = player_of(compiled, recipe)
    program = program_of(player, recipe.folder, recipe.source, force=recipe.force)
    built = artifacts(compiled.project, [compiled.plan], compiled.settings, recipe.binaries, program)
    full = {
        changed: v.package.with_files({**adapters[changed].files, **sources}).described(about)
        for changed, v in variants.items()
    }
    packages = {name: full[changed] for name, changed in needs.items()}
    alone = full[first] if player is None else full[first].with_example(player, _code(playable_files(recipe.source)))
    files, once = package_files(recipe.folder, packages, alone, binaries=built.files)
    own = own_program(recipe.folder, force=recipe.force)
    return MadeModel(compiled, code, built, adapters[first], files, once, player is not None and own is None)


def player_of(compiled: Compiled, recipe: BuildRecipe) -> Example | None:
    """The example that plays a recording to the model. A model that cannot take it is refused where the example would
    become firmware; elsewhere the recording is for a program of the user's."""
    recording = recording_of(recipe.source)
    if recording is None or recipe.package:
        return None
    try:
        dtype = DType(recording.values.dtype.name)
        _check_rate(compiled.settings, recording)
        return recorded_example(compiled.plan, compiled.project.options, dtype, recording.frame)
    except MoteError:
        if set(recipe.binaries) <= {"lib"} or own_program(recipe.folder, force=recipe.force) is not None:
            return None
        raise


def _check_rate(settings: Settings, recording: Recording) -> None:
    """Refuses sound of another rate than that of the model's front end."""
    rate = preprocessing(settings.preprocess).rate if settings.preprocess and recording.rate else 0
    if rate and rate != recording.rate:
        raise MoteError(
            f"the recording has {recording.rate:,} samples a second, and the model's front end takes {rate:,.10g}",
            where="option source",
            remedy="resample the recording, or state its rate in --preprocess (rate=...)",
        )


def own_program(folder: str, *, force: bool) -> str | None:
    """The text of the user's own example, which stays."""
    return None if force else edited(folder, EXAMPLE)


def program_of(player: Example | None, folder: str, source: Sequence[str], *, force: bool) -> dict[str, str] | None:
    """The texts of a firmware's program: the user's own example or the one that plays the recording, with the files of
    sources that need no driver; None for the project's example."""
    own = own_program(folder, force=force)
    text = own if own is not None or player is None else player.program()
    return None if text is None else {EXAMPLE: text, **playable_files(source)}


def _code(files: Mapping[str, str]) -> list[str]:
    return sorted(name for name in files if name.endswith(".c"))


def compiled_within(model: Any, settings: Settings, say: Say = silent) -> Compiled:
    """Compiles a model whose time limit, if there is one, holds on the emulated core, and whose header has the bound of
    a step, if one was asked for."""
    budgets = [] if settings.cycle_limit is None else [time_limit.MeasuredTime()]
    compiled = compile_within(model, settings, budgets, say=say)
    return run.with_longest_step(compiled) if compiled.settings.step else compiled


def first_needs(package: Sequence[str]) -> dict[str, Any]:
    """Settings that the first of some packages needs."""
    return dict(next(iter(chosen_packagers(package).values())).settings) if package else {}


def adapter_of(name: str, models: Sequence[Compiled]) -> ModelAdapter:
    """The adapter of some models, with the stack that each takes."""
    if not name:
        return ModelAdapter("", {}, ())
    adapted = [AdaptedModel(m.plan, m.project.options, None) for m in models]
    model_adapter_files(name, adapted)
    adapted = [replace(a, stack=run.stack_bound(m)) for a, m in zip(adapted, models, strict=True)]
    return ModelAdapter(name, model_adapter_files(name, adapted), adapted)
