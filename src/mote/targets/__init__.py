"""Targets: a core or a part, described by a TOML file, so that a new board is data and no code.

A file may `extends` another target and then states only what differs. Generic cores name no memories and
have no limit; parts name theirs. The keys are the fields of `Target`, `extends`, and `[[memory]]` tables.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from mote.errors import MoteError
from mote.targets.allowed import not_allowed
from mote.text import did_you_mean, printable

ARCHES = ("host", "arm", "riscv")
FEATURES = ("dsp", "fpu", "mve")
KINDS = ("flash", "ram")
KEPT = "kept"
"""In names in C: what a model keeps from one inference to the next. No memory is called so."""

_HERE = Path(__file__).parent
_TEXT = ("name", "description", "arch", "cpu", "qemu_machine", "unicorn_cpu", "energy_source", "extends", "costs")
_LISTS = ("features", "gcc_flags", "zig_flags")
_WHOLE = {
    "clock_hz": (1, 10**11),
    "peak_macs": (1, 10**5),
    "flash_wait_states": (0, 1000),
    "flash_line": (2, 4096),
}
"""Whole numbers, and the least and the most that they can be."""
_REAL = {"ua_per_mhz": 10**6, "volts": 1000}
"""Positive numbers, and the most that they can be."""
_MOST_BYTES = 1 << 40
_MOST_ADDRESS = (1 << 64) - 1
_MOST_WAIT = 10**6
_MOST_TEXT = 1 << 16
"""Bytes of a target's file: the bundled ones have a fiftieth of that."""
_UNALIGNED = "unaligned"
"""Whether words may be loaded from and stored to any address; if not, the core is taken to trap that."""
_KEYS = (*_TEXT, *_LISTS, *_WHOLE, *_REAL, _UNALIGNED, "memory")
_WITHOUT_DSP = {"cortex-m4": "cortex-m3", "cortex-m55": "cortex-m3"}
"""The tables of cores that have DSP instructions, and which one counts where these are not used."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Memory:
    """One memory of a part; `origin` is its address, where that is one address."""

    name: str
    kind: str
    size: int
    origin: int | None = None
    wait: int = 0
    """Extra cycles of an access, as the core sees it."""
    section: str = ""
    """The linker section of what Mote puts there."""

    @property
    def symbol(self) -> str:
        """The name as the end of a C identifier."""
        return re.sub(r"\W", "_", self.name, flags=re.ASCII)


@dataclass(frozen=True)
class Target:
    """What the compiler, the planner and the emulators have to know of a core or part."""

    name: str
    description: str
    arch: str
    cpu: str
    features: frozenset[str]
    costs: str
    """The table of what kernels take on the core: a bundled one, or a `.json` file."""
    clock_hz: int | None
    memories: tuple[Memory, ...]
    gcc_flags: tuple[str, ...]
    zig_flags: tuple[str, ...]
    qemu_machine: str | None
    unicorn_cpu: str | None
    peak_macs: int | None = None
    """int8 multiplications with addition that the core can do in a cycle."""
    flash_wait_states: int = 0
    """Cycles more to fetch a line of code than from memory that answers at once."""
    flash_line: int = 16
    """Bytes of code that one access to flash gets."""
    ua_per_mhz: float | None = None
    """Current while running, by `energy_source` at `volts`."""
    volts: float | None = None
    energy_source: str = ""

    @property
    def flash(self) -> int | None:
        """All flash in bytes; None for a target without limits."""
        return self._total("flash")

    @property
    def ram(self) -> int | None:
        """All RAM in bytes; None for a target without limits."""
        return self._total("ram")

    def _total(self, kind: str) -> int | None:
        sizes = [m.size for m in self.memories if m.kind == kind]
        return sum(sizes) if sizes else None

    def choice(self, kind: str) -> tuple[Memory, ...]:
        """The memories of a kind, fastest first, where there are several: where things go is then to be decided."""
        found = sorted((m for m in self.memories if m.kind == kind), key=lambda m: m.wait)
        return tuple(found) if len(found) > 1 else ()


def names() -> list[str]:
    """The bundled targets: cores first, then parts."""
    paths = sorted(_HERE.glob("*.toml"))
    return sorted((p.stem for p in paths), key=lambda n: ("extends" in _read(_HERE / f"{n}.toml"), n))


def load(name_or_path: str, *, trusted: bool = False) -> Target:
    """The target of that bundled name, or of the user's own `.toml` file. Only one that is `trusted` may name options
    of compilers that are not in `mote.targets.allowed`: they can run programs."""
    path = _locate(name_or_path)
    return _target(path, _merged(path, (), trusted))


def parse_size(text: str | int) -> int:
    """Bytes from `512`, `"24K"` or `"1M"`; K and M are powers of two, as data sheets mean them."""
    if isinstance(text, Integral) and not isinstance(text, bool) and text >= 0:
        return int(text)
    form = r"\s*([0-9]{1,18})\s*([KMG]?)(?:i?B)?\s*"
    match = re.fullmatch(form, text, re.IGNORECASE | re.ASCII) if isinstance(text, str) else None
    if match is None:
        raise MoteError(f"not a size: {text!r}", remedy="write a number of bytes, or one with K or M: 24K, 1M")
    return int(match[1]) * _UNITS[match[2].upper()]


def _locate(name: str) -> Path:
    """A name with a slash or `.toml` is a file of the user's; any other is bundled."""
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if not path.is_file():
            raise MoteError("no such target file", where=name, remedy=f"give a file, or one of: {', '.join(names())}")
        return path
    path = _HERE / f"{name}.toml"
    if not path.is_file():
        raise MoteError(
            f"unknown target '{name}'",
            remedy=f"{did_you_mean(name, names())}use one of: {', '.join(names())}; or the path of your own .toml file",
        )
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_TEXT + 1)
        if len(text) > _MOST_TEXT:
            raise _bad(path, f"is longer than {_MOST_TEXT:,} bytes, which no target's file is")
        return tomllib.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise MoteError(f"not valid TOML: {error}", where=str(path), remedy="correct the file") from None
    except OSError as error:
        raise MoteError(f"cannot be read: {error.strerror}", where=str(path)) from None


def _merged(path: Path, children: tuple[Path, ...], trusted: bool) -> dict[str, Any]:
    """The keys of a file over those of the file it extends."""
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
    if parent is None:
        return own
    if parent.endswith(".toml"):
        parent = str(path.parent / parent)
    return _merged(_locate(parent), (*children, path.resolve()), trusted) | own


def _check(path: Path, keys: dict[str, Any]) -> None:
    """Reject a key that nobody reads and a value of the wrong type, naming both."""
    for key, value in keys.items():
        if key not in _KEYS:
            guess = did_you_mean(key, _KEYS)
            raise _bad(path, f"unknown key '{printable(key)}'", f"{guess}the keys are: {', '.join(_KEYS)}")
        if key in _TEXT and not (isinstance(value, str) and value.isprintable()):
            raise _bad(path, f"'{key}' must be a string that can be printed, not {value!r}")
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise _bad(path, f"'{key}' must be a list of strings, not {value!r}")
    for key, (least, most) in _WHOLE.items():
        if not _is_whole(keys.get(key, least), least, most):
            raise _bad(path, f"'{key}' must be a whole number from {least:,} to {most:,}, not {_cut(keys[key])}")
    for key, most in _REAL.items():
        value = keys.get(key, 1)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= most:
            raise _bad(path, f"'{key}' must be a positive number of at most {most:,}, not {_cut(value)}")
    if not isinstance(keys.get(_UNALIGNED, True), bool):
        raise _bad(path, f"'{_UNALIGNED}' must be true or false, not {_cut(keys[_UNALIGNED])}")
    for word, known, what in (
        *((feature, FEATURES, "feature") for feature in keys.get("features", ())),
        (keys.get("arch", "arm"), ARCHES, "arch"),
    ):
        if word not in known:
            guess = did_you_mean(word, known)
            raise _bad(path, f"unknown {what} '{printable(word)}'", f"{guess}there are: {', '.join(known)}")
    memories = keys.get("memory", [])
    if not isinstance(memories, list) or not all(isinstance(m, dict) for m in memories):
        raise _bad(path, "'memory' must be a list of tables: [[memory]]")


def _check_flags(path: Path, keys: dict[str, Any]) -> None:
    """Refuse options of compilers that can run programs, or read and write files."""
    for key in ("gcc_flags", "zig_flags"):
        flag = not_allowed(keys.get(key, ()))
        if flag is not None:
            raise _bad(
                path,
                f"'{key}' has {flag!r}, which is none of the options that only choose a core (docs/targets.md)",
                "remove it, or read the file and then trust it with --trust-target",
            )


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _cut(value: object) -> str:
    """A value that is wrong, of a readable length."""
    return repr(value)[:80]


def _target(path: Path, keys: dict[str, Any]) -> Target:
    for key in ("arch", "cpu"):
        if key not in keys:
            raise _bad(path, f"'{key}' is missing", 'state it, or extend a core: extends = "cortex-m4"')
    if "costs" not in keys:
        raise _bad(
            path,
            "'costs' is missing: which table tells what kernels take on this core",
            'name that of a similar core (costs = "cortex-m4"), or fit one: benchmarks/fit_costs.py --core FILE.toml',
        )
    memories = tuple(_memory(path, m) for m in keys.get("memory", ()))
    symbols = [m.symbol.upper() for m in memories]
    for m in memories:
        if symbols.count(m.symbol.upper()) > 1:
            raise _bad(path, f"two memories are called '{m.name}' (in C: {m.symbol.upper()})", "rename one")
    found = Target(
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
        **{key: keys[key] for key in ("peak_macs", "flash_wait_states", "flash_line", *_REAL) if key in keys},
        energy_source=keys.get("energy_source", ""),
    )
    return found if keys.get(_UNALIGNED, True) or found.arch != "arm" else _aligned(found)


def _aligned(target: Target) -> Target:
    """An Arm core whose words must lie at multiples of four: without the kernels in assembly, which load them from
    anywhere, and with a C compiler that never does."""
    return replace(
        target,
        features=target.features - {"dsp"},
        costs=_WITHOUT_DSP.get(target.costs, target.costs),
        gcc_flags=(*target.gcc_flags, "-mno-unaligned-access"),
        zig_flags=tuple(f"{flag}+strict_align" if flag.startswith("-mcpu=") else flag for flag in target.zig_flags),
    )


def _memory(path: Path, keys: dict[str, Any]) -> Memory:
    wanted = {"name", "kind", "size"}
    odd = sorted(set(keys) - wanted - {"origin", "wait", "section"})
    missing = sorted(wanted - set(keys))
    if odd or missing:
        what = f"unknown key '{odd[0]}'" if odd else f"'{missing[0]}' is missing"
        remedy = "a memory has a name, a kind, a size and perhaps an origin, a wait and a section"
        raise _bad(path, f"in [[memory]]: {what}", remedy)
    name, kind, origin, wait = keys["name"], keys["kind"], keys.get("origin"), keys.get("wait", 0)
    if not isinstance(name, str) or not name or not name.isprintable():
        raise _bad(path, f"in [[memory]]: 'name' must be a string that can be printed, not {name!r}")
    if name.lower() == KEPT:
        raise _bad(path, f"a memory cannot be called '{name}': so is what a model keeps", "rename it")
    if kind not in KINDS:
        raise _bad(path, f"memory '{name}': 'kind' must be flash or ram, not {kind!r}")
    if origin is not None and not _is_whole(origin, 0, _MOST_ADDRESS):
        raise _bad(path, f"memory '{name}': 'origin' must be an address, not {_cut(origin)}")
    if not _is_whole(wait, 0, _MOST_WAIT):
        raise _bad(path, f"memory '{name}': 'wait' must be a number of cycles up to {_MOST_WAIT:,}, not {_cut(wait)}")
    try:
        size = parse_size(keys["size"])
    except MoteError as error:
        raise _bad(path, f"memory '{name}': {error.reason}", error.remedy) from None
    if not _is_whole(size, 1, _MOST_BYTES):
        raise _bad(path, f"memory '{name}': 'size' must be from 1 to {_MOST_BYTES:,} bytes, not {_cut(size)}")
    found = Memory(name, kind, size, origin, wait)
    section = keys.get("section", f".{'bss' if kind == 'ram' else 'rodata'}.mote_{found.symbol}")
    if not isinstance(section, str) or not re.fullmatch(r"[\w.$]+", section, re.ASCII):
        raise _bad(path, f"memory '{name}': 'section' must be the name of a linker section, not {section!r}")
    return replace(found, section=section)


def _bad(path: Path, reason: str, remedy: str = "") -> MoteError:
    return MoteError(reason, where=str(path), remedy=remedy)
