"""`mote build`: every model of a project as C, as binaries or as an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from mote.base.errors import explaining
from mote.base.files import holds_files, is_archive
from mote.base.progress import Say, silent
from mote.base.results import ItemTable, Result
from mote.compiler.packer import Image, pack
from mote.optimize.compress.quantize.post_training import post_training
from mote.ui.api.register import load_plugins
from mote.ui.project.making import BuildRecipe, MadeModel, make
from mote.ui.project.project_file import ModelEntry, ProjectFile, find_project


@dataclass(frozen=True)
class BuiltModel:
    """A model of a project that was built for a target."""

    model: str
    """Its name in the project."""
    target: str
    """The name of the target."""
    folder: str
    """The folder, archive or image that has it."""
    changed: bool
    """Whether anything was written; a folder that has the same files already keeps its dates."""
    arena: int
    """Bytes of the tensor arena."""
    constants: int
    """Bytes of constants; of an image all of it."""
    code: int | None
    """Bytes of code; None where no compiler for the core is installed, and for images."""
    files: tuple[str, ...]
    """The files in the folder that Mote wrote."""
    overwritten: tuple[str, ...]
    """Files of the user's that `force` overwrote."""

    @property
    def state(self) -> str:
        """Whether anything was written, in a word."""
        return "written" if self.changed else "unchanged"


@dataclass(frozen=True)
class BuildResult(Result):
    """Every model of a project that was built."""

    TITLE = "models of {project}"
    FACTS = "built=models!n"
    ROWS = ItemTable("models", "model, target, arena, constants, code, =state, folder", left=2)

    project: str
    """The project file."""
    models: tuple[BuiltModel, ...]
    """The models, each for every target that it names."""

    def __repr__(self) -> str:
        written = sum(model.changed for model in self.models)
        return f"<BuildResult of {self.project!r}: {len(self.models)} built, {written} changed>"


@explaining()
def build(*names: str, project: str | Path | None = None, force: bool = False, say: Say = silent) -> BuildResult:
    """Builds the models `names` of a project, or all: as `mote compile` or `mote pack` with the settings in the file.
    `project` is the file, or its folder; by default the first `mote.toml` or `[tool.mote]` from the current folder
    upward. `force` overwrites files that Mote did not write. `say` is a callback for progress."""
    file = opened(project)
    built = []
    for entries in by_model(file.entries(names, force=force)):
        ready = prepared_model(entries[0], saying(say, entries[0]))
        built += [_built(entry, ready, saying(say, entry)) for entry in entries]
    return BuildResult(str(file), tuple(built))


def opened(project: str | Path | None) -> ProjectFile:
    """A project whose plug-ins are loaded."""
    file = find_project(project)
    load_plugins(file.plugins())
    return file


def by_model(entries: Sequence[ModelEntry]) -> list[list[ModelEntry]]:
    """Entries of one model together, which differ in their targets."""
    return [list(group) for _, group in groupby(entries, key=lambda entry: entry.name)]


def saying(say: Say, entry: ModelEntry) -> Say:
    """A callback whose lines name the model."""
    return lambda text: say(f"{entry.name} for {entry.target}: {text}")


@dataclass(frozen=True)
class PreparedModel:
    """A model as it is compiled: a file, or a float model that was quantized, whose shapes are settled."""

    model: Any
    settled: bool

    def recipe(self, entry: ModelEntry) -> BuildRecipe:
        """The recipe of an entry for this model."""
        if not self.settled:
            return entry.recipe
        return replace(entry.recipe, settings=replace(entry.recipe.settings, shapes={}, signature="", constants={}))


def prepared_model(entry: ModelEntry, say: Say = silent) -> PreparedModel:
    """The model's file, or the float model quantized as the project says."""
    if not entry.quantize:
        return PreparedModel(entry.file, settled=False)
    say("quantizing")
    settings = entry.recipe.settings
    quantized = post_training(
        entry.file,
        None if entry.calibrate is None else entry.calibrate.read(),
        precision=entry.quantize,
        io="int8" if settings.io == "int8" else "float32",
        edges=settings.edges,
        shapes=settings.shapes,
        signature=settings.signature,
        constants=settings.constants,
        say=say,
    )
    return PreparedModel(quantized.source, settled=True)


def _built(entry: ModelEntry, ready: PreparedModel, say: Say) -> BuiltModel:
    """Builds one model for one target."""
    say("compiling")
    if entry.image:
        return _built_image(entry, ready, say)
    recipe = ready.recipe(entry)
    made = make(ready.model, recipe, say)
    archive = is_archive(recipe.folder)
    if archive:
        Path(recipe.folder).parent.mkdir(parents=True, exist_ok=True)
    changed = archive or not holds_files(recipe.folder, made.files, made.once)
    lost = made.write(recipe) if changed else []
    return _described(entry, made, changed, lost)


def packed(entry: ModelEntry, ready: PreparedModel, say: Say = silent) -> Image:
    """The image of an entry."""
    return pack(ready.model, ready.recipe(entry).settings, **entry.image_options, say=say)


def _described(entry: ModelEntry, made: MadeModel, changed: bool, lost: list[str]) -> BuiltModel:
    compiled, code = made.compiled, made.code
    return BuiltModel(
        entry.name,
        entry.target,
        entry.recipe.folder,
        changed,
        compiled.plan.arena,
        compiled.project.constants,
        None if code.estimated else code.nbytes,
        tuple(sorted(made.files)),
        tuple(lost),
    )


def image_path(entry: ModelEntry) -> Path:
    return Path(entry.recipe.folder, f"{entry.recipe.settings.name}.mote")


def _built_image(entry: ModelEntry, ready: PreparedModel, say: Say) -> BuiltModel:
    path, image = image_path(entry), packed(entry, ready, say)
    changed = not path.is_file() or path.read_bytes() != image.data
    if changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        image.write(path)
    arena = sum(image.program.arenas)
    return BuiltModel(entry.name, entry.target, str(path), changed, arena, len(image.data), None, (path.name,), ())
