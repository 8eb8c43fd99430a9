"""Every constant of a model in the linked file is covered by `NAME_check`, or is listed in the header with a reason."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.model import weights
from mote.compiler.emit.c.model.checks import Checked, function_tables
from mote.compiler.firmware import firmware
from mote.compiler.kernels import library
from mote.compiler.line import compile
from mote.hardware.toolchain import Mode
from tests.compiler.emit.c.test_project import DIGITS, KEYWORDS
from tests.compiler.emit.c.test_training import classifier
from tests.compiler.emit.c.test_training import compiled as training
from tests.compiler.emit.c.test_weights import learners
from tests.compiler.kernels.pack.test_coding import network
from tests.compiler.plan.test_several_memories import board
from tests.helpers.network import FLOAT, Net
from tests.helpers.streams import sliding
from tests.helpers.support import emulated

CONSTANTS = re.compile(r"\.(text|rodata|data|memory_\w+)")
"""The sections of constants in the harness's linked files; in .text they are those of an AVR, and functions."""
MADE_BY_COMPILER = re.compile(r"CSWTCH\.\d+")


@dataclass(frozen=True)
class Constant:
    """A named object in flash."""

    name: str
    source: str
    """The file of C that defines it; empty where it is visible to all."""
    begin: int
    end: int


class Linked:
    """A linked file, opened."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.elf = ELFFile(file)
            self.sections = {i: s for i, s in enumerate(self.elf.iter_sections()) if s["sh_flags"] & 2}
            self.data = {i: s.data() for i, s in self.sections.items() if s["sh_type"] != "SHT_NOBITS"}
            self.constants = list(self._constants())
        self.pointer = {"EM_AVR": "H"}.get(self.elf["e_machine"], "I")

    def _constants(self) -> Iterator[Constant]:
        source = ""
        for symbol in self.elf.get_section_by_name(".symtab").iter_symbols():
            kind, number = symbol["st_info"]["type"], symbol["st_shndx"]
            if kind == "STT_FILE":
                source = symbol.name
            if kind == "STT_OBJECT" and number in self.data and CONSTANTS.fullmatch(self.sections[number].name):
                own = source if symbol["st_info"]["bind"] == "STB_LOCAL" else ""
                begin = symbol["st_value"]
                yield Constant(symbol.name, own, begin, begin + symbol["st_size"])

    def rows(self, table: str, form: str) -> Iterator[tuple[int, ...]]:
        """The entries of a table of the check."""
        for constant in self.constants:
            if constant.name == table:
                (i,) = (i for i, s in self.sections.items() if 0 <= constant.begin - s["sh_addr"] < s["sh_size"])
                at = constant.begin - self.sections[i]["sh_addr"]
                yield from struct.iter_unpack("<" + form, self.data[i][at : at + constant.end - constant.begin])

    def covered(self, name: str) -> list[tuple[int, int]]:
        """Where the bytes begin and end that the check of a model looks at."""
        p = self.pointer
        rows = [row for width in (8, 16, 32, 64) for row in self.rows(f"{name}_checked_{width}", f"{p}{p}I")]
        rows += self.rows(f"{name}_checked_addresses", 3 * p)
        return [(begin, end) for begin, end, _ in rows]


def exporting(compiled: Compiled, glue: str) -> str:
    """Glue to the harness that calls what a model that learns has more."""
    run = "int harness_run(void) {"
    assert glue.count(run) == 1
    if not weights.learned(compiled.plan):
        return glue
    name = compiled.project.options.name
    record = f"static uint8_t record[{name.upper()}_WEIGHTS_BYTES];"
    return glue.replace(run, f"{run} {record} if ({name}_export_weights(record, sizeof record) != MOTE_OK) return 99;")


def uncovered(compiled: Compiled, folder: Path) -> dict[str, int]:
    """Bytes of the model's constants that its check does not look at, but for its own tables, by name."""
    name = compiled.project.options.name
    made = firmware(compiled)
    linked = Linked(
        bench(replace(made, glue=lambda mode: exporting(compiled, made.glue(mode))), folder).elf(Mode.MEASURE)
    )
    covered = linked.covered(name)
    assert covered
    found = {}
    for c in linked.constants:
        if c.source != f"{name}.c" or c.name.startswith(f"{name}_checked_") or MADE_BY_COMPILER.fullmatch(c.name):
            continue
        bytes_ = set(range(c.begin, c.end)).difference(*(range(begin, end) for begin, end in covered))
        if bytes_:
            found[re.sub(r"\.\d+$", "", c.name)] = len(bytes_)
    return found


def small(kind: str) -> bytes:
    """A table, and float32."""
    net = Net(1, kind)
    x = net.conv(net.input(1, 6, 6, 3), 4, 3)
    x = net.op("LOGISTIC", [x], net.shapes[x], (1 / 256, -128) if kind == "int8" else FLOAT)
    return net.finish(net.fully_connected(net.flat(x), 3))


def memories(core: str, folder: Path) -> Compiled:
    return compile(DIGITS, target=board(folder, flash="20K"), check_flash=True)


def encrypted(core: str, folder: Path) -> Compiled:
    (folder / "weights.key").write_text("000102030405060708090a0b0c0d0e0f\n")
    return compile(DIGITS, target=core, check_flash=True, encrypt=str(folder / "weights.key"))


MODELS: dict[str, tuple[str, Callable[[str, Path], Compiled]]] = {
    "softmax": ("cortex-m4", lambda core, _: compile(DIGITS, target=core, check_flash=True)),
    "jump tables": ("rv32imc", lambda core, _: compile(KEYWORDS, target=core, check_flash=True)),
    "no multiplier": ("cortex-m0", lambda core, _: compile(DIGITS, target=core, check_flash=True)),
    "vectors": ("cortex-m55", lambda core, _: compile(DIGITS, target=core, check_flash=True)),
    "flash apart": ("atmega2560", lambda core, _: compile(DIGITS, target=core, check_flash=True)),
    "tables": ("cortex-m4", lambda core, _: compile(small("int8"), target=core, check_flash=True)),
    "float32": ("rv32imc", lambda core, _: compile(small("float32"), target=core, check_flash=True)),
    "rows": ("cortex-m4", lambda core, _: compile(DIGITS, target=core, check_flash=True, least_ram=True)),
    "stream": ("cortex-m4", lambda core, _: compile(sliding(1, 2, 3, 4), target=core, check_flash=True)),
    "nibbles": (
        "cortex-m4",
        lambda core, _: compile(network("small"), target=core, optimize="size", check_flash=True),
    ),
    "sparse": (
        "cortex-m4",
        lambda core, _: compile(network("sparse"), target=core, optimize="size", check_flash=True),
    ),
    "learners": ("cortex-m4", lambda core, _: learners(target=core, check_flash=True)),
    "gradients": (
        "cortex-m4",
        lambda core, _: training(classifier(), "net", "last", core, check_flash=True),
    ),
    "memories": ("cortex-m7", memories),
    "encrypted": ("cortex-m4", encrypted),
}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("model", MODELS)
def test_every_constant_is_checked_or_listed(model: str, tmp_path: Path) -> None:
    core, make = MODELS[model]
    compiled = make(emulated(core), tmp_path)
    header = compiled.project.files[f"{compiled.project.options.name}.h"]
    listed = re.findall(r"\b(\w+) in mote_\w+\.h", " ".join(header.split("Not covered:")[1].split("*/")[0].split()))
    assert {"of_nibble"} <= set(listed)
    assert set(uncovered(compiled, tmp_path)) <= set(listed)


def test_what_is_not_checked_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "checked", lambda plan, options: Checked([], {}))
    missed = uncovered(learners(target=emulated("cortex-m4"), check_flash=True), tmp_path)
    assert missed.pop("net_learned") == 20 * 9 and set(missed) <= {"of_nibble"}


def test_constants_in_functions_are_found_in_what_is_written() -> None:
    files = ("mote_joined.h", "mote_pow.h", "mote_depthwise_two_s8.h", "mote_conv_fours_s16.h", "mote_crc.h")
    assert function_tables({file: library.header(file) for file in files}) == (
        "slot in mote_joined.h",
        "slot_of_words in mote_joined.h",
        "scale in mote_pow.h",
        "log_scale in mote_pow.h",
        "terms in mote_pow.h",
        "terms in mote_pow.h",
        "order in mote_depthwise_two_s8.h",
        "p in mote_conv_fours_s16.h",
        "of_nibble in mote_crc.h",
    )
