"""Projects of agents: their files, Kconfig, settings and refusals, and ports compiled for cores."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.compiler.emit.image.manifest import parse_manifest
from mote.compiler.line import compile
from mote.compiler.package.make import WARNINGS
from mote.compiler.packer import pack
from mote.deploy.agent.packages.packagers import AGENT_PACKAGERS
from mote.deploy.agent.sources import model_id
from mote.deploy.agents import AgentProject, agent
from mote.deploy.firmware.flash import flash_job
from mote.ui.cli import main
from tests.compiler.package.ecosystems import DIGITS, run
from tests.deploy.agent.packages.test_agent_programs import API
from tests.helpers.support import needs

OWN = {
    "mote_agent.c", "mote_agent.h", "mote_agent_model.c", "mote_agent_settings.h", "mote_agent_trace.h",
    "mote_counter.h", "mote_frame.c", "mote_frame.h", "mote_part.c",
}  # fmt: skip
RTT = {"mote_rtt.c", "mote_rtt.h"}
FILES = {
    "zephyr": {
        *("CMakeLists.txt", "Kconfig", "prj.conf", "usb.conf", "usb.overlay", "rtt.conf", "mark.overlay"),
        *(f"src/{name}" for name in (*OWN, *RTT, "mote_port.c")),
    },
    "esp-idf": {
        *(
            "CMakeLists.txt",
            "sdkconfig.defaults",
            "main/CMakeLists.txt",
            "main/Kconfig.projbuild",
            "main/idf_component.yml",
        ),
        *("components/mote_agent/CMakeLists.txt", "main/mote_port.c", *(f"main/{name}" for name in RTT)),
        *(f"components/mote_agent/src/{name}" for name in OWN),
    },
    "arduino": {
        *("library.properties", "examples/mote_agent/mote_agent.ino"),
        *(f"src/{name}" for name in (*OWN, "mote_port.cpp", "mote_agent_arduino.h")),
    },
    "platformio": {
        *("platformio.ini", "src/main.cpp", "lib/mote_agent/library.json"),
        *(f"lib/mote_agent/src/{n}" for n in (*OWN, "mote_port.cpp", "mote_port_posix.c", "mote_agent_arduino.h")),
    },
    "cmake": {
        *("CMakeLists.txt", "posix/mote_port.c", "port/mote_port.c", *(f"port/{name}" for name in RTT)),
        *(f"src/{name}" for name in OWN),
    },
    "cmsis-pack": {
        *("Mote.mote_agent.pdsc", "examples/mote_agent/README.md", "examples/mote_agent/mote_port.c"),
        *("examples/mote_agent/mote_agent.csolution.yml", "examples/mote_agent/mote_agent.cproject.yml"),
        *(f"src/{name}" for name in OWN),
        *(f"examples/mote_agent/{name}" for name in RTT),
    },
}
"""Files of a project beside the model's, the licence and the page."""


@cache
def project(package: str, target: str = "host") -> AgentProject:
    return agent(DIGITS, package=package, target=target)


def written(files: dict[str, str | bytes], folder: Path) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_firmware_of_a_part_can_be_flashed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("arm-none-eabi-gcc")
    command = [
        "agent",
        str(DIGITS),
        "-t",
        "rp2040",
        "--package",
        "firmware",
        "--output",
        "uf2,bin",
        "-o",
        str(tmp_path),
    ]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (
        said["built"]["files"] == ["agent.uf2", "agent.bin", "agent.map"]
        and "GPIO1" in said["built"]["firmware"]["console"]
    )
    assert said["id"] == model_id(compile(DIGITS, target="rp2040").project.files).hex()
    job = flash_job(str(tmp_path))
    assert job.part is not None and job.part.target == "rp2040" and job.file("uf2") == tmp_path / "agent.uf2"
    assert bytes.fromhex(said["id"]) in (tmp_path / "agent.bin").read_bytes()


@pytest.mark.parametrize("package", AGENT_PACKAGERS)
def test_files_of_a_project(package: str) -> None:
    made = project(package)
    compiled = compile(DIGITS)
    own = {name for name in compiled.package.files if name.endswith((".c", ".h"))}
    beside = {path for path in made.files if Path(path).name not in own - OWN} - {"LICENSE", "README.md"}
    assert beside - {path for path in beside if Path(path).name.startswith("mote_compiler")} == FILES[package]
    assert made.edited <= set(made.files)
    line = "tcp" if package in ("cmake", "cmsis-pack") else "serial"
    assert f"mote board info {line}:" in str(made.files["README.md"])
    assert made.id == model_id(compiled.project.files).hex(), "the board has another model than the host compiles"


def test_settings_are_in_a_header() -> None:
    made = agent(DIGITS, target="stm32l4r5", frame=1024, scratch=2048, production="")
    text = str(made.files["src/mote_agent_settings.h"])
    assert "#define MOTE_AGENT_FRAME 1024u\n" in text and "#define MOTE_AGENT_STEPS 8u\n" in text
    assert "#define MOTE_PART_MEMORIES {0x08000000u, 0x200000u}, {0x20000000u, 0xa0000u}," in text
    assert '#define MOTE_PART_NAME "stm32l4r5"' in text and "#define MOTE_AGENT_SCRATCH_BYTES 2048u\n" in text
    header = str(made.files["src/mote_agent.h"])
    assert header.index("mote_agent_settings.h") < header.index("#ifndef MOTE_AGENT_RUNS")


@pytest.mark.parametrize(("production", "runs", "loads"), [("run", 1, 0), ("identify", 0, 0)])
def test_production_leaves_out_what_changes_the_device(production: str, runs: int, loads: int) -> None:
    text = str(agent(DIGITS, production=production).files["src/mote_agent_settings.h"])
    assert f"#define MOTE_AGENT_RUNS {runs}\n" in text and f"#define MOTE_AGENT_LOADS {loads}\n" in text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"package": "zephir"}, "no packager 'zephir'"),
        ({"frame": 100}, "100 bytes"),
        ({"production": "run", "scratch": 1024}, "neither images nor code"),
        ({"production": "nothing"}, "no kind of production"),
        ({"package": "esp-idf", "target": "cortex-m4"}, "no part that ESP-IDF"),
        ({"package": "esp-idf", "target": "esp32c3", "scratch": 1024}, "cannot be written to RAM"),
        ({"package": "cmsis-pack", "target": "rv32imc"}, "Cortex-M"),
        ({"package": "firmware", "target": "esp32c3"}, "boot loader"),
        ({"package": "firmware", "target": "stm32u575"}, "no serial port"),
        ({"package": "firmware", "target": "host"}, "runs programs"),
        ({"package": "zephyr", "binaries": ("elf",)}, "built by its ecosystem"),
        ({"image_ram": 1024}, "are for images"),
        ({"runtime": "minimal"}, "a model that is compiled in, or images"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        agent(DIGITS, **options)  # type: ignore[arg-type]


def test_the_memory_of_images_is_that_of_models_or_stated() -> None:
    made = agent(runtime=[DIGITS], image_ram=20_000, arena=100, target="cortex-m4", package="zephyr")
    image = pack(DIGITS, target="cortex-m4", runtime=parse_manifest(json.loads(str(made.files["manifest.json"])), ""))
    assert made.room is not None and made.room.image == 20_000 and made.options.image == 20_000
    assert made.room.arenas == image.header["arena"] and f"arena_0[{image.header['arena'][0] // 8}]" in str(
        made.files["src/mote_agent_settings.c"]
    )
    with pytest.raises(MoteError, match="how much memory"):
        agent(runtime="minimal", target="cortex-m4")
    with pytest.raises(MoteError, match="for production"):
        agent(runtime=[DIGITS], production="run")


def test_encrypted_constants_are_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(bytes(range(16)))
    with pytest.raises(MoteError, match="encrypted"):
        agent(DIGITS, encrypt=str(tmp_path / "key"))


def test_kconfig_of_zephyr_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kconfiglib = pytest.importorskip("kconfiglib")
    written(project("zephyr").files, tmp_path)
    symbols = "".join(f'config {name}\n\tbool "{name}"\n' for name in ("SERIAL", "UART_INTERRUPT_DRIVEN"))
    (tmp_path / "Kconfig.zephyr").write_text(symbols)
    monkeypatch.setenv("srctree", str(tmp_path))
    config = kconfiglib.Kconfig("Kconfig", warn_to_stderr=False)
    assert config.syms["MOTE_AGENT_UART"].str_value == config.syms["SERIAL"].str_value == "y"
    config.load_config(str(tmp_path / "rtt.conf"))
    assert config.syms["MOTE_AGENT_RTT"].str_value == "y" and config.syms["MOTE_AGENT_UART"].str_value == "n"
    assert not config.warnings


def test_kconfig_of_esp_idf_is_understood(tmp_path: Path) -> None:
    kconfiglib = pytest.importorskip("kconfiglib")
    made = project("esp-idf", "esp32c3")
    known = "config SOC_USB_SERIAL_JTAG_SUPPORTED\n    bool\n    default y\n"
    (tmp_path / "Kconfig").write_text(known + str(made.files["main/Kconfig.projbuild"]))
    config = kconfiglib.Kconfig(str(tmp_path / "Kconfig"), warn_to_stderr=False)
    lines = str(made.files["sdkconfig.defaults"])
    (tmp_path / "own").write_text("".join(f"{x}\n" for x in lines.splitlines() if "MOTE" in x))
    config.load_config(str(tmp_path / "own"))
    assert config.syms["MOTE_AGENT_USB"].str_value == "y" and config.syms["MOTE_AGENT_MARK_GPIO"].str_value == "-1"
    assert not config.warnings and 'CONFIG_IDF_TARGET="esp32c3"' in lines


def test_the_pack_lists_files_that_it_has() -> None:
    files = project("cmsis-pack", "cortex-m33").files
    root = ElementTree.fromstring(str(files["Mote.mote_agent.pdsc"]))
    listed = {file.attrib["name"] for file in root.iterfind("components/component/files/file")}
    assert {"src/mote_agent.c", "src/digits.c", "src/mote_agent.h"} <= listed <= set(files)
    folder = "examples/mote_agent"
    yaml = pytest.importorskip("yaml")
    described = yaml.safe_load(str(files[f"{folder}/mote_agent.cproject.yml"]))["project"]
    assert all(f"{folder}/{file['file']}" in files for group in described["groups"] for file in group["files"])


PORTS = {
    "uart": ("-DCONFIG_UART_INTERRUPT_DRIVEN", "-DWITH_MARK", "-DCONFIG_THREAD_STACK_INFO"),
    "rtt": ("-DCONFIG_MOTE_AGENT_RTT",),
}


@pytest.mark.parametrize("line", PORTS)
def test_the_lines_of_zephyr_compile(line: str, tmp_path: Path) -> None:
    needs("cc")
    written(project("zephyr").files, tmp_path)
    include = (f"-I{API}/zephyr", f"-I{API}/common", "-Isrc")
    flags = ("-std=gnu99", *WARNINGS.split(), "-Werror", "-fsyntax-only")
    run("cc", *flags, *PORTS[line], *include, "src/mote_port.c", cwd=tmp_path)


@pytest.mark.parametrize("line", ["USB", "RTT"])
def test_the_lines_of_esp_idf_compile(line: str, tmp_path: Path) -> None:
    needs("cc")
    written(project("esp-idf").files, tmp_path)
    include = (f"-I{API}/esp-idf", f"-I{API}/common", "-Icomponents/mote_agent/src", "-Imain")
    flags = ("-std=gnu99", *WARNINGS.split(), "-Werror", "-fsyntax-only", "-DCONFIG_MOTE_AGENT_MARK_GPIO=3")
    run("cc", *flags, f"-DCONFIG_MOTE_AGENT_{line}", *include, "main/mote_port.c", cwd=tmp_path)


@pytest.mark.parametrize(
    ("target", "compiler"),
    [
        pytest.param(
            *("cortex-m0plus", ("arm-none-eabi-gcc", "-mcpu=cortex-m0plus", "-mthumb")), marks=pytest.mark.slow
        ),
        ("cortex-m33", ("arm-none-eabi-gcc", "-mcpu=cortex-m33", "-mthumb")),
        ("rv32imc", ("riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs")),
    ],
)
def test_the_template_of_a_port_compiles_for_cores(target: str, compiler: tuple[str, ...], tmp_path: Path) -> None:
    """With the line over a debug probe, the agent's own files and the settings of the target."""
    needs(compiler[0])
    written(project("cmake", target).files, tmp_path)
    sources = ("port/mote_port.c", "port/mote_rtt.c", "src/mote_part.c", "src/mote_agent.c", "src/mote_agent_model.c")
    flags = ("-std=c99", "-Os", *WARNINGS.split(), "-Werror", "-DMOTE_PORT_RTT", "-Isrc", "-Iport")
    run(*compiler, *flags, "-c", *sources, cwd=tmp_path)


def test_the_command_writes_a_project_and_keeps_what_was_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["agent", str(DIGITS), "-t", "cortex-m4", "--package", "zephyr", "-o", str(tmp_path / "app")]
    assert main([*command, "--production", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["runs"] and not said["loads"] and said["package"] == "zephyr" and said["overwritten"] == []
    assert set(said["files"]) <= {str(p.relative_to(tmp_path / "app")) for p in (tmp_path / "app").rglob("*")}
    (tmp_path / "app" / "prj.conf").write_text("CONFIG_FPU=y\n")
    assert main(command) == 0
    assert (tmp_path / "app" / "prj.conf").read_text() == "CONFIG_FPU=y\n"
    assert "agent with digits for cortex-m4" in capsys.readouterr().out
