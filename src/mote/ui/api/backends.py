"""`mote.backends`: the backends that there are, what is missing for them, and the targets that they serve."""

from __future__ import annotations

from dataclasses import dataclass

from mote.base.errors import MoteError
from mote.base.notebook import table
from mote.base.results import Result
from mote.compiler.offload.backends import BUILT_IN, GENERATORS, MOTE, announced, known, named, package_of
from mote.hardware import targets
from mote.hardware.targets import Target


@dataclass(frozen=True)
class Backend(Result):
    """A backend: Mote's own kernels, or an external generator."""

    TITLE = "{name}"
    JSON = "*, ready"

    name: str
    """Its name for `--backend`."""
    about: str
    """A description in a few words."""
    origin: str
    """`built in`, the package that announces it with its version, or `registered` by a program or a plug-in."""
    missing: str
    """Whatever it needs and does not find here; empty where it can be used."""
    remedy: str
    """How to provide that."""
    targets: tuple[str, ...]
    """The targets that it serves."""

    def __repr__(self) -> str:
        state = "ready" if self.ready else f"missing: {self.missing}"
        return f"<Backend {self.name!r}, {self.origin}: {state[:160]}>"

    @property
    def ready(self) -> bool:
        """Whether it can be used here."""
        return not self.missing

    def _parts(self) -> list[str]:
        rows = [(self.about, self.origin, self.missing or "nothing", self.remedy, len(self.targets))]
        return [table(("about", "from", "missing", "remedy", "targets"), rows, left=4)]


def backends(*, target: str | Target | None = None, trust_target: bool = False) -> list[Backend]:
    """List Mote's own kernels and the external generators that come with Mote, that installed packages announce, and
    that a program has registered: what is missing for each, and the targets that it serves. With `target` only those
    that serve it."""
    if target is None:
        parts = [targets.load(name) for name in targets.names()]
    else:
        parts = [target if isinstance(target, Target) else targets.load(target, trusted=trust_target)]
    own = Backend(MOTE, "Mote's own kernels", "built in", "", "", tuple(part.name for part in parts))
    every = [own, *(_backend(name, parts) for name in known())]
    return [backend for backend in every if target is None or backend.targets or backend.missing]


def _backend(name: str, parts: list[Target]) -> Backend:
    points = announced().get(name, [])
    origin = "built in" if name in BUILT_IN else ", ".join(map(package_of, points)) or "registered"
    if name in GENERATORS and name not in BUILT_IN and not points:
        origin = "registered"
    try:
        (generator,) = named([name])
        missing = generator.missing()
        served = tuple(part.name for part in parts if generator.serves(part))
    except MoteError as error:
        return Backend(name, "", origin, error.reason, error.remedy or "", ())
    if missing is None:
        return Backend(name, generator.about, origin, "", "", served)
    return Backend(name, generator.about, origin, missing.what, missing.remedy, served)
