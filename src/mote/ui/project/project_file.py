"""Project files: `mote.toml`, or `[tool.mote]` of pyproject.toml, read into one entry for each model and target."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mote.base.documents import read_toml
from mote.base.errors import MoteError
from mote.base.files import is_of_another_user
from mote.base.text import did_you_mean, printable
from mote.compiler.emit.c.names import c_prefix
from mote.compiler.package.adapters import COMPILED_NAMES
from mote.compiler.package.adapters.sources import SOURCE_NAMES, source_files
from mote.compiler.package.description import metadata
from mote.compiler.package.packagers import chosen_packagers
from mote.compiler.settings import TABLE, make_settings
from mote.deploy.firmware.artifacts import KINDS
from mote.optimize.compress.quantize.types.precision import Precision
from mote.ui.project.limits import ModelChecks, read_checks
from mote.ui.project.making import BuildRecipe
from mote.ui.project.tables import DataSource, Table, naming_key

FILE, PYPROJECT = "mote.toml", "pyproject.toml"
IMAGE = "image"
"""The kind of output that is an image for the runtime, and no C."""
OPTIONS = {row.key: row for row in TABLE.values() if row.name != "target" and not row.only_python}
"""Keys that are options of a compilation."""
OWN_KEYS = {
    "file": "the model, required",
    "target": "a name from `mote targets` or a .toml file, or a list of them; default host",
    "folder": "the folder or archive to write, with {name} and {target}; default build/{name}, or build/{name}/{target}"
    " for several targets",
    "output": f"{', '.join(KINDS)}: binaries to build into the folder; {IMAGE}: an image for the runtime, NAME.mote",
    "package": "packages for ecosystems, as --package",
    "metadata": "metadata of packages: a table, or a list of KEY=VALUE",
    "adapter": "what runs the model in a firmware, as --adapter",
    "source": "what samples come from in a firmware, as --source; recordings relative to this file",
    "quantize": "quantize a float model first: int8, int16, int4, float16",
    "calibrate": "calibration data for quantize: a path, or a table with data, inputs, labels, preprocess",
    "plugin": "Python files that register operators or kernels first",
    "model-version": f"version of an {IMAGE}",
    "product": f"product number of an {IMAGE}",
    "strip": f"an {IMAGE} without layer names",
    "runtime": f"folder of the runtime that an {IMAGE} is for",
    "check": "table of limits for `mote check`",
}
"""Keys of a model that are no settings, and what they mean."""
KEYS = (*OWN_KEYS, *OPTIONS)
PRECISIONS = tuple(x.value for x in Precision if x is not Precision.FLOAT32)


@dataclass(frozen=True)
class ModelEntry:
    """A model of a project for one target."""

    name: str
    file: str
    recipe: BuildRecipe
    image: bool
    """Whether it becomes an image for the runtime instead of C."""
    image_options: Mapping[str, Any]
    quantize: str
    calibrate: DataSource | None
    checks: ModelChecks
    where: str
    """The table in the project file."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """Settings as they were written."""

    @property
    def target(self) -> str:
        return self.recipe.settings.target.name


@dataclass(frozen=True)
class ProjectFile:
    """A project file and its tables."""

    path: Path
    base: Path
    """Its folder, relative to the current one where possible."""
    defaults: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]

    def __str__(self) -> str:
        return str(self.base / self.path.name)

    def plugins(self) -> list[str]:
        """Python files that register what the models need, each once."""
        tables = [self._table(name) for name in self.models]
        return list(dict.fromkeys(table.located(path) for table in tables for path in table.texts("plugin")))

    def entries(self, names: Sequence[str] = (), *, force: bool = False) -> list[ModelEntry]:
        """The chosen models, or all, each for every target that it names."""
        for name in names:
            if name not in self.models:
                remedy = f"{did_you_mean(name, self.models)}the models are: {', '.join(self.models)}"
                raise MoteError(f"there is no model '{printable(name)}'", where=str(self), remedy=remedy)
        for name in self.models:
            self._table(name).check_keys(KEYS)
        chosen = [name for name in self.models if not names or name in names]
        entries = [entry for name in chosen for entry in _entries(name, self._table(name), force)]
        _check_folders(entries)
        return entries

    def _table(self, name: str) -> Table:
        """The table of a model over the defaults."""
        own = self.models[name]
        where = f"{self}: [models.{printable(name)}]"
        if not isinstance(own, Mapping):
            raise MoteError("is not a table", where=where, remedy='write [models.NAME] and file = "FILE" below it')
        checks = {**self.defaults.get("check", {}), **_inner(own.get("check", {}), where)}
        return Table({**self.defaults, **own, "check": checks}, where, self.base)


def find_project(given: str | Path | None = None) -> ProjectFile:
    """The project file that is named, or the first one from the current folder upward."""
    if given is not None:
        path = Path(given)
        return _read(path / FILE if path.is_dir() else path)
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in (FILE, PYPROJECT):
            path = folder / name
            if path.is_file() and (name == FILE or "mote" in _toml(path).get("tool", {})):
                _check_owner(path, here)
                return _read(path)
    raise MoteError(
        f"there is no {FILE} here or in a folder above, nor a {PYPROJECT} with [tool.mote]",
        remedy="write one (docs/deploy/project.md), or name it with --project FILE",
    )


def _check_owner(path: Path, here: Path) -> None:
    """Refuses a project of somebody else in a folder above: it may name Python files to run."""
    if is_of_another_user(path, here):
        raise MoteError(
            "belongs to another user", where=str(path), remedy=f"if you trust it, name it: --project {path}"
        )


def _read(path: Path) -> ProjectFile:
    text: Mapping[str, Any] = _toml(path)
    try:
        base = Path(os.path.relpath(path.resolve().parent))
    except ValueError:  # another drive of Windows
        base = path.resolve().parent
    where = str(base / path.name)
    if path.name == PYPROJECT:
        text = _inner(_inner(text.get("tool", {}), where).get("mote", {}), where)
    top = Table(text, where, base)
    top.check_keys(("defaults", "models"))
    defaults, models = top.table("defaults"), top.table("models")
    defaults.check_keys([key for key in KEYS if key != "file"])
    defaults.table("check")
    if not models.values:
        raise MoteError("has no models", where=where, remedy='write [models.NAME] and file = "FILE" below it')
    return ProjectFile(path, base, defaults.values, models.values)


def _inner(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MoteError(f"{value!r} is not a table", where=where)
    return value


def _toml(path: Path) -> dict[str, Any]:
    return read_toml(path)


def _entries(name: str, table: Table, force: bool) -> Iterator[ModelEntry]:
    targets = table.texts("target") or ("host",)
    for target in targets:
        yield _entry(name, table, target, several=len(targets) > 1, force=force)


def _entry(name: str, table: Table, target: str, *, several: bool, force: bool) -> ModelEntry:
    file = table.path("file")
    if not file:
        raise MoteError("names no model", where=table.where, remedy='add file = "FILE"')
    outputs = _chosen(table, "output", (*KINDS, IMAGE))
    image = IMAGE in outputs
    if image and len(outputs) > 1:
        raise MoteError("is an image or C, not both", where=table.named("output"), remedy="write two tables")
    options = _options(name, table)
    with naming_key(table.where):
        settings = make_settings(table.located(target) if target.endswith(".toml") else target, **options)
    quantize = "".join(_chosen(table, "quantize", PRECISIONS)[:1])
    calibrate = table.samples("calibrate")
    if calibrate and not quantize:
        raise MoteError(
            "is for models that are quantized first", where=table.named("calibrate"), remedy='add quantize = "int8"'
        )
    package = table.texts("package")
    with naming_key(table.named("package")):
        chosen_packagers(package)
    with naming_key(table.named("metadata")):
        metadata(table.pairs("metadata"))
    sources = tuple(word if word in SOURCE_NAMES else table.located(word) for word in table.texts("source"))
    with naming_key(table.named("source")):
        source_files(sources)
    folder = table.text("folder") or ("build/{name}/{target}" if several else "build/{name}")
    folder = table.located(folder.replace("{name}", name).replace("{target}", settings.target.name))
    return ModelEntry(
        name,
        file,
        BuildRecipe(
            settings,
            folder,
            binaries=() if image else outputs,
            package=package,
            metadata=table.pairs("metadata"),
            adapter="".join(_chosen(table, "adapter", COMPILED_NAMES)[:1]),
            source=sources,
            force=force,
        ),
        image,
        _image_options(table, image),
        quantize,
        calibrate,
        read_checks(table.table("check"), file if quantize else ""),
        table.where,
        {key: table.values[key] for key in OPTIONS if key in table.values},
    )


def _chosen(table: Table, key: str, known: Sequence[str]) -> tuple[str, ...]:
    for word in table.texts(key):
        if word not in known:
            remedy = f"{did_you_mean(word, known)}use one of {', '.join(known)}"
            if key == "output":
                remedy += "; where files are written is `folder`"
            raise MoteError(f"'{printable(word)}' is none of them", where=table.named(key), remedy=remedy)
    return table.texts(key)


def _options(name: str, table: Table) -> dict[str, Any]:
    """The settings as `make_settings` takes them; the C prefix is the model's name in the project."""
    options: dict[str, Any] = {}
    for key, row in OPTIONS.items():
        if key in table.values:
            value = table.values[key]
            value = table.path(key) if row.file and (isinstance(value, str) or not row.repeatable) else value
            options[row.name] = not table.flag(key) if row.is_flag and row.default else value
    if isinstance(options.get("constants"), list | str):
        options["constants"] = [_constant(table, text) for text in table.texts("set")]
    return {"name": c_prefix(name, typed=True)[0]} | options


def _constant(table: Table, text: str) -> str:
    name, _, value = text.rpartition("=")
    return f"{name}={table.located(value)}" if value.endswith(".npy") else text


def _image_options(table: Table, image: bool) -> dict[str, Any]:
    """Arguments of `pack`."""
    keys = ("model-version", "product", "strip", "runtime")
    given = [key for key in keys if key in table.values]
    if given and not image:
        raise MoteError("is for images", where=table.named(given[0]), remedy=f'add output = "{IMAGE}"')
    return {
        "model_version": table.whole("model-version", 0),
        "product": table.whole("product", 0),
        "strip": table.flag("strip"),
        "runtime": table.path("runtime") or None,
    }


def _check_folders(entries: Sequence[ModelEntry]) -> None:
    """Refuses two models in one folder, of which the second would replace the first."""
    taken: dict[Path, ModelEntry] = {}
    for entry in entries:
        other = taken.setdefault(Path(entry.recipe.folder).resolve(), entry)
        if other is not entry:
            raise MoteError(
                f"{entry.name} for {entry.target} and {other.name} for {other.target} would write the same folder,"
                f" {entry.recipe.folder}",
                where=entry.where,
                remedy="name other folders, with {name} and {target}",
            )
