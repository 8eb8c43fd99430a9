"""`mote flash`: the commands that the tools get, with fake tools that record them, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from mote.bench.doctor import doctor
from mote.deploy.firmware import flash
from mote.deploy.firmware.flash import FLASH_TOOLS, RECORD, firmware_part
from mote.hardware import targets
from mote.ui.cli import main
from tests.helpers.support import needs

NEWER = {"target/nrf53.cfg", "target/rp2350.cfg"}
"""Files that OpenOCD 0.12 does not have yet."""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH, the only one, with a fake of every tool that records its arguments; no drive is mounted."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in FLASH_TOOLS.values():
        for name in tool.programs:
            (folder / name).write_text(
                f'#!/bin/sh\n{{ echo {name}; pwd; printf "%s\\n" "$@"; }} > "{tmp_path}/record"\n'
            )
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(flash, "drives", list)
    return folder


def firmware(folder: Path, part: str, *kinds: str, origin: int | None = None) -> Path:
    """A folder as `mote compile --output` leaves it."""
    target = targets.load(part)
    (folder / "firmware").mkdir(parents=True)
    memory = target.code_memory
    start = origin if origin is not None else memory.origin if memory else None
    (folder / RECORD).write_text(firmware_part(target, start).record())
    for kind in kinds:
        (folder / f"net.{kind}").write_bytes(b"firmware")
    return folder


def ran(tmp_path: Path) -> list[str]:
    """The program that ran, without its folder, and its arguments; files are relative."""
    name, _, *words = (tmp_path / "record").read_text().splitlines()
    return [name, *(word.replace(f"{tmp_path}/", "") for word in words)]


@pytest.mark.parametrize(
    ("part", "kinds", "options", "wanted"),
    [
        ("stm32f446", ["elf", "bin"], [], "pyocd flash -W -t stm32f446retx out/net.elf"),
        ("stm32f446", ["bin"], ["--port", "0667"], "pyocd flash -W -t stm32f446retx -u 0667 -a 0x8000000 out/net.bin"),
        (
            "stm32f446",
            ["elf"],
            ["--tool", "openocd"],
            "openocd|-f|interface/stlink.cfg|-f|target/stm32f4x.cfg|-c|program {out/net.elf} verify reset exit",
        ),
        (
            "nrf52840",
            ["bin"],
            ["--tool", "openocd", "--probe", "cmsis-dap", "--port", "123"],
            "openocd|-f|interface/cmsis-dap.cfg|-c|adapter serial {123}|-f|target/nrf52.cfg|-c|"
            "program {out/net.bin} verify reset exit 0x0",
        ),
        ("stm32f446", ["bin"], ["--tool", "dfu-util"], "dfu-util -a 0 -s 0x8000000:leave -D out/net.bin"),
        (
            "stm32l4r5",
            ["bin"],
            ["--tool", "probe-rs", "--port", "0483:374b:1"],
            "probe-rs download --chip STM32L4R5ZITx --probe 0483:374b:1 --binary-format bin --base-address 0x8000000"
            " out/net.bin",
        ),
        ("rp2040", ["uf2", "elf"], [], "picotool load -v -x out/net.uf2"),
        ("rp2350", ["bin"], ["--tool", "picotool"], "picotool load -v -x out/net.bin -o 0x10000000"),
    ],
)
def test_the_command_of_a_tool(
    part: str, kinds: list[str], options: list[str], wanted: str, tools: Path, tmp_path: Path
) -> None:
    folder = firmware(tmp_path / "out", part, *kinds)
    assert main(["flash", str(folder), "--yes", *options]) == 0
    assert ran(tmp_path) == wanted.split("|" if "|" in wanted else " ")


def test_a_raw_binary_goes_where_it_was_linked(tools: Path, tmp_path: Path) -> None:
    folder = firmware(tmp_path / "out", "stm32f407", "bin", origin=0x08010000)
    assert main(["flash", str(folder / "net.bin"), "--yes", "--tool", "dfu-util"]) == 0
    assert "0x8010000:leave" in ran(tmp_path)


def test_a_uf2_file_says_its_part_and_is_copied(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drive, other = tmp_path / "RPI-RP2", tmp_path / "OTHER"
    for place in (drive, other):
        place.mkdir()
        (place / "INFO_UF2.TXT").write_text("UF2 Bootloader\n")
    monkeypatch.setattr(flash, "drives", lambda: [other, drive])
    block = bytearray(512)
    block[:4], block[28:32] = b"UF2\n", (0xE48BFF56).to_bytes(4, "little")
    (tmp_path / "net.uf2").write_bytes(block)
    assert main(["flash", str(tmp_path / "net.uf2"), "--yes"]) == 0
    assert (drive / "net.uf2").read_bytes() == block and not (other / "net.uf2").exists()
    assert "for rp2040 with drive" in capsys.readouterr().out
    assert main(["flash", str(tmp_path / "net.uf2"), "--yes", "--port", str(other)]) == 0
    assert (other / "net.uf2").read_bytes() == block
    assert main(["flash", str(tmp_path / "net.uf2"), "--yes", "--target", "samd51"]) == 1
    assert "is for the family 0xe48bff56, not for samd51" in capsys.readouterr().err


def test_packages_are_written_by_their_ecosystems(tools: Path, tmp_path: Path) -> None:
    project = tmp_path / "idf"
    (project / "build").mkdir(parents=True)
    (project / "build/flash_args").write_text("0x10000 app.bin\n")
    assert main(["flash", str(project), "-t", "esp32c3", "--port", "/dev/ttyUSB0", "--yes"]) == 0
    assert ran(tmp_path) == ["esptool", "--chip", "esp32c3", "--port", "/dev/ttyUSB0", "write-flash", "@flash_args"]
    assert (tmp_path / "record").read_text().splitlines()[1] == str(project / "build")
    (tools / "esptool").unlink()
    assert main(["flash", str(project), "-t", "esp32c3", "--yes"]) == 0
    assert ran(tmp_path) == ["esptool.py", "--chip", "esp32c3", "write_flash", "@flash_args"]
    library = tmp_path / "library"
    (library / "examples/net").mkdir(parents=True)
    (library / "library.properties").write_text("name=net\n")
    (library / "examples/net/net.ino").write_text("")
    assert main(["flash", str(library), "-t", "arduino:avr:mega", "--port", "/dev/ttyACM0", "--yes"]) == 0
    words = "arduino-cli compile --upload --fqbn arduino:avr:mega --port /dev/ttyACM0 --library library"
    assert ran(tmp_path) == [*words.split(), "library/examples/net"]


def test_nothing_runs_unasked(tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = firmware(tmp_path / "a b", "stm32f446", "elf")
    assert main(["flash", str(folder), "--dry-run"]) == 0
    assert "pyocd flash -W -t stm32f446retx '" in capsys.readouterr().out  # as a shell takes it
    assert main(["flash", str(folder)]) == 1
    assert "add --yes" in capsys.readouterr().err
    assert not (tmp_path / "record").exists()


def test_a_tool_that_fails_is_said(tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tools / "pyocd").write_text("#!/bin/sh\nexit 3\n")
    assert main(["flash", str(firmware(tmp_path / "out", "stm32f446", "elf")), "--yes"]) == 1
    assert "pyocd ended with status 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "there is no such file or folder"),
        (["empty"], "has no firmware"),
        (["net.txt"], "is none of elf, hex, bin, uf2"),
        (["out", "--tool", "jlinkexe"], "'jlinkexe' is not known"),
        (["out", "--target", "rp2040"], "was built for stm32u575, not for rp2040"),
        (["out", "--tool", "picotool"], "use another tool: pyocd, openocd"),
        (["out", "--tool", "drive"], "takes .uf2 files"),
        (["out", "--probe", "../../evil"], "is no name of a probe"),
        (["alone.elf"], "name the part with --target"),
        (["alone.elf", "-t", "ra8m1"], "has no name for ra8m1: state 'pyocd' in [flash]"),
        (["damaged"], "firmware.json: is damaged"),
        (["evil"], "'openocd' must be a file target/NAME.cfg"),
        (["library"], "name the board and its port"),
    ],
)
def test_what_cannot_be_written_is_refused(
    arguments: list[str],
    says: str,
    tools: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    firmware(tmp_path / "out", "stm32u575", "elf")
    firmware(tmp_path / "damaged", "stm32u575", "elf").joinpath(RECORD).write_text('{"target": 1}')
    evil = firmware(tmp_path / "evil", "stm32u575", "elf") / RECORD
    evil.write_text(evil.read_text().replace("target/stm32u5x.cfg", "/tmp/evil.cfg"))
    for name in ("empty", "library/examples/net"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("net.txt", "alone.elf", "library/library.properties", "library/examples/net/net.ino"):
        (tmp_path / name).write_text("")
    assert main(["flash", *arguments, "--yes"]) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "record").exists()


def test_without_a_tool_the_remedies_are_named(tools: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(tools)
    assert main(["flash", str(firmware(tmp_path / "out", "stm32f446", "elf", "bin")), "--yes"]) == 1
    said = capsys.readouterr().err
    assert "pyocd: is not installed (pip install pyocd)" in said and "apt install openocd" in said
    assert "dfu-util: is not installed" in said and "mote doctor" in said


def test_the_doctor_finds_flash_tools(tools: Path) -> None:
    findings = {finding.name: finding for finding in doctor("flash").tools if finding.name in FLASH_TOOLS}
    assert findings.keys() == FLASH_TOOLS.keys()
    assert findings["openocd"].found and str(tools) in findings["openocd"].detail
    assert not findings["drive"].found


def test_firmware_records_its_part(tmp_path: Path) -> None:
    folder = firmware(tmp_path / "out", "rp2040", "uf2")
    assert json.loads((folder / RECORD).read_text())["flashing"]["picotool"] is True
    job = flash.flash_job(str(folder))
    assert job.part == firmware_part(targets.load("rp2040"), 0x10000000)


def test_openocd_has_the_files_of_parts() -> None:
    needs("openocd")
    scripts = Path("/usr/share/openocd/scripts")
    if not scripts.is_dir():
        pytest.skip("OpenOCD's scripts are elsewhere")
    flashing = [targets.load(name).flashing for name in targets.names()]
    files = {f.openocd for f in flashing if f.openocd} | {f"interface/{f.probe}.cfg" for f in flashing if f.probe}
    assert not {file for file in files - NEWER if not (scripts / file).is_file()}


def test_openocd_takes_its_command(tmp_path: Path) -> None:
    """By OpenOCD's own parser, with `program` as a procedure that only says what it was given."""
    needs("openocd")
    folder = firmware(tmp_path / "a b", "nrf52840", "bin")
    _, command = flash.flash_command(flash.flash_job(str(folder)), "openocd")
    spoken = [
        "openocd",
        "-c",
        "proc program {args} {foreach word $args {echo $word}; shutdown}",
        *command.arguments[-2:],
    ]
    done = subprocess.run(spoken, capture_output=True, text=True, timeout=60)
    words = done.stderr.splitlines()
    at = words.index(str(folder / "net.bin"))
    assert words[at + 1 : at + 5] == ["verify", "reset", "exit", "0x0"]
