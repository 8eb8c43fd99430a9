"""Megabytes on disk of everything that `mote doctor` offers to install, with all that it depends on.

    python benchmarks/install_sizes.py             # what is installed here, beside what is recorded
    python benchmarks/install_sizes.py --record    # record it, also in docs/start/install.md

Wheels and extras are measured in the environment that runs this, as `pip install '.[test]'` makes it, by the files that
each distribution has recorded; those that are not installed keep their numbers. Debian packages are what apt says that
they add to a system with Python alone, without recommended packages; where there is no apt they keep their numbers.
A file takes whole blocks of 4 KiB, and a megabyte is 2^20 bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from generated_table import Page
from mote.base.extras import SIZES, installing
from mote.bench.doctor import doctor
from mote.hardware.cores import ARCHITECTURES

ROOT = Path(__file__).parents[1]
PAGE = Page(ROOT / "docs" / "start" / "install.md", "<!-- extras -->", "<!-- end of extras -->")
MEGA, BLOCK = 1 << 20, 4096
PIP = ("torch", "keras", "scikit-learn", "xgboost", "lightgbm")
"""Packages that no extra of Mote's brings alone."""
BESIDE = {"test", "frontends", "compare"}
"""Extras for work on Mote itself."""
SYSTEM = ("python3", "python3-venv")
UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


def extras() -> dict[str, list[Requirement]]:
    """The requirements of each extra, and those of the package itself as the extra ''."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {"": project["dependencies"], **project["optional-dependencies"]}
    return {name: [Requirement(text) for text in texts] for name, texts in named.items() if name not in BESIDE}


def apt_packages() -> list[str]:
    """The packages of each command of apt that `mote doctor` prints."""
    cores = ARCHITECTURES.values()
    named = [text for core in cores for text in (core.gcc_packages, core.qemu_packages) if text]
    return sorted({*named, "gcc", "clang", "clang lld", "libsimavr-dev gcc"})


def closure(requirements: Iterable[Requirement]) -> set[str] | None:
    """The distributions that requirements bring, by name; None where one is not installed."""
    names: set[str] = set()
    waiting = [(r, frozenset({""})) for r in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement, given = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in given):
            continue
        if (name, frozenset(requirement.extras)) in seen:
            continue
        seen.add((name, frozenset(requirement.extras)))
        if name == "moteml":
            waiting += [(r, frozenset({""})) for extra in requirement.extras for r in extras()[extra]]
            continue
        distribution = installed().get(name)
        if distribution is None:
            return None
        names.add(name)
        wanted = frozenset({"", *requirement.extras})
        waiting += [(Requirement(text), wanted) for text in distribution.requires or ()]
    return names


@cache
def installed() -> dict[str, metadata.Distribution]:
    return {canonicalize_name(d.metadata["Name"]): d for d in metadata.distributions()}


@cache
def nbytes(name: str) -> int:
    """Bytes on disk of a distribution, by its own record; of files without a size there, such as bytecode, that of the
    file."""
    distribution = installed()[name]
    base, total = str(distribution.locate_file("")), 0
    for file in distribution.files or ():
        size = file.size
        if size is None:
            with suppress(FileNotFoundError):
                size = Path(base, file).stat().st_size
        total += -(-(size or 0) // BLOCK) * BLOCK
    return total


def measured_wheels() -> tuple[dict[str, int], dict[str, int]]:
    """Megabytes of extras and of packages, beside those of Mote's own dependencies."""
    core = closure(extras()[""])
    assert core is not None, "pip install ."
    groups = {"extras": extras(), "pip": {name: [Requirement(name)] for name in PIP}}
    sizes: dict[str, dict[str, int]] = {kind: {} for kind in groups}
    for kind, named in groups.items():
        for name, requirements in named.items():
            names = closure(requirements)
            if names is not None:
                sizes[kind][name] = round(sum(map(nbytes, names - core if name else names)) / MEGA)
    return sizes["extras"], sizes["pip"]


def measured_apt() -> dict[str, int]:
    """Megabytes that packages add to a system with Python."""
    if shutil.which("apt-get") is None:
        return {}
    base = _on_empty_system(*SYSTEM)
    sizes = {packages: _on_empty_system(*SYSTEM, *packages.split()) for packages in apt_packages()}
    return {packages: round(size - base) for packages, size in sizes.items() if size and base}


def _on_empty_system(*packages: str) -> float:
    """Megabytes that apt would install on a system without any package; 0 where it knows one of them not."""
    options = ("-o", "Debug::NoLocking=1", "-o", "Dir::State::status=/dev/null", "--no-install-recommends")
    command = ("apt-get", *options, "--assume-no", "install", *packages)
    said = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C"}).stdout
    match = re.search(r"operation, ([\d.,]+) (kB|MB|GB) of additional", said)
    return float(match[1].replace(",", "")) * UNITS[match[2]] / MEGA if match else 0.0


def table() -> str:
    """What each extra brings, for which purposes, and how many megabytes that takes."""
    sizes, commands = recorded()["extras"], {installing(name): name for name in extras()}
    diagnosis = doctor()
    extra_of = {tool.name: commands.get(tool.remedy, "") for tool in diagnosis.tools}
    purposes: dict[str, list[str]] = {"": ["reading `.tflite`, compiling"], "demo": ["`make demo`"]}
    for purpose in diagnosis.purposes:
        for extra in dict.fromkeys(extra_of[name] for group in purpose.needs for name in group):
            purposes.setdefault(extra, []).extend([f"`{purpose.name}`"] if extra else [])
    rows = [
        f"| {f'`{name}`' if name else ''} | {_brought(requirements)} | {', '.join(purposes[name])} | {sizes[name]} |"
        for name, requirements in extras().items()
    ]
    return "\n".join(["| extra | brings | for | MB |", "|---|---|---|--:|", *rows])


def _brought(requirements: Iterable[Requirement]) -> str:
    return ", ".join(f"{r.name}[{','.join(sorted(r.extras))}]" if r.extras else r.name for r in requirements)


def recorded() -> dict[str, dict[str, int]]:
    sizes: dict[str, dict[str, int]] = json.loads(SIZES.read_text(encoding="utf-8"))
    return sizes


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--record", action="store_true", help="write the numbers that were measured")
    record = p.parse_args().record
    before = recorded() if SIZES.exists() else {"apt": {}, "pip": {}, "extras": {}}
    own, pip = measured_wheels()
    now = {"apt": measured_apt(), "extras": own, "pip": pip}
    for kind, sizes in now.items():
        for name in sorted({*sizes, *before[kind]}):
            print(f"{kind:6}  {name or 'moteml':60}  {sizes.get(name, '-'):>6}  {before[kind].get(name, '-'):>6}")
    if record:
        merged = {kind: dict(sorted((before[kind] | sizes).items())) for kind, sizes in now.items()}
        SIZES.write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")
        PAGE.path.write_text(PAGE.with_table(table()), encoding="utf-8")


if __name__ == "__main__":
    main()
