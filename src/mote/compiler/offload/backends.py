"""Backends by name: generators that come with Mote, those of installed packages, and those that a program registers.

A package announces generators by entry points of the group `mote.generators`, each naming a class or function that
returns a `Generator`. No generator is imported before its name is requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.compiler.offload.contract import Generator, Offload, forget
from mote.hardware.targets import Target

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MOTE = "mote"
"""Name of Mote's own kernels among backends."""
GROUP = "mote.generators"
"""Entry point group by which packages announce generators."""
BUILT_IN: dict[str, str] = {
    "cmsis-nn": "mote.compiler.offload.cmsis_nn:CmsisNN",
    "esp-nn": "mote.compiler.offload.esp_nn:EspNN",
    "ethos-u": "mote.compiler.offload.ethos_u:EthosU",
    "ethos-u-stream": "mote.compiler.offload.ethos_u.streams:EthosUStreams",
}
"""By name: module and class of the generators that come with Mote."""
GENERATORS: dict[str, Generator] = {}
"""By name: generators that were registered or already loaded."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def register(generator: Generator) -> None:
    """Registers a generator; it replaces one of the same name."""
    if problem := _name_problem(generator.name):
        raise MoteError(problem, remedy="use letters, digits, - and _, beginning with a letter")
    GENERATORS[generator.name] = generator
    forget()


def external(names: Iterable[str]) -> tuple[str, ...]:
    """The names of backends other than Mote's own kernels, each once."""
    return tuple(dict.fromkeys(name for name in names if name != MOTE))


def named(names: Sequence[str]) -> tuple[Generator, ...]:
    """The generators with these names, without Mote's own kernels."""
    return tuple(map(_loaded, external(names)))


def offload(names: Sequence[str], target: Target, ram: int | None = None) -> Offload:
    """The generators with these names, for a target and a RAM budget; an error if one cannot be used here or does not
    support the target."""
    generators = named(names)
    for generator in generators:
        if missing := generator.missing():
            raise MoteError(
                f"backend '{generator.name}' cannot be used here: {missing.what}",
                where="option backend",
                remedy=missing.remedy,
            )
        if not generator.serves(target):
            raise MoteError(
                f"backend '{generator.name}' does not serve the target {target.name}",
                where="option backend",
                remedy="omit it, or compile for another target",
            )
    return Offload(generators, target, ram, tuple(generator.contents(target) for generator in generators))


def announced() -> dict[str, list[EntryPoint]]:
    """The entry points of installed packages by name. If several packages announce one name, loading it is an error."""
    from importlib.metadata import entry_points  # takes 40 ms to import

    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        if point not in points.setdefault(point.name, []):
            points[point.name].append(point)
    return points


def known() -> list[str]:
    """The names of all backends except Mote's own kernels: built in, announced by packages, or registered."""
    return list(dict.fromkeys((*BUILT_IN, *announced(), *GENERATORS)))


def _loaded(name: str) -> Generator:
    if name not in GENERATORS:
        GENERATORS[name] = _imported(name)
    return GENERATORS[name]


def _imported(name: str) -> Generator:
    if name in BUILT_IN:
        module, _, cls = BUILT_IN[name].partition(":")
        made = getattr(import_module(module), cls)()
        assert isinstance(made, Generator)
        return made
    points = announced().get(name, [])
    if not points:
        choice = known()
        raise MoteError(
            f"there is no backend '{name}'",
            where="option backend",
            remedy=f"{did_you_mean(name, choice)}there are: {', '.join([MOTE, *choice])}; --plugin FILE runs a Python"
            f" file that registers one (mote.register_generator), and packages announce theirs as '{GROUP}'",
        )
    if len(points) > 1:
        raise MoteError(
            f"several packages announce '{name}': {', '.join(map(package_of, points))}",
            where="option backend",
            remedy="uninstall all but one of them",
        )
    return _from_package(points[0])


def _from_package(point: EntryPoint) -> Generator:
    """Loads the generator of an entry point; any failure is reported as an error of its package."""
    try:
        target = point.load()
        made = target() if callable(target) else target
    except Exception as error:
        reason = error.reason if isinstance(error, MoteError) else f"{type(error).__name__}: {error}"
        raise _broken(point, f"cannot be loaded: {reason}") from error
    if not isinstance(made, Generator):
        raise _broken(point, f"gives {type(made).__name__}, which is no mote.compiler.offload.contract.Generator")
    if made.name != point.name:
        raise _broken(point, f"gives a generator that is called '{made.name}'")
    if problem := _name_problem(made.name):
        raise _broken(point, problem)
    return made


def _broken(point: EntryPoint, what: str) -> MoteError:
    return MoteError(
        f"backend '{point.name}' of package {package_of(point)}: {point.value} {what}",
        where="option backend",
        remedy="install another version of that package, or omit the backend",
    )


def package_of(point: EntryPoint) -> str:
    """The package of an entry point, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _name_problem(name: str) -> str:
    if name == MOTE:
        return f"'{MOTE}' is the name of Mote's own kernels"
    return "" if _NAME.fullmatch(name) else f"'{name}' is no name of a generator"
