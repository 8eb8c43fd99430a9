"""One model as files: the C project, packages, adapters and binaries of `mote compile` and `mote build`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mote.compiler import line
from mote.compiler.artifacts import Artifacts, artifacts, check_artifacts
from mote.compiler.code_size import CodeSize, checked_code, with_built
from mote.compiler.compiled import Compiled
from mote.compiler.settings import Settings
from mote.emit.c.programs.example import EXAMPLE
from mote.files import edited
from mote.measure.run import stack_bound, with_longest_step
from mote.measure.time_limit import within_time
from mote.package.adapters.compiled_model import AdaptedModel, model_adapter_files
from mote.package.adapters.sources import source_files
from mote.package.description import Files, metadata
from mote.package.packagers import chosen_packagers, package_files, write_files
from mote.progress import Say, silent


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

    def write(self, recipe: BuildRecipe) -> list[str]:
        """Writes the files; returns those of the user's that were overwritten."""
        return write_files(recipe.folder, self.files, self.once, force=recipe.force)


def make(model: Any, recipe: BuildRecipe, say: Say = silent) -> MadeModel:
    """Compiles a model, once for each group of packages that need other settings, and makes its files."""
    check_artifacts(recipe.settings, recipe.binaries)
    packagers = chosen_packagers(recipe.package)
    about = metadata(recipe.metadata)
    needs = {name: tuple(packager.settings.items()) for name, packager in packagers.items()}
    variants = {
        changed: compiled_within(model, replace(recipe.settings, **dict(changed)), say)
        for changed in dict.fromkeys(needs.values() or [()])
    }
    first = next(iter(variants))
    code = checked_code(variants[first])
    variants[first] = compiled = with_built(variants[first], code)
    adapters = {changed: adapter_of(recipe.adapter, [variant]) for changed, variant in variants.items()}
    main = None if recipe.force else edited(recipe.folder, EXAMPLE)
    program = None if main is None else {EXAMPLE: main}
    built = artifacts(compiled.project, [compiled.plan], compiled.settings, recipe.binaries, program)
    sources = source_files(recipe.source)
    full = {
        changed: v.package.with_files({**adapters[changed].files, **sources}).described(about)
        for changed, v in variants.items()
    }
    packages = {name: full[changed] for name, changed in needs.items()}
    files, once = package_files(recipe.folder, packages, full[first], binaries=built.files)
    return MadeModel(compiled, code, built, adapters[first], files, once)


def compiled_within(model: Any, settings: Settings, say: Say = silent) -> Compiled:
    """Compiles a model whose time limit, if there is one, holds on the emulated core, and whose header has the bound of
    a step, if one was asked for."""
    compiled = within_time(line.compile(model, settings, say=say), lambda s: line.compile(model, s, say=say))
    return with_longest_step(compiled) if compiled.settings.step else compiled


def first_needs(package: Sequence[str]) -> dict[str, Any]:
    """Settings that the first of some packages needs."""
    return dict(next(iter(chosen_packagers(package).values())).settings) if package else {}


def adapter_of(name: str, models: Sequence[Compiled]) -> ModelAdapter:
    """The adapter of some models, with the stack that each takes."""
    if not name:
        return ModelAdapter("", {}, ())
    adapted = [AdaptedModel(m.plan, m.project.options, None) for m in models]
    model_adapter_files(name, adapted)
    adapted = [replace(a, stack=stack_bound(m)) for a, m in zip(adapted, models, strict=True)]
    return ModelAdapter(name, model_adapter_files(name, adapted), adapted)
