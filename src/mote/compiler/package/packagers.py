"""The packagers by name: one module per ecosystem, all based on one description of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.files import is_archive, write_archive, write_folder
from mote.base.text import did_you_mean
from mote.compiler.emit.c.programs.example import EXAMPLE
from mote.compiler.emit.c.project import Project
from mote.compiler.package import cmake, cmsis_pack, make, micropython, mlf, rust, zephyr
from mote.compiler.package.description import LICENCE_FILE, Files, Package, licence, model_package
from mote.compiler.package.libraries import arduino, esp_idf, platformio
from mote.hardware.targets import Target

DEFAULT = ("make", "cmake")
"""The packagers of a project of plain C."""


@dataclass(frozen=True)
class Packager:
    """A packager: how an ecosystem packages a library."""

    files: Callable[[Package], Files]
    """Gives all files of the package except the licence."""
    edited: tuple[str, ...] = (EXAMPLE,)
    """Files for users to edit, which are kept once edited; `{name}` is the library's name."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the compilation that the ecosystem requires."""
    archive_name: Callable[[Package], str] | None = None
    """Gives the file name that the ecosystem requires for a .pack."""


PACKAGERS: Mapping[str, Packager] = {
    "make": Packager(make.files),
    "cmake": Packager(cmake.files),
    "micropython": Packager(micropython.files, (micropython.EXAMPLE,), {"instances": True}),
    "mlf": Packager(mlf.files),
    "rust": Packager(rust.files, (rust.EXAMPLE,), {"instances": True}),
    "zephyr": Packager(
        zephyr.files,
        edited=("samples/{name}/src/main.c", "samples/{name}/prj.conf"),
    ),
    "arduino": Packager(arduino.files, (arduino.SKETCH,), {"single_file": True}),
    "platformio": Packager(platformio.files, platformio.EDITED, {"single_file": True}),
    "cmsis-pack": Packager(
        cmsis_pack.files,
        edited=("examples/{name}/main.c",),
        archive_name=cmsis_pack.pack_name,
    ),
    "esp-idf": Packager(esp_idf.files, (esp_idf.PROGRAM,), {"single_file": True}),
}


def chosen_packagers(names: Sequence[str]) -> dict[str, Packager]:
    """The packagers that the option `package` names."""
    for name in names:
        if name not in PACKAGERS:
            remedy = f"{did_you_mean(name, PACKAGERS)}use some of: {', '.join(PACKAGERS)}"
            raise MoteError(f"there is no packager '{name}'", where="option package", remedy=remedy)
    return {name: PACKAGERS[name] for name in dict.fromkeys(names)}


def check_binaries(packages: Sequence[str], binaries: Sequence[str]) -> None:
    """Refuses binaries in addition to packages, which their ecosystems build."""
    if packages and binaries:
        raise MoteError(
            f"a package for {', '.join(packages)} is built by its ecosystem",
            where="option output",
            remedy="omit --package to have binaries beside a folder of C",
        )


def write_packages(
    output: str,
    packages: Mapping[str, Package],
    alone: Package,
    *,
    force: bool = False,
    binaries: Mapping[str, str | bytes] | None = None,
) -> list[str]:
    """Writes the files of `package_files` to a folder or an archive; returns the user's files that were overwritten."""
    files, once = package_files(output, packages, alone, binaries=binaries)
    return write_files(output, files, once, force=force)


def package_files(
    output: str, packages: Mapping[str, Package], alone: Package, *, binaries: Mapping[str, str | bytes] | None = None
) -> tuple[Files, frozenset[str]]:
    """The files of a library for ecosystems, and those of them that users may edit. `packages`: by name of the
    packager, each in a folder of its own if there are several. Without packages: a project of plain C of the library
    `alone`, with `binaries`."""
    chosen_packagers(list(packages))
    check_binaries(list(packages), list(binaries or ()))
    for name, package in packages.items():
        _check_archive_name(output, PACKAGERS[name], package)
    files_of = _files_of_each(packages)
    edited = {name: {path.format(name=p.name) for path in PACKAGERS[name].edited} for name, p in packages.items()}
    if not packages:
        return {**default_files(alone), **(binaries or {})}, frozenset({EXAMPLE})
    if len(packages) == 1:
        ((name, files),) = files_of.items()
        return files, frozenset(edited[name])
    every = {f"{name}/{path}": text for name, texts in files_of.items() for path, text in texts.items()}
    return every, frozenset(f"{name}/{path}" for name, paths in edited.items() for path in paths)


def _files_of_each(packages: Mapping[str, Package]) -> dict[str, Files]:
    """The files of each package. If any packager refuses, so does this; the error names the packagers that accept."""
    made: dict[str, Files] = {}
    refused: dict[str, MoteError] = {}
    for name, package in packages.items():
        try:
            made[name] = {LICENCE_FILE: licence(), **PACKAGERS[name].files(package)}
        except MoteError as error:
            refused[name] = error
    if refused:
        raise _refusal(refused, list(made))
    return made


def _refusal(refused: Mapping[str, MoteError], fitting: Sequence[str]) -> MoteError:
    """The combined error of packagers that refuse; unchanged if there is only one package."""
    if len(refused) == 1 and not fitting:
        return next(iter(refused.values()))
    remedies = [f"use {','.join(fitting)} alone"] if fitting else []
    remedies += dict.fromkeys(each.remedy for each in refused.values() if each.remedy)
    reason = "; ".join(f"'{name}' does not fit: {each.reason}" for name, each in refused.items())
    return MoteError(reason, where="option package", remedy=", or ".join(remedies))


def write_files(output: str, files: Files, once: Set[str], *, force: bool = False) -> list[str]:
    """Writes files to a folder or an archive; files in `once` are kept if they were edited."""
    if is_archive(output):
        write_archive(output, files)
        return []
    return write_folder(output, files, force=force, once=once)


def _check_archive_name(output: str, packager: Packager, package: Package) -> None:
    """Refuses a .pack whose file name CMSIS tools would not install."""
    if packager.archive_name is None or not output.endswith(".pack"):
        return
    wanted = packager.archive_name(package)
    if Path(output).name != wanted:
        raise MoteError(
            "tools of CMSIS want a pack to be called Vendor.Name.Version.pack",
            where=output,
            remedy=f"call it {Path(output).with_name(wanted)}; --metadata author=... and version=... are parts of that",
        )


def default_files(package: Package) -> dict[str, str]:
    """The files of a project of plain C, with the build files of the default packagers."""
    texts = (item for name in DEFAULT for item in PACKAGERS[name].files(package).items())
    return {path: text for path, text in texts if isinstance(text, str)}


def packaged(project: Project, target: Target) -> Project:
    """Adds the build files of the default packagers to a C project."""
    return replace(project, files=project.files | default_files(model_package(project, target)))
