"""ESP-IDF components: the manifest by Espressif's component manager, the example on RV32IMC and in a user's ESP-IDF."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.compiler.package.description import metadata
from mote.compiler.package.libraries import esp_idf
from mote.deploy.runtime import runtime
from mote.ui.cli import main
from tests.compiler.package.ecosystems import DIGITS, STRICT, python_tool, run
from tests.helpers.support import needs

RV32 = ("riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs", "--oslib=semihost")
PLACES = {"__flash": "0x80000000", "__flash_size": "0x400000", "__ram": "0x80400000", "__ram_size": "0x100000"}
"""Memory of QEMU's board `virt`, by the names of picolibc's linker script."""
SEMIHOSTING = ("-chardev", "stdio,id=console", "-semihosting-config", "enable=on,chardev=console")
SPIRAM = """\
config SPIRAM
    bool "External RAM"
    default y

config SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY
    bool "Zeroed memory in it"
    depends on SPIRAM
"""
"""The options of ESP-IDF's component `esp_psram` that components with memory in PSRAM refer to."""
QEMU = ("qemu-system-riscv32", "-M", "virt", "-bios", "none", "-display", "none", *SEMIHOSTING, "-kernel")


def test_the_component_manager_packs_the_component(tmp_path: Path) -> None:
    compote = python_tool("compote")
    given = metadata(["author=Ada", "email=ada@example.org", "url=https://example.org/digits", "version=2.0.1"])
    package = compile(DIGITS, single_file=True, target="esp32c3").package.described(given)
    for path, text in esp_idf.files(package).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(text))
    run(compote, "component", "pack", "--name", "digits", "--dest-dir", tmp_path / "dist", cwd=tmp_path)
    with tarfile.open(tmp_path / "dist" / "digits_2.0.1.tgz") as archive:
        packed = {name.removeprefix("./") for name in archive.getnames()}
    assert packed >= {"CMakeLists.txt", "Kconfig", "idf_component.yml", "src/digits.c", "src/digits.h"}
    assert "examples/digits/main/main.c" in packed


@pytest.mark.parametrize("what", ["model", pytest.param("runtime", marks=pytest.mark.slow)])
def test_the_example_prints_the_classes_on_rv32imc(what: str, tmp_path: Path) -> None:
    """An ESP32-C3's instructions, with the flags of the component's CMakeLists.txt, in QEMU."""
    needs(RV32[0], QEMU[0])
    made = (
        compile(DIGITS, single_file=True, target="esp32c3") if what == "model" else runtime([DIGITS], target="esp32c3")
    )
    made.write(tmp_path, ["esp-idf"])
    component = (tmp_path / "CMakeLists.txt").read_text()
    sources = re.findall(r'"(src/\w+\.c)"', component)
    assert set(sources) == {f"src/{path.name}" for path in (tmp_path / "src").glob("*.c")}
    flags = re.findall(r"PRIVATE (-.+)\)", component)
    (tmp_path / "start.c").write_text("void app_main(void);\nint main(void) { app_main(); return 0; }\n")
    program = tmp_path / "examples" / made.package.name / "main"
    places = [f"-Wl,--defsym={name}={value}" for name, value in PLACES.items()]
    files = [*sources, program / "main.c", "start.c", "-Isrc", f"-I{program}"]
    run(*RV32, "--crt0=hosted", *STRICT, *" ".join(flags).split(), *places, *files, "-o", "example.elf", cwd=tmp_path)
    assert run(*QEMU, "example.elf", cwd=tmp_path).splitlines() == list(made.package.example.lines)


def test_memory_in_psram_is_asked_for(tmp_path: Path) -> None:
    inside = compile(DIGITS, single_file=True, target="esp32s3").package
    split = compile(DIGITS, single_file=True, target="esp32s3", ram="sram=128,psram=2M").package
    assert not esp_idf.uses_psram(inside) and esp_idf.uses_psram(split)
    without, files = esp_idf.files(inside), esp_idf.files(split)
    option = "SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY"
    assert f"select {option}" in str(files["Kconfig"]) and option not in str(without["Kconfig"])
    assert f"NOT CONFIG_{option}" in str(files["CMakeLists.txt"]) and option not in str(without["CMakeLists.txt"])
    for component, wanted in ((files, "y"), (without, "n")):
        (tmp_path / "Kconfig").write_text(f"{SPIRAM}\n{component['Kconfig']}")
        kconfiglib = pytest.importorskip("kconfiglib")
        config = kconfiglib.Kconfig(str(tmp_path / "Kconfig"), warn_to_stderr=False)
        assert config.syms[option].str_value == wanted and config.syms["DIGITS_OPTIMIZE"].str_value == "y"
        assert config.warnings == []
    settings = "examples/digits/sdkconfig.defaults"
    assert "CONFIG_SPIRAM=y" in str(files[settings]) and "SPIRAM" not in str(without[settings])


def test_other_cores_are_refused() -> None:
    package = compile(DIGITS, single_file=True, target="cortex-m4").package
    with pytest.raises(MoteError, match="no part that ESP-IDF builds for"):
        esp_idf.files(package)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["model", "service", "runtime"])
@pytest.mark.parametrize("target", ["linux", "esp32c3"])
def test_esp_idf_builds_the_example(what: str, target: str, tmp_path: Path) -> None:
    """With the user's own ESP-IDF; the smaller twin is the run on RV32IMC."""
    if "IDF_PATH" not in os.environ:
        pytest.skip("IDF_PATH is not set")
    idf = shutil.which("idf.py") or str(Path(os.environ["IDF_PATH"]) / "tools" / "idf.py")
    if target == "esp32c3":
        needs("riscv32-esp-elf-gcc")
    name, folder = ("mote_runtime" if what == "runtime" else "digits"), tmp_path / "any_name"
    options = {
        "model": ["compile", str(DIGITS)],
        "service": ["compile", str(DIGITS), "--adapter", "freertos"],
        "runtime": ["runtime", "--kernels", str(DIGITS)],
    }
    assert main([*options[what], "--target", "esp32c3", "--package", "esp-idf", "-o", str(folder)]) == 0
    project = folder / "examples" / name
    run("python", idf, "-C", project, "--preview", "set-target", target, "build", cwd=tmp_path)
    if target == "linux":
        program = project / "build" / f"{name}_example.elf"
        done = subprocess.run(["timeout", "5", program], capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("digits ")]
        assert lines == list(compile(DIGITS).package.example.lines)
