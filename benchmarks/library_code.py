"""Measures the bytes of code that each function of CMSIS-NN and ESP-NN links, the table `code.json` of both backends.

    CMSIS_NN_PATH=... ESP_NN_PATH=... PYTHONPATH=src python benchmarks/library_code.py

The sources are compiled with -O2, a section for each function; what a call reaches is read from the relocations. The
compiler's own library is not counted: Mote's kernels call it, too. No compiler here knows the vector instructions of
an ESP32-S3 and an ESP32-P4: their editions are estimated by the instructions and the characters of their files.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from mote.compiler.offload import cmsis_nn, esp_nn
from mote.compiler.offload.cmsis_nn.files import INCLUDE, SOURCE
from mote.compiler.offload.cmsis_nn.files import checkout as cmsis_checkout
from mote.compiler.offload.esp_nn.library import Edition, includes, sources
from mote.compiler.offload.esp_nn.library import checkout as esp_checkout
from mote.compiler.offload.library.tables import CODE
from mote.hardware import targets
from mote.hardware.toolchain.builder import target_flags
from mote.hardware.toolchain.compilers import find_compiler

CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55")
ESP_CORE = "esp32c3"
FLAGS = ("-O2", "-std=gnu99", "-w")
WRAPPER = re.compile(r"^(?:static inline \w+ |CMSIS_NN_\w+\()((?:cmsis|esp)_nn_\w+)[(,]", re.MULTILINE)
"""Functions of our own headers, by their definition or by the macro that defines them."""
OTHERS = {
    cmsis_nn: [f"arm_elementwise_{kind}_{bits}" for kind in ("add", "mul") for bits in ("s8", "s16")],
    esp_nn: [
        *("esp_nn_add_elementwise_s8", "esp_nn_mul_elementwise_s8", "esp_nn_mul_broadcast_channel_s8"),
        "esp_nn_logistic_s8",
    ],
}
"""Functions that generated C calls without one of these."""
FILES = {
    "esp_nn_layer_average": "avg_pool",
    "esp_nn_layer_depthwise": "depthwise_conv",
    "esp_nn_layer_fully_connected_per_channel": "fully_connected",
    "esp_nn_layer_max": "max_pool",
    "esp_nn_mul_broadcast_channel_s8": "mul",
}
"""How the names of files of ESP-NN's functions go on behind `esp_nn_`, where the name of the call does not say it."""
COMMENT = re.compile(r"/\*.*?\*/|(?://|#)[^\n]*", re.DOTALL)
STATEMENT = re.compile(r"^\s*(?!\.)\w[\w.]*(?:[ \t]+[^:\n]*)?$", re.MULTILINE)
"""An instruction in assembly: neither a label nor a directive."""
INSTRUCTION = 3
"""Bytes of an instruction."""
CHARACTER = 0.22
"""Bytes of code for a character of C: the mean of CMSIS-NN's files."""
ONCE = re.compile(r"_once\b")
FLOATS = re.compile(r"_(f16|f32|flt)\b")
STUB = "stub"
Code = dict[str, dict[str, int]]
"""By the function that is called, the bytes of all that it links."""
Graph = dict[str, tuple[int, frozenset[str]]]
"""Bytes of each section by its name, and the sections that it refers to."""


def main() -> None:
    where = cmsis_checkout()
    files = [path for path in sorted((where / SOURCE).rglob("*.c")) if not FLOATS.search(path.stem)]
    write(cmsis_nn, {core: measured(cmsis_nn, core, files, [where / INCLUDE]) for core in CORES})
    where = esp_checkout()
    folders = [Path(folder) for folder in includes(where)]
    generic = measured(esp_nn, ESP_CORE, sources(where), folders)
    editions = {str(each): estimated(where, each, generic) for each in Edition if each.vectors}
    write(esp_nn, {str(Edition.GENERIC): generic, **editions})


def measured(backend: ModuleType, core: str, files: Sequence[Path], folders: Sequence[Path]) -> Code:
    """Bytes of the sections that each function links which generated C calls."""
    header = own(backend) / "c" / backend.HEADER
    wrappers = WRAPPER.findall(header.read_text(encoding="utf-8"))
    called = [name for name in (*wrappers, *OTHERS[backend]) if not ONCE.search(name)]
    with tempfile.TemporaryDirectory() as folder:
        stub = Path(folder) / f"{STUB}.c"
        uses = "".join(f"const void *const use_{name} = (const void *){name};\n" for name in called)
        stub.write_text(f'#include "{header.name}"\n{uses}', encoding="utf-8")
        target = targets.load(core)
        compiler = find_compiler(target, "gcc")
        include = [f"-I{path}" for path in (header.parent, *folders)]
        objects = []
        for number, source in enumerate((stub, *files)):
            objects.append(Path(folder) / f"{number}.o")
            flags = [*compiler.command, *target_flags(target, compiler), *FLAGS, *include]
            subprocess.run([*flags, "-c", str(source), "-o", str(objects[-1])], check=True)
        graph = dict(each for made in objects for each in sections(made))
    return {name: reached(graph, f"use_{name}") for name in called}


def sections(path: Path) -> Iterator[tuple[str, tuple[int, frozenset[str]]]]:
    """The sections of an object with code or constants, by the name of what is in them."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        kept = {
            number: re.sub(r"^\.(text|rodata|data\.rel\.ro(\.local)?|srodata|data)\.", "", section.name)
            for number, section in enumerate(elf.iter_sections())
            if section["sh_flags"] & 2 and section["sh_size"] and "." in section.name[1:]
        }
        refers: dict[int, set[str]] = {number: set() for number in kept}
        for section in elf.iter_sections():
            if isinstance(section, RelocationSection) and section["sh_info"] in kept:
                symbols = elf.get_section(section["sh_link"])
                assert isinstance(symbols, SymbolTableSection)
                for relocation in section.iter_relocations():
                    symbol = symbols.get_symbol(relocation["r_info_sym"])
                    at = symbol["st_shndx"]
                    refers[section["sh_info"]].add(symbol.name if at == "SHN_UNDEF" else kept.get(at, ""))
        for number, name in kept.items():
            if not name.startswith("."):
                yield name, (elf.get_section(number)["sh_size"], frozenset(refers[number]))


def reached(graph: Graph, root: str) -> dict[str, int]:
    """The bytes of all that a pointer leads to, without the pointer."""
    left, seen = list(graph[root][1]), {}
    while left:
        name = left.pop()
        if name in graph and name not in seen:
            seen[name], more = graph[name]
            left += more
    return dict(sorted(seen.items()))


def estimated(where: Path, edition: Edition, generic: Code) -> Code:
    """About the bytes of an edition whose instructions no compiler here knows: of the call, and of each file."""
    table: Code = {}
    for name, code in generic.items():
        function = FILES.get(name) or re.sub(r"^esp_nn_(layer_)?|(_elementwise|_channel)?_s8$", "", name)
        files = sorted(where.glob(f"src/*/esp_nn_{function}_*{edition}.[cS]"))
        table[name] = {path.name: file_bytes(path) for path in files} if files else code
        table[name] |= {name: code[name]} if name in code else {}
    return table


def file_bytes(path: Path) -> int:
    """About the bytes that a file of C or assembly compiles to."""
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    if path.suffix == ".S":
        return INSTRUCTION * len(STATEMENT.findall(text))
    return round(CHARACTER * len(re.sub(r"\s", "", text)))


def write(backend: ModuleType, table: Mapping[str, Code]) -> None:
    """The table as JSON, a function in a line."""
    cores = [
        f'"{core}": {{\n' + ",\n".join(f' "{name}": {json.dumps(code)}' for name, code in of.items()) + "\n}"
        for core, of in table.items()
    ]
    (own(backend) / CODE).write_text("{" + ",\n".join(cores) + "}\n", encoding="utf-8")


def own(backend: ModuleType) -> Path:
    return Path(str(backend.__file__)).parent


if __name__ == "__main__":
    main()
