"""Sources of samples: halves of a buffer between interrupt and main loop, adapters to drivers, recordings.

The adapters are built against declarations of our own (`api/`), written from the documentation of each system, and run
beside drivers that behave as documented; with the user's own SDK where its variable is set.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.measure.runner import bench
from mote.compiler.firmware import firmware
from mote.compiler.line import compile
from mote.compiler.package import zephyr
from mote.compiler.package.adapters.compiled_model import AdaptedModel, model_adapter_files
from mote.compiler.package.adapters.sources import (
    RECORDING,
    SOURCE_NAMES,
    Recording,
    read_recording,
    recording_files,
    source_files,
)
from mote.compiler.package.libraries import arduino, esp_idf, platformio
from mote.hardware.toolchain import Mode
from mote.ui.cli import main
from tests.compiler.emit.c.test_instances import small
from tests.compiler.emit.image.test_adapters import SANITIZE, STRICT, passes
from tests.helpers.support import emulated, needs

HERE = Path(__file__).parent
API = HERE / "api"
DRIVERS = {
    "zephyr-dmic": "zephyr_dmic_test.c",
    "zephyr-sensor": "zephyr_sensor_test.c",
    "zephyr-video": "zephyr_video_test.c",
    "cmsis-sai": "cmsis_sai_test.c",
    "esp-idf-i2s": "esp_i2s_test.c",
    "arduino-pdm": "arduino_pdm_test.cpp",
}
CPP = [flag.replace("-std=c99", "-std=c++11") for flag in STRICT]


def written(folder: Path, *names: str) -> list[str]:
    """The files of sources in a folder; its C and C++ files."""
    for name, text in source_files(names).items():
        (folder / name).write_text(text)
    return sorted(path.name for path in folder.glob("*.c*"))


def built(folder: Path, test: str, names: tuple[str, ...], *flags: str, cc: str = "cc") -> Path:
    """A program of sources and a test; C files are compiled as C, beside C++ where there is any."""
    needs(cc, "c++")
    sources = [folder / name for name in written(folder, *names)] + [HERE / test]
    include = ["-I.", f"-I{HERE}", "-isystem", str(API)]
    objects = []
    for source in sources:
        objects.append(f"{source.stem}.o")
        compiler = ["c++", *CPP] if source.suffix == ".cpp" else [cc, *STRICT]
        _run([*compiler, *flags, *include, "-c", str(source), "-o", objects[-1]], folder)
    _run(["c++" if cc == "cc" else cc, *flags, *objects, "-lpthread", "-o", "program"], folder)
    return folder / "program"


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_driver_has_a_test() -> None:
    assert set(DRIVERS) | {"dma", "memory"} == set(SOURCE_NAMES)


def test_halves_of_a_buffer(tmp_path: Path) -> None:
    passes(built(tmp_path, "half_buffers_test.c", ("dma", "memory"), *SANITIZE))


def test_a_writer_and_a_reader_do_not_race(tmp_path: Path) -> None:
    passes(built(tmp_path, "threads_test.c", ("dma",), "-fsanitize=thread", "-O1", cc="clang"))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver(name: str, tmp_path: Path) -> None:
    passes(built(tmp_path, DRIVERS[name], (name,), *SANITIZE))


def test_a_part_without_pdm(tmp_path: Path) -> None:
    passes(built(tmp_path, DRIVERS["esp-idf-i2s"], ("esp-idf-i2s",), "-DSOC_I2S_SUPPORTS_PDM_RX=0", *SANITIZE))


@pytest.mark.parametrize("name", SOURCE_NAMES)
def test_files_are_c_and_cpp(name: str, tmp_path: Path) -> None:
    """Sources are valid C++ too, and headers can be included by both; nothing depends on the width of int."""
    needs("c++")
    sources = written(tmp_path, name)
    headers = "".join(f'#include "{file}"\n' for file in sorted(source_files([name])) if file.endswith(".h"))
    (tmp_path / "headers.cpp").write_text(headers)
    include = ["-I.", "-isystem", str(API), "-fsyntax-only"]
    _run(["c++", *CPP, *include, "headers.cpp", *(s for s in sources if s.endswith(".cpp"))], tmp_path)
    _run(["c++", *CPP, *include, "-xc++", *(s for s in sources if s.endswith(".c"))], tmp_path)
    if name in ("dma", "memory") and shutil.which("avr-gcc"):
        _run(["avr-gcc", "-mmcu=atmega2560", "-Os", *STRICT, "-I.", "-c", *sources], tmp_path)


INTERRUPTED = r"""
#include "harness.h"
#include "mote_dma_source.h"
#define COUNT 32
#define BLOCKS 600
#define VTOR (*(volatile uint32_t *)0xE000ED08)
#define SYSTICK ((volatile uint32_t *)0xE000E010)
static uint32_t vectors[64] __attribute__((aligned(256)));
static int16_t memory[2 * COUNT];
static volatile int16_t passed;
static mote_dma_source_t microphone;
static int16_t unused;
static uint32_t result[3]; /* blocks that were read whole, blocks that were lost, blocks that were wrong */
/* What DMA does: block k is COUNT times k, one value after the other, and the next half is written over at once. */
static void dma(void) {
    const int16_t k = passed;
    for (int i = 0; i < COUNT; i++) memory[(k % 2) * COUNT + i] = k;
    mote_dma_source_passed(&microphone);
    for (int i = 0; i < COUNT; i++) memory[((k + 1) % 2) * COUNT + i] = -1;
    passed = (int16_t)(k + 1);
}
static int32_t begin(void *context, void *to, uint32_t bytes) {
    (void)context;
    (void)to;
    (void)bytes;
    for (int i = 0; i < 64; i++) vectors[i] = ((const uint32_t *)(uintptr_t)VTOR)[i];
    vectors[15] = (uint32_t)(uintptr_t)dma;
    VTOR = (uint32_t)(uintptr_t)vectors;
    SYSTICK[1] = 20000;
    SYSTICK[2] = 0;
    SYSTICK[0] = 7;
    return 0;
}
static int32_t end(void *context) {
    (void)context;
    SYSTICK[0] = 0;
    return 0;
}
static void pause_for(uint32_t rounds) { for (volatile uint32_t i = 0; i < rounds; i++) { } }
const uint32_t harness_input_count = 1, harness_output_count = 1, harness_step_count = WORKS;
void *harness_input(uint32_t i) { (void)i; return &unused; }
size_t harness_input_bytes(uint32_t i) { (void)i; return sizeof unused; }
const void *harness_output(uint32_t i) { (void)i; return result; }
size_t harness_output_bytes(uint32_t i) { (void)i; return sizeof result; }
int harness_init(void) { return 0; }
int harness_check(void) { return 0; }
int harness_run(void) {
    const mote_dma_source_config_t config = {memory, COUNT, 2, begin, end, NULL};
    mote_source_t *source = &microphone.source;
    uint32_t random = 1, whole = 0, wrong = 0;
    int held = 0, right = 0;
    mote_dma_source(&microphone, &config);
    if (mote_source_start(source) != MOTE_SOURCE_OK) return 1;
    while (passed < BLOCKS) {
        const uint32_t before = source->lost;
        const void *data;
        const int32_t n = mote_source_read(source, &data);
        if (held && source->lost == before) { /* nobody wrote over it, and none was skipped */
            whole++;
            wrong += !right;
        }
        held = right = n > 0;
        if (!held) continue;
        random = random * 1664525u + 1013904223u;
        pause_for(random >> 28 == 0 ? 8000 : random >> 23); /* now and then for several blocks */
        for (int i = 0; i < COUNT; i++)
            right = right && ((const volatile int16_t *)data)[i] == (int16_t)(whole + source->lost);
    }
    (void)mote_source_stop(source);
    result[0] = whole;
    result[1] = source->lost;
    result[2] = wrong;
    return 0;
}
"""


def test_interrupts_of_a_core(tmp_path: Path) -> None:
    """A timer's interrupt is the DMA, in the middle of what the reader does; at times the reader is too slow."""
    emulated("cortex-m4")
    compiled = compile(small(), name="net", target="cortex-m4")
    usual, files = firmware(compiled), source_files(["dma"])
    own = replace(
        usual,
        files={**usual.files, **files},
        sources=[*usual.sources, *(file for file in files if file.endswith(".c"))],
        glue=lambda mode: INTERRUPTED.replace("WORKS", str(len(compiled.plan.works))),
    )
    ((result,),) = bench(own, tmp_path).execute(Mode.MEASURE, [[bytes(2)]]).outputs
    whole, lost, wrong = struct.unpack("<3I", result)
    assert wrong == 0 and whole > 100 and lost > 10 and 590 <= whole + lost <= 601


def test_recordings_are_c(tmp_path: Path) -> None:
    needs("cc")
    samples = np.array([[0, -(2**15)], [1, 2**15 - 1], [-1, 300]], np.int16)
    path = tmp_path / "two*channels??.wav"
    path.write_bytes(wav(samples, 16000))
    for name, text in source_files([str(path)]).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "main.c").write_text(
        f'#include <stdio.h>\n#include "{RECORDING}.h"\nint main(void) {{\n'
        "    mote_memory_source_t file;\n    const void *data;\n    int32_t n;\n"
        f"    mote_memory_source(&file, &{RECORDING});\n    mote_source_start(&file.source);\n"
        "    while ((n = mote_source_read(&file.source, &data)) > 0)\n"
        '        for (int32_t i = 0; i < n; i++) printf("%d ", ((const int16_t *)data)[i]);\n'
        '    printf("%d %d %ld", MOTE_RECORDING_RATE, MOTE_RECORDING_CHANNELS, MOTE_RECORDING_COUNT);\n'
        "    return 0;\n}\n"
    )
    files = sorted(path.name for path in tmp_path.glob("*.c"))
    _run(["cc", *STRICT, *SANITIZE, "-I.", *files, "-o", "program"], tmp_path)
    printed = list(map(int, _run(["./program"], tmp_path).split()))
    assert printed == [*samples.reshape(-1).tolist(), 16000, 2, 6]
    _run(["c++", *CPP, "-fsyntax-only", "-xc++", *files], tmp_path)


def wav(samples: np.ndarray, rate: int) -> bytes:
    """A WAV file of 16-bit samples."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    head = struct.pack("<HHIIHH", 1, channels, rate, 2 * channels * rate, 2 * channels, 16)
    data = samples.astype("<i2").tobytes()
    chunks = b"fmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


@given(st.lists(st.integers(-(2**15), 2**15 - 1), min_size=1, max_size=200), st.sampled_from([8000, 16000, 44100]))
def test_wav_files_are_read_exactly(values: list[int], rate: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        samples = np.array(values, np.int16)
        patch.setattr("mote.compiler.package.adapters.sources.read_file", lambda path, most: wav(samples, rate))
        read = read_recording("words.wav")
    assert np.array_equal(read.values, samples) and read.values.dtype == np.int16
    assert (read.rate, read.channels, read.block) == (rate, 1, rate // 50)


def test_lines_of_a_camera(tmp_path: Path) -> None:
    path = tmp_path / "camera.raw"
    path.write_bytes(bytes(range(24)))
    read = read_recording(f"{path}:6")
    assert read.values.tolist() == list(range(24)) and (read.block, read.rate) == (6, 0)
    text = recording_files(Recording(read.values, 6))[f"{RECORDING}.c"]
    assert "static const uint8_t values[" in text and "{values, 24u, 6u, 1u}" in text


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("zephyr-dmik", "did you mean: zephyr-dmic"),
        ("missing.wav", "cannot read the file"),
        ("lines.raw:5", "no whole number of lines of 5"),
        ("lines.raw:0", "no whole number of lines of 0"),
        ("lines.raw", "there is no source"),
        ("text.wav", "is no whole WAV file"),
    ],
)
def test_what_is_no_source(name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines.raw").write_bytes(bytes(8))
    Path("text.wav").write_text("no sound")
    with pytest.raises(MoteError, match=told):
        source_files([name])


def test_one_recording_only(tmp_path: Path) -> None:
    with pytest.raises(MoteError, match="one recording"):
        source_files(["a.wav", "b.wav"])


def test_the_command_writes_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.tflite"
    model.write_bytes(small())
    options = ("--adapter", "zephyr", "--source", "zephyr-dmic", "--source", "zephyr-sensor")
    assert main(("compile", str(model), *options, "-o", str(tmp_path / "out"))) == 0
    assert "docs/deploy/sensors.md" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "out").iterdir()} >= set(source_files(["zephyr-dmic", "zephyr-sensor"]))
    assert main(("compile", str(model), "--source", "microphone", "-o", str(tmp_path / "none"))) == 1
    assert "use one of: dma" in capsys.readouterr().err and not (tmp_path / "none").exists()


def test_packages_compile_their_sources() -> None:
    compiled = compile(small(), name="net")
    service = model_adapter_files("zephyr", [AdaptedModel(compiled.plan, compiled.project.options, 700)])
    module = zephyr.files(compiled.package.with_files({**service, **source_files(["zephyr-dmic"])}))
    cmake = str(module["zephyr/CMakeLists.txt"])
    assert "zephyr_library_sources_ifdef(CONFIG_AUDIO_DMIC ${SOURCES}/mote_zephyr_dmic.c)" in cmake
    asked = cmake.split("if(CONFIG_MOTE_SERVICE)")[1].split("endif()")[0]
    assert "mote_half_buffers.c" in cmake and "mote_half_buffers.c" not in asked
    component = esp_idf.files(compiled.package.with_files(source_files(["esp-idf-i2s"])))
    assert "REQUIRES esp_driver_i2s" in str(component["CMakeLists.txt"])
    assert '"src/mote_esp_i2s.c"' in str(component["CMakeLists.txt"]) and "src/mote_esp_i2s.c" in component
    assert '">=5.3"' in str(component["idf_component.yml"])
    for ecosystem in (arduino, platformio):
        library = ecosystem.files(compiled.package.with_files(source_files(["arduino-pdm"])))
        assert {"src/mote_arduino_pdm.cpp", "src/mote_half_buffers.c", "src/mote_source.h"} <= set(library)


@pytest.mark.slow
def test_zephyr_builds_its_sources(tmp_path: Path) -> None:
    """A module with all three, in an application that has their drivers on."""
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE does not name a Zephyr tree")
    needs("cmake", "ninja")
    compiled = compile(small(), name="net", target="cortex-m3")
    names = [name for name in SOURCE_NAMES if name.startswith("zephyr")]
    package = compiled.package.with_files(source_files(names))
    for path, text in zephyr.files(package).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(text))
    app = tmp_path / "samples" / "net"
    with (app / "prj.conf").open("a") as file:
        file.write("CONFIG_AUDIO=y\nCONFIG_AUDIO_DMIC=y\nCONFIG_SENSOR=y\nCONFIG_VIDEO=y\n")
    modules = [f"-DZEPHYR_MODULES={os.environ['ZEPHYR_MODULES']}"] if "ZEPHYR_MODULES" in os.environ else []
    _run(["cmake", "-GNinja", "-S", str(app), "-B", "build", "-DBOARD=mps2/an385", *modules], tmp_path)
    _run(["cmake", "--build", "build"], tmp_path)
    made = {path.name for path in (tmp_path / "build").rglob("*.obj")}
    assert made >= {f"mote_{name.replace('-', '_')}.c.obj" for name in names}


@pytest.mark.slow
def test_esp_idf_builds_its_source(tmp_path: Path) -> None:
    if "IDF_PATH" not in os.environ:
        pytest.skip("IDF_PATH is not set")
    needs("riscv32-esp-elf-gcc")
    idf = shutil.which("idf.py") or str(Path(os.environ["IDF_PATH"]) / "tools" / "idf.py")
    (tmp_path / "net.tflite").write_bytes(small())
    options = ("--target", "esp32c3", "--package", "esp-idf", "--source", "esp-idf-i2s", "-o", str(tmp_path / "net"))
    assert main(("compile", str(tmp_path / "net.tflite"), *options)) == 0
    _run(["python", idf, "-C", str(tmp_path / "net/examples/net"), "set-target", "esp32c3", "build"], tmp_path)


def test_cmsis_compiles_its_source(tmp_path: Path) -> None:
    if "CMSIS_PATH" not in os.environ:
        pytest.skip("CMSIS_PATH does not name a CMSIS tree")
    needs("cc")
    sources = written(tmp_path, "cmsis-sai")
    headers = Path(os.environ["CMSIS_PATH"]) / "CMSIS" / "Driver" / "Include"
    _run(["cc", *STRICT, "-I.", "-isystem", str(headers), "-fsyntax-only", *sources], tmp_path)


@pytest.mark.slow
def test_arduino_builds_its_source(tmp_path: Path) -> None:
    """With the user's arduino-cli and the core of the board that ARDUINO_FQBN names (arduino:mbed_nano:nano33ble)."""
    if "ARDUINO_FQBN" not in os.environ:
        pytest.skip("ARDUINO_FQBN does not name a board with a PDM microphone")
    needs("arduino-cli")
    (tmp_path / "net.tflite").write_bytes(small())
    library = tmp_path / "net"
    options = ("--package", "arduino", "--source", "arduino-pdm", "-o", str(library))
    assert main(("compile", str(tmp_path / "net.tflite"), *options)) == 0
    sketch = tmp_path / "heard"
    sketch.mkdir()
    (sketch / "heard.ino").write_text(
        "#include <PDM.h>\n#include <net.h>\n#include <mote_arduino_pdm.h>\nstatic int16_t memory[640];\n"
        "static mote_arduino_pdm_t microphone;\nvoid setup() {\n"
        "  const mote_arduino_pdm_config_t config = {1, 16000, -1, memory, 320};\n"
        "  mote_arduino_pdm(&microphone, &config);\n  mote_source_start(&microphone.source);\n}\n"
        "void loop() {\n  const void *data;\n  mote_source_read(&microphone.source, &data);\n}\n"
    )
    board = os.environ["ARDUINO_FQBN"]
    _run(["arduino-cli", "compile", "-b", board, "--library", str(library), str(sketch)], tmp_path)
