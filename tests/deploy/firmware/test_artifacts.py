"""Libraries and firmware: built for parts, run on emulated boards, and equal to the reference in what they print."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from mote.base.errors import BudgetError, MoteError
from mote.base.files import fill
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.programs.example import EXAMPLE
from mote.compiler.line import compile
from mote.deploy.firmware.artifacts import artifacts
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.hardware.toolchain import find_compiler
from mote.ui.cli import main
from tests.helpers.part_emulators import qemu_lines, unicorn_lines
from tests.helpers.support import needs, soaked

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"
KEYWORDS = DIGITS.with_name("keywords.tflite")
PARTS = [
    name
    for name in targets.names()
    if (part := targets.load(name)).memories and part.unicorn_cpu and part.arch == "arm" and not part.boot.refused
]
MEMORY = """
[[memory]]
name = "{0}"
kind = "{1}"
size = "{2}"
origin = {3}
"""
BOARDS = {
    "netduinoplus2": ("stm32f446", "", ("-serial", "null", "-serial", "stdio")),
    "microbit": (
        "cortex-m0plus",
        MEMORY.format("flash", "flash", "256K", 0)
        + MEMORY.format("sram", "ram", "16K", 0x20000000)
        + '[serial]\nkind = "nrf"\nbase = 0x40002000\nsetup = [[0x40002500, "=", 4], [0x40002008, "=", 1]]\n',
        ("-serial", "stdio"),
    ),
    "stm32vldiscovery": (
        "cortex-m3",
        MEMORY.format("flash", "flash", "128K", 0x08000000)
        + MEMORY.format("sram", "ram", "8K", 0x20000000)
        + '[serial]\nkind = "stm32f4"\nbase = 0x40013800\nsetup = [[0x4001380C, "=", 0x2008]]\n',
        ("-serial", "stdio"),
    ),
    "mps2-an385": (
        "cortex-m3",
        MEMORY.format("flash", "flash", "1M", 0)
        + MEMORY.format("fast", "ram", 600, 0x20000000)
        + MEMORY.format("slow", "ram", "64K", 0x20010000)
        + 'wait = 1\n[serial]\nkind = "cmsdk"\nbase = 0x40004000\nsetup = [[0x40004008, "=", 1]]\n',
        ("-serial", "stdio"),
    ),
    "virt": (
        "rv32imc",
        MEMORY.format("flash", "flash", "1M", 0x80000000)
        + MEMORY.format("sram", "ram", "64K", 0x80100000)
        + '[serial]\nkind = "ns16550"\nbase = 0x10000000\n',
        ("-bios", "none", "-serial", "stdio"),
    ),
}
"""QEMU's machines: the part or core, its memories, and the machine's options."""
SEMIHOSTING = ("-serial", "none", "-semihosting-config", "enable=on,target=native")


def built(compiled: Compiled, folder: Path, *kinds: str, program: str | None = None) -> Path:
    """The folder of a firmware's binaries."""
    try:
        find_compiler(compiled.settings.target)
    except MoteError as error:
        pytest.skip(str(error))
    own = None if program is None else {EXAMPLE: program}
    fill(folder, artifacts(compiled.project, [compiled.plan], compiled.settings, kinds, own).files)
    return folder


def wanted(compiled: Compiled) -> list[str]:
    """The lines of the example, by the reference."""
    lines = list(compiled.package.example.lines)
    assert any("class" in line for line in lines)
    return lines


def custom(folder: Path, core: str, rest: str) -> Target:
    (folder / "board.toml").write_text(f'extends = "{core}"\n{rest}')
    return targets.load(str(folder / "board.toml"))


@pytest.mark.parametrize("name", soaked(PARTS, ("rp2350",)))
def test_a_part_prints_the_references_classes(name: str, tmp_path: Path) -> None:
    compiled = compile(DIGITS, target=name)
    image = built(compiled, tmp_path / "out", "hex") / "digits.hex"
    assert unicorn_lines(compiled.settings.target, image, len(wanted(compiled))) == wanted(compiled)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("machine", soaked(BOARDS, ("netduinoplus2", "virt")))
def test_a_board_of_qemu_prints_the_references_classes(machine: str, tmp_path: Path) -> None:
    core, rest, options = BOARDS[machine]
    target = custom(tmp_path, core, rest) if rest else targets.load(core)
    compiled = compile(DIGITS, target=target)
    elf = built(compiled, tmp_path / "out", "elf") / "digits.elf"
    command = (target.core.qemu, "-M", machine, *options, "-kernel", str(elf))
    assert qemu_lines(command, len(wanted(compiled))) == wanted(compiled)


@pytest.mark.parametrize("kind", soaked(("gcc", "zig"), ("gcc",)))
def test_a_map_says_what_is_linked(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in any folder; printf, which brings the printing of reals, only where the program calls it."""
    target = targets.load("rp2040")
    try:
        compiler = find_compiler(target, kind)
    except MoteError as error:
        pytest.skip(str(error))
    monkeypatch.setattr("mote.deploy.firmware.artifacts.find_compiler", lambda _: compiler)
    compiled = compile(DIGITS, target=target)
    own = '#include <stdio.h>\nint main(void) { printf("%d\\n", 7); return 0; }\n'
    folders = [built(compiled, tmp_path / name, "elf") for name in "ab"]
    folders.append(built(compiled, tmp_path / "c", "elf", program=own))
    plain, again, printing = ((folder / "digits.map").read_text() for folder in folders)
    assert plain == again and "digits_run" in plain and "mote_boot" in plain
    assert not [line for line in plain.splitlines() if re.search(r"(?<![\w.)])/\w", line)]
    for folder, calls in zip(folders, (False, False, True), strict=True):
        with (folder / "digits.elf").open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            names = {symbol.name for symbol in table.iter_symbols()}
        assert ("printf" in names) == calls and ("digits_run" in names) != calls
    assert "printf" in printing


RECEIVERS = {
    "microbit": "*(volatile unsigned *)0x40002000 = 1;",
    "stm32vldiscovery": "*(volatile unsigned *)0x4001380C = 0x200C;",
    "mps2-an385": "*(volatile unsigned *)0x40004008 = 3;",
    "virt": "",
}
"""QEMU's machines, and how their UARTs begin to receive."""


@pytest.mark.slow
@pytest.mark.parametrize("machine", RECEIVERS)
def test_a_program_of_several_files_reads_characters(machine: str, tmp_path: Path) -> None:
    """`examples/mlperf_tiny` does the same in `make test`."""
    core, rest, options = BOARDS[machine]
    target = custom(tmp_path, core, rest)
    compiled = compile(DIGITS, target=target)
    own = {
        "own/read.h": "int next(void);\n",
        "own/read.c": '#include "firmware.h"\n#include "read.h"\n'
        "int next(void) { int c; do { c = mote_read(); } while (c < 0); return c; }\n",
        "own/main.c": '#include <stdio.h>\n#include "read.h"\n'
        f'int main(void) {{ {RECEIVERS[machine]} puts("ready"); for (;;) putchar(next() + 1); }}\n',
    }
    fill(tmp_path, artifacts(compiled.project, [compiled.plan], compiled.settings, ["elf"], own).files)
    command = (target.core.qemu, "-M", machine, *options, "-kernel", str(tmp_path / "digits.elf"))
    assert qemu_lines(command, 2, typed=b"HAL\x09") == ["ready", "IBM"]


@pytest.mark.parametrize("core", soaked(("cortex-m4", "cortex-m0plus", "cortex-m7", "cortex-m33", "cortex-m55"), ()))
@pytest.mark.parametrize("model", (DIGITS, KEYWORDS), ids=lambda p: p.stem)
def test_a_core_prints_on_its_emulated_board(model: Path, core: str, tmp_path: Path) -> None:
    compiled = compile(model, target=core)
    elf = built(compiled, tmp_path / "out", "elf") / f"{model.stem}.elf"
    target = compiled.settings.target
    command = (target.core.qemu, "-M", str(target.qemu_machine), *SEMIHOSTING, "-kernel", str(elf))
    assert qemu_lines(command, len(wanted(compiled))) == wanted(compiled)


@pytest.mark.slow
def test_initial_values_and_code_in_ram_are_copied(tmp_path: Path) -> None:
    """With a `main` of the user's, on a part whose code in RAM has a memory of its own."""
    compiled = compile(DIGITS, target="stm32f746", place_code="ram")
    text = compiled.project.files["example/main.c"]
    own = '#include <stdio.h>\nstatic const char *volatile word = "initial";\nstatic volatile int cleared;\n'
    own += text.replace("return example();", 'printf("%s %d %g\\n", word, cleared, 0.1); return example();')
    image = built(compiled, tmp_path / "out", "hex", program=own) / "digits.hex"
    lines = ["initial 0 0.1", *wanted(compiled)]
    assert unicorn_lines(compiled.settings.target, image, len(lines)) == lines


@pytest.mark.slow
def test_semihosting_without_a_debugger_goes_on(tmp_path: Path) -> None:
    """QEMU without semihosting: the breakpoint is a HardFault, after which the program prints to a UART."""
    compiled = compile(DIGITS, target="cortex-m3")
    own = '#include <stdio.h>\nint main(void) { puts("nobody"); *(volatile unsigned *)0x40004008 = 1;'
    own += " *(volatile unsigned *)0x40004000 = '!'; *(volatile unsigned *)0x40004000 = '\\n'; return 0; }"
    elf = built(compiled, tmp_path / "out", "elf", program=own) / "digits.elf"
    command = ("qemu-system-arm", "-M", "mps2-an385", "-serial", "stdio", "-kernel", str(elf))
    assert qemu_lines(command, 1) == ["!"]


RP2040JS = """
import { Simulator } from '%s';
import { readFileSync } from 'node:fs';
const simulator = new Simulator(), mcu = simulator.rp2040, data = readFileSync(process.argv[2]);
for (let at = 0; at < data.length; at += 512) {
  const payload = data.subarray(at + 32, at + 32 + data.readUInt32LE(at + 16));
  mcu.flash.set(payload, data.readUInt32LE(at + 12) - 0x10000000);
}
let text = '';
mcu.uart[0].onByte = (byte) => { text += String.fromCharCode(byte); };
mcu.core.PC = 0x10000000;
for (let i = 0; i < 4e7 && text.split('\\n').length <= Number(process.argv[3]); i++) {
  simulator.clock.tick(mcu.core.executeInstruction() * 83);
}
process.stdout.write(text);
"""


@pytest.mark.slow
def test_a_pico_runs_the_uf2_file(tmp_path: Path) -> None:
    """In npm's rp2040js, from the boot stage on: MOTE_RP2040JS names its folder."""
    needs("node")
    module = Path(os.environ.get("MOTE_RP2040JS", "")) / "dist" / "esm" / "index.js"
    if not module.is_file():
        pytest.skip("MOTE_RP2040JS names no folder of npm's rp2040js")
    compiled = compile(DIGITS, target="rp2040")
    image = built(compiled, tmp_path / "out", "uf2") / "digits.uf2"
    (tmp_path / "run.mjs").write_text(RP2040JS % module.resolve())
    lines = wanted(compiled)
    command = ["node", "run.mjs", str(image), str(len(lines))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.splitlines() == lines


def test_a_library_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("cc")
    folder = tmp_path / "out"
    assert main(["compile", str(DIGITS), "--output", "lib", "-o", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["built"]["files"] == ["libdigits.a"]
    command = ["cc", "-I.", "example/main.c", "-L.", "-ldigits", "-o", "example/linked"]
    subprocess.run(command, cwd=folder, check=True)
    lines = subprocess.run([folder / "example/linked"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == wanted(compile(DIGITS))


@pytest.mark.slow
def test_the_command_builds_every_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("arm-none-eabi-gcc")
    folder = tmp_path / "elf"
    command = ["compile", str(DIGITS), "-t", "rp2040", "--output", "elf,bin", "--output", "hex,uf2", "-o", str(folder)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "built digits.elf, digits.bin, digits.hex, digits.uf2" in said
    assert "of 2,097,152 bytes" in said and "stack: at most" in said and "UART0" in said
    first = (folder / "digits.uf2").read_bytes()
    (folder / "example/main.c").write_text('#include <stdio.h>\nint main(void) { puts("mine"); return 0; }\n')
    assert main(command) == 0  # what was built before is Mote's, and is replaced
    assert (folder / "digits.uf2").read_bytes() != first
    assert b"mine" in (folder / "digits.bin").read_bytes() and "mine" in (folder / "example/main.c").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--output", "elf"], "no folder was given"),
        (["--output", "elf,exe", "-o", "x"], "'exe' is none of"),
        (["--output", "elf", "-o", "x"], "this computer runs programs"),
        (["--output", "elf", "-o", "x", "-t", "esp32c3"], "--package esp-idf"),
        (["--output", "hex", "-o", "x", "-t", "stm32n657"], "--output lib"),
        (["--output", "uf2", "-o", "x", "-t", "stm32f446"], "no UF2 boot loader"),
        (["--output", "elf", "-o", "x", "-t", "rp2040", "--package", "make"], "omit --package"),
    ],
)
def test_what_cannot_be_built_is_refused(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compile", str(DIGITS), *arguments]) in (1, 2)
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_may_be_called_as_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compile", str(DIGITS), "-o", "elf"]) == main(["compile", str(DIGITS), "--output", "./hex"]) == 0
    assert (tmp_path / "elf/digits.c").is_file() and (tmp_path / "hex/digits.c").is_file()


@pytest.mark.parametrize(
    ("flash", "ram", "says"),
    [("8K", "64K", "bytes of flash, .* more than its 8,192"), ("64K", 900, "the stack needs")],
)
def test_what_does_not_fit_is_refused(flash: str, ram: int | str, says: str, tmp_path: Path) -> None:
    rest = MEMORY.format("flash", "flash", flash, 0) + MEMORY.format("sram", "ram", ram, 0x20000000)
    compiled = compile(DIGITS, target=custom(tmp_path, "cortex-m3", MEMORY.format("flash", "flash", "1M", 0)))
    target = custom(tmp_path, "cortex-m3", rest)
    object.__setattr__(compiled.settings, "target", target)
    with pytest.raises(BudgetError, match=says):
        built(compiled, tmp_path / "out", "elf")


def test_memories_that_are_not_ready_are_refused(tmp_path: Path) -> None:
    rest = MEMORY.format("flash", "flash", "18K", 0) + MEMORY.format("qspi", "flash", "1M", 0x90000000)
    rest += "wait = 1\n" + MEMORY.format("sram", "ram", "64K", 0x20000000)
    target = custom(tmp_path, "cortex-m3", rest + '[firmware]\nunready = { qspi = "no controller" }\n')
    compiled = compile(DIGITS, target=target)
    with pytest.raises(MoteError, match=r"lie in qspi, .*: no controller"):
        built(compiled, tmp_path / "out", "elf")


def test_without_a_compiler_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile(DIGITS, target="cortex-m4")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("mote.hardware.toolchain.compilers.zig_command", lambda: None)
    with pytest.raises(MoteError, match="no C compiler") as refused:
        artifacts(compiled.project, [compiled.plan], compiled.settings, ("elf",))
    assert "gcc-arm-none-eabi" in refused.value.remedy and "ziglang" in refused.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", "rv32imc", "rp2040"])
def test_zig_builds_the_same(core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    compiled = compile(DIGITS, target=core)
    target = compiled.settings.target
    monkeypatch.setattr("mote.deploy.firmware.artifacts.find_compiler", lambda t: find_compiler(t, "zig"))
    folder = built(compiled, tmp_path / "out", "elf", "hex", "lib")
    lines = wanted(compiled)
    if target.memories:
        assert unicorn_lines(target, folder / "digits.hex", len(lines)) == lines
        return
    command = (target.core.qemu, "-M", str(target.qemu_machine), *target.core.qemu_options, *SEMIHOSTING)
    assert qemu_lines((*command, "-kernel", str(folder / "digits.elf")), len(lines)) == lines
