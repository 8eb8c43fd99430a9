"""Targets: a core or a part, described by a TOML file, so that a new board is data and not code.

A file may use `extends` to name another target, and then states only differences. Generic cores name no memories and
have no limits; parts list theirs. The keys are the fields of `Target`, `extends`, and `[[memory]]` tables
(`mote.hardware.targets.memory`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mote.base.documents import read_toml
from mote.base.errors import MoteError
from mote.base.files import is_file
from mote.base.text import did_you_mean, printable
from mote.hardware.cores import ARCHITECTURES, HOST, Architecture
from mote.hardware.targets.allowed import not_allowed
from mote.hardware.targets.calibrated import Calibrated, read_calibrated
from mote.hardware.targets.energy import EnergyModel, read_energy
from mote.hardware.targets.firmware import Boot, Flashing, SerialPort, read_boot, read_flashing, read_serial
from mote.hardware.targets.memory import KEPT, WORD, Memory, Reads, read_memory, read_reads
from mote.hardware.targets.npu import Npu, read_npu
from mote.hardware.targets.values import bad, cut, is_whole, parse_size

__all__ = [
    "ALIGNED",
    "KEPT",
    "NATIVE",
    "VECTORS",
    "WORD",
    "EnergyModel",
    "Memory",
    "Npu",
    "Reads",
    "Target",
    "aligned",
    "declare",
    "features",
    "limited",
    "load",
    "names",
    "parse_size",
    "sources",
]

ALIGNED = "aligned"
"""Target feature: only aligned words may be loaded and stored."""

VECTORS = "vectors"
"""Target feature: the target is the host, with all of its SIMD instructions."""
NATIVE = "native"
"""The name of the bundled target for the host with all of its instructions."""

_PARTS = Path(__file__).parent / "parts"
_declared: dict[str, None] = {}
"""Features that user-registered kernels require."""
_TEXT = (
    *(
        "name",
        "description",
        "arch",
        "cpu",
        "cycle_model",
        "rtl",
        "qemu_machine",
        "qemu_cpu",
        "unicorn_cpu",
        "simavr_mcu",
    ),
    *("energy_source", "extends", "costs"),
)
_PLACES = {"code_in": "code", "constants_in": "data"}
"""Keys whose value is a memory's name, and what that memory must be able to hold."""
_LISTS = ("features", "gcc_flags", "gcc_link_flags", "zig_flags")
_WHOLE = {
    "clock_hz": (1, 10**11),
    "peak_macs": (1, 10**5),
    "load_bytes": (1, 10**5),
    "cores": (1, 2),
}
"""Integer keys, with their minimum and maximum."""
_REAL = {"ua_per_mhz": 10**6, "volts": 1000}
"""Keys with positive numbers, and their maximum."""
_MOST_TEXT = 1 << 16
"""Largest accepted target file in bytes; bundled ones have a fiftieth of that."""
_MOST_NAME = 200
"""Most characters of a file name that an error message shows."""
_MOST_PARENTS = 16
"""Longest accepted chain of `extends`; bundled files have at most three."""
_UNALIGNED = "unaligned"
"""Key: whether words may be loaded from and stored to any address; if false, the core traps such accesses."""
_TABLES = ("reads", "memory", "energy", "calibration", "firmware", "serial", "flash", "npu")
_KEYS = (*_TEXT, *_PLACES, *_LISTS, *_WHOLE, *_REAL, _UNALIGNED, *_TABLES)


@dataclass(frozen=True)
class Target:
    """Properties of a core or part that the compiler, the planner and the emulators use."""

    name: str
    description: str
    arch: str
    cpu: str
    features: frozenset[str]
    costs: str
    """The cost table of kernels for the core: name of a bundled one, or a `.json` file."""
    clock_hz: int | None
    memories: tuple[Memory, ...]
    gcc_flags: tuple[str, ...]
    zig_flags: tuple[str, ...]
    qemu_machine: str | None
    unicorn_cpu: str | None
    gcc_link_flags: tuple[str, ...] = ()
    """Additional linker flags, for gcc to find its libraries."""
    qemu_cpu: str = ""
    """QEMU's name of the core; empty: the machine's default."""
    cycle_model: str = ""
    """The name of its cycle model; by default the `cpu`."""
    rtl: str | None = None
    """The core's RTL, which `mote profile` simulates."""
    simavr_mcu: str | None = None
    peak_macs: int | None = None
    """int8 multiply-accumulates that the core can do in a cycle."""
    load_bytes: int | None = None
    """Bytes that the core can load in a cycle."""
    reads: Reads = field(default_factory=Reads)
    """Cost of reading code and constants if the target lists no memory for them."""
    code_in: str = ""
    """The memory that code is executed from: by default the fastest flash that can hold code."""
    constants_in: str = ""
    """The memory that constants are read from: by default flash, the fastest first."""
    ua_per_mhz: float | None = None
    """Current in µA per MHz while running, according to `energy_source`, at `volts`."""
    volts: float | None = None
    energy_source: str = ""
    """Data sheet that states the current, or the documents that were searched in vain."""
    energy: EnergyModel | None = None
    """Energy by kind of work, fitted to power measurements; takes precedence over `ua_per_mhz`."""
    calibrated: Calibrated | None = None
    """The record of a calibration on a board."""
    cores: int = 1
    """Number of identical cores with uniform access to RAM, for models that run on two cores."""
    boot: Boot = field(default_factory=Boot)
    serial: SerialPort | None = None
    flashing: Flashing = field(default_factory=Flashing)
    npu: Npu | None = None
    """The part's Ethos-U NPU, for the backend `ethos-u`."""

    @property
    def core(self) -> Architecture:
        """The record of its architecture."""
        return ARCHITECTURES[self.arch]

    @property
    def core_flags(self) -> tuple[str, ...]:
        """gcc options that choose the core, and those that all code for the architecture is compiled with."""
        return (*self.gcc_flags, *(flag for flag in self.core.gcc_flags if not flag.startswith("--specs")))

    @property
    def is_native(self) -> bool:
        """Whether code for it uses all SIMD instructions of the host."""
        return VECTORS in self.features

    @property
    def is_host(self) -> bool:
        """Whether it is the host, which runs code without an emulator."""
        return self.core is HOST

    @property
    def flash(self) -> int | None:
        """Total flash in bytes; None: unlimited."""
        return self._total("flash")

    @property
    def ram(self) -> int | None:
        """Total RAM for data in bytes; None: unlimited."""
        return self._total("ram")

    def _total(self, kind: str) -> int | None:
        sizes = [m.size for m in self._fastest(kind, "data")]
        return sum(sizes) if sizes else None

    def choice(self, kind: str) -> tuple[Memory, ...]:
        """The memories of a kind that can hold data, fastest first, if there are several to choose from; else empty."""
        memories = self._fastest(kind, "data")
        return tuple(memories) if len(memories) > 1 else ()

    def _fastest(self, kind: str, what: str) -> list[Memory]:
        """Memories of a kind that can hold `what` (code or data), fastest first."""
        memories = [m for m in self.memories if m.kind == kind and what in m.holds]
        return sorted(memories, key=lambda m: (m.wait, m.reads.miss))

    def _memory(self, name: str, what: str) -> Memory | None:
        """The memory of that name, or by default the fastest flash; None: the target lists no flash."""
        memories = [m for m in self.memories if m.name == name] or self._fastest("flash", what)
        return memories[0] if memories else None

    @property
    def code_memory(self) -> Memory | None:
        """The memory that code is executed from; None: the target lists none."""
        return self._memory(self.code_in, "code")

    @property
    def constants_memory(self) -> Memory | None:
        """The memory that constants are read from, the first of several; None: the target lists none."""
        return self._memory(self.constants_in, "data")

    @property
    def code_reads(self) -> Reads:
        """The cost of fetching code."""
        memory = self.code_memory
        return memory.reads if memory else self.reads

    @property
    def constant_reads(self) -> Reads:
        """The cost of reading constants, which is zero in RAM."""
        memory = self.constants_memory
        if memory is None:
            return self.reads
        return memory.reads if memory.kind == "flash" else Reads()

    @property
    def code_rams(self) -> tuple[Memory, ...]:
        """RAM that code can be executed from, fastest first."""
        memories = [m for m in self.memories if m.kind == "ram" and "code" in m.holds]
        return tuple(sorted(memories, key=lambda m: (m.reads.miss, m.wait)))


def declare(features: Iterable[str]) -> None:
    """Allow target files to list features that only user-registered kernels require."""
    _declared.update(dict.fromkeys(features))


def features() -> tuple[str, ...]:
    """All features that a target may list: those of the architectures, and those that user-registered kernels
    require."""
    own = (feature for core in ARCHITECTURES.values() for feature in core.features)
    return tuple(dict.fromkeys((*own, *_declared)))


def names() -> list[str]:
    """Names of the bundled targets: generic cores first, then parts."""
    paths = sorted(_PARTS.glob("*.toml"))
    return sorted((p.stem for p in paths), key=lambda n: ("memory" in _merged(_PARTS / f"{n}.toml", (), True), n))


def load(name_or_path: str, *, trusted: bool = False) -> Target:
    """Load a bundled target by name, or a user's `.toml` file. Unless `trusted`, the file may only use compiler options
    in `mote.hardware.targets.allowed`, because others can run programs."""
    path = _locate(name_or_path)
    return _target(path, _merged(path, (), trusted))


def sources(name_or_path: str) -> list[Path]:
    """All files that define a target: its own, its cost table, its NPU configuration, and those of the targets that it
    extends."""
    files: list[Path] = []
    while name_or_path:
        path = _locate(name_or_path)
        if path in files or len(files) > 3 * _MOST_PARENTS:
            break
        keys = _read(path)
        costs, parent = str(keys.get("costs", "")), str(keys.get("extends", ""))
        npu = keys.get("npu")
        config = npu.get("config", "") if isinstance(npu, dict) else ""
        files += [path, *([path.parent / costs] if costs.endswith(".json") else [])]
        files += [path.parent / config] if config and isinstance(config, str) else []
        name_or_path = str(path.parent / parent) if parent.endswith(".toml") else parent
    return files


def _locate(name: str) -> Path:
    """Path of a target: a name with a slash or `.toml` is a user's file, any other a bundled one."""
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not is_file(path):
            guess = did_you_mean(path.stem, names())
            where = printable(name[:_MOST_NAME])
            raise MoteError("no such target file", where=where, remedy=f"{guess}`mote targets` lists the bundled ones")
        return path
    path = _PARTS / f"{name}.toml"
    if not is_file(path):
        raise MoteError(
            f"unknown target {cut(name)}",
            remedy=f"{did_you_mean(name, names())}`mote targets` lists all; a part of your own is a .toml file",
        )
    return path


def _read(path: Path) -> dict[str, Any]:
    return read_toml(path, most=_MOST_TEXT)


def _merged(path: Path, children: tuple[Path, ...], trusted: bool) -> dict[str, Any]:
    """The keys of a file merged over those of the file it extends; `children`: files that extend this one."""
    if len(children) > _MOST_PARENTS:
        raise bad(path, f"a target extends more than {_MOST_PARENTS} others in a row", "extend one that is nearer")
    if path.resolve() in children:
        chain = " -> ".join(p.name for p in (*children, path))
        raise MoteError(f"targets extend each other in a circle: {chain}", where=str(path))
    own = _read(path)
    _check(path, own)
    if not trusted:
        _check_flags(path, own)
    parent = own.pop("extends", None)
    own.setdefault("name", path.stem)
    if own.get("costs", "").endswith(".json"):
        own["costs"] = str(path.parent / own["costs"])
    if isinstance(own.get("npu"), dict) and isinstance(own["npu"].get("config"), str):
        own["npu"] = own["npu"] | {"config": str((path.parent / own["npu"]["config"]).resolve())}
    if parent is None:
        return own
    if parent.endswith(".toml"):
        parent = str(path.parent / parent)
    try:
        extended = _locate(parent)
    except MoteError as error:
        raise bad(path, f"'extends' names {cut(parent)}: {error.reason}", error.remedy) from None
    return _merged(extended, (*children, path.resolve()), trusted) | own


def _check(path: Path, keys: dict[str, Any]) -> None:
    """Reject unknown keys and values of wrong types."""
    for key, value in keys.items():
        if key not in _KEYS:
            guess = did_you_mean(key, _KEYS)
            raise bad(path, f"unknown key '{printable(key)}'", f"{guess}the keys are: {', '.join(_KEYS)}")
        if key in (*_TEXT, *_PLACES) and not (isinstance(value, str) and value.isprintable()):
            raise bad(path, f"'{key}' must be a string that can be printed, not {cut(value)}")
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise bad(path, f"'{key}' must be a list of strings, not {cut(value)}")
    for key, (least, most) in _WHOLE.items():
        if not is_whole(keys.get(key, least), least, most):
            raise bad(path, f"'{key}' must be a whole number from {least:,} to {most:,}, not {cut(keys[key])}")
    for key, most in _REAL.items():
        value = keys.get(key, 1)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= most:
            raise bad(path, f"'{key}' must be a positive number of at most {most:,}, not {cut(value)}")
    if not isinstance(keys.get(_UNALIGNED, True), bool):
        raise bad(path, f"'{_UNALIGNED}' must be true or false, not {cut(keys[_UNALIGNED])}")
    plugins = "; others are known once a kernel that asks for them is registered (--plugin FILE)"
    for word, known, what, more in (
        *((feature, features(), "feature", plugins) for feature in keys.get("features", ())),
        (keys.get("arch", HOST.name), tuple(ARCHITECTURES), "arch", ""),
    ):
        if word not in known:
            guess = did_you_mean(word, known)
            raise bad(path, f"unknown {what} '{printable(word)}'", f"{guess}there are: {', '.join(known)}{more}")
    memories = keys.get("memory", [])
    if not isinstance(memories, list) or not all(isinstance(m, dict) for m in memories):
        raise bad(path, "'memory' must be a list of tables: [[memory]]")


def _check_flags(path: Path, keys: dict[str, Any]) -> None:
    """Reject compiler options that can run programs, or read and write files."""
    for key in ("gcc_flags", "gcc_link_flags", "zig_flags"):
        flag = not_allowed(keys.get(key, ()))
        if flag is not None:
            raise bad(
                path,
                f"'{key}' has {cut(flag)}, none of the options that only choose a core (docs/compile/targets.md)",
                "remove it, or read the file and then trust it with --trust-target",
            )


def _target(path: Path, keys: dict[str, Any]) -> Target:
    for key in ("arch", "cpu"):
        if key not in keys:
            raise bad(path, f"'{key}' is missing", 'state it, or extend a core: extends = "cortex-m4"')
    if "costs" not in keys:
        raise bad(
            path,
            "'costs' is missing: which table tells what kernels take on this core",
            'name that of a similar core (costs = "cortex-m4"), or fit one: benchmarks/fit_costs.py --core FILE.toml',
        )
    memories = tuple(read_memory(path, m) for m in keys.get("memory", ()))
    symbols = [m.symbol.upper() for m in memories]
    for m in memories:
        if symbols.count(m.symbol.upper()) > 1:
            raise bad(path, f"two memories are called '{m.name}' (in C: {m.symbol.upper()})", "rename one")
    for key, what in _PLACES.items():
        _check_place(path, key, keys.get(key, ""), what, memories)
    rtl = ARCHITECTURES[keys["arch"]].rtl
    if keys.get("rtl", "") not in ("", *rtl):
        raise bad(path, f"unknown rtl '{printable(keys['rtl'])}'", f"there are: {', '.join(rtl) or 'none'}")
    target = Target(
        name=keys["name"],
        description=keys.get("description", ""),
        arch=keys["arch"],
        cpu=keys["cpu"],
        features=frozenset(keys.get("features", ())),
        costs=keys["costs"],
        clock_hz=keys.get("clock_hz"),
        memories=memories,
        gcc_flags=tuple(keys.get("gcc_flags", ())),
        zig_flags=tuple(keys.get("zig_flags", ())),
        qemu_machine=keys.get("qemu_machine"),
        unicorn_cpu=keys.get("unicorn_cpu"),
        gcc_link_flags=tuple(keys.get("gcc_link_flags", ())),
        qemu_cpu=keys.get("qemu_cpu", ""),
        cycle_model=keys.get("cycle_model", keys["cpu"]),
        rtl=keys.get("rtl") or None,
        simavr_mcu=keys.get("simavr_mcu"),
        **{key: keys[key] for key in ("peak_macs", "load_bytes", "cores", *_REAL, *_PLACES) if key in keys},
        reads=read_reads(path, "in [reads]", keys.get("reads", {})),
        energy_source=keys.get("energy_source", ""),
        energy=read_energy(path, keys.get("energy")),
        calibrated=read_calibrated(path, keys.get("calibration")),
        boot=read_boot(path, keys.get("firmware", {})),
        serial=read_serial(path, keys.get("serial")),
        flashing=read_flashing(path, keys.get("flash", {})),
        npu=read_npu(path, keys.get("npu"), memories),
    )
    for name, _ in target.boot.unready:
        if name not in (m.name for m in memories):
            raise bad(path, f"in [firmware]: 'unready' names '{printable(name)}', which is none of its memories")
    return target if keys.get(_UNALIGNED, True) else aligned(target)


def _check_place(path: Path, key: str, name: str, what: str, memories: tuple[Memory, ...]) -> None:
    """Reject the name of a memory that does not exist or cannot hold `what`."""
    known = {m.name: m for m in memories}
    if name and name not in known:
        guess = did_you_mean(name, list(known))
        raise bad(
            path, f"'{key}' names '{name}', which is none of its memories", f"{guess}there are: {', '.join(known)}"
        )
    if name and what not in known[name].holds:
        raise bad(path, f"'{key}' names '{name}', which cannot hold {what}", "see its 'holds'")


def limited(target: Target, sizes: Mapping[str, int]) -> Target:
    """The target with each named RAM reduced to that many bytes; 0 removes it."""
    rams = {m.name: m for m in target.memories if m.kind == "ram" and "data" in m.holds}
    for name, size in sizes.items():
        where = f"option ram on {target.name}"
        if name not in rams:
            guess = did_you_mean(name, list(rams))
            there = f"{guess}there are: {', '.join(rams)}" if rams else "give one number of bytes: it names no RAM"
            raise MoteError(f"has no RAM called '{printable(name)}'", where=where, remedy=there)
        if size > rams[name].size:
            raise MoteError(f"{name} has {rams[name].size:,} bytes, fewer than {size:,}", where=where)
    if rams and not any(sizes.get(name, m.size) for name, m in rams.items()):
        raise MoteError("no RAM is left", where=f"option ram on {target.name}", remedy="leave some of one memory")
    return replace(target, memories=tuple(replace(m, size=sizes.get(m.name, m.size)) for m in target.memories))


def aligned(target: Target) -> Target:
    """The target restricted to aligned 32-bit accesses: without assembly kernels that use unaligned loads, and with a
    compiler option against them. Unchanged if the core cannot do unaligned accesses anyway."""
    core = target.core
    if not core.aligned_gcc or ALIGNED in target.features:
        return target
    return replace(
        target,
        features=target.features | {ALIGNED},
        gcc_flags=(*target.gcc_flags, *core.aligned_gcc),
        zig_flags=tuple(
            f"{flag}{core.aligned_zig}" if flag.startswith("-mcpu=") else flag for flag in target.zig_flags
        ),
    )
