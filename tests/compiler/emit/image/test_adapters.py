"""Adapters for operating systems: built and really run on small ones of pthreads (`rtos/`), which have the documented
functions of CMSIS-RTOS2, FreeRTOS and Zephyr: their sources are in no registry that a test could take them from."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mote import Interpreter
from mote.base.errors import MoteError
from mote.compiler.kernels import library
from mote.compiler.package.adapters import NAMES, adapter_files, adapters_files
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Mode
from mote.ui.cli import main
from tests.deploy import ed25519_reference as reference
from tests.helpers.network import Net
from tests.helpers.support import emulated, needs

HERE = Path(__file__).parent
RTOS = HERE / "rtos"
SOURCE = HERE.parents[3] / "src" / "mote"
UPDATE = SOURCE / "deploy" / "update"
RUNTIME = [SOURCE / "compiler" / "emit" / "image" / "runtime", *library.FOLDERS, *library.FITS]
SYSTEMS = ("cmsis-rtos2", "freertos", "zephyr")
STRICT = [
    "-std=c99",
    "-D_POSIX_C_SOURCE=200809L",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-pedantic",
    "-Werror",
    "-g1",
]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
THREADS = ["-fsanitize=thread"]
RACES = "race:is_stopping\nrace:fake_\n"
"""A byte that is read without a lock on purpose, and the test's own."""


def written(name: str, folder: Path) -> list[Path]:
    """The files of an adapter in a folder; its C files."""
    for path, text in adapter_files(name).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return sorted(folder.glob("*.c"))


def build(folder: Path, sources: list[Path], *flags: str, compiler: str = "cc") -> Path:
    program = folder / "program"
    include = [f"-I{folder}", *(f"-I{path}" for path in RUNTIME), "-isystem", str(RTOS)]
    command = [compiler, *STRICT, *flags, *include, *map(str, sources), "-lpthread", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def passes(program: Path, **environment: str) -> None:
    done = subprocess.run(
        [program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False
    )
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr


TEST = [RTOS / "service_test.c", RTOS / "fake_runtime.c"]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_model_in_a_thread(name: str, tmp_path: Path) -> None:
    needs("cc")
    passes(build(tmp_path, [*written(name, tmp_path), *TEST, RTOS / "test_threads.c"], *SANITIZE))


def test_threads_do_not_race(tmp_path: Path) -> None:
    needs("clang")
    sources = [*written("cmsis-rtos2", tmp_path), *TEST, RTOS / "test_threads.c"]
    program = build(tmp_path, sources, *THREADS, compiler="clang")
    (tmp_path / "races").write_text(RACES)
    passes(program, TSAN_OPTIONS=f"suppressions={tmp_path / 'races'}")


def test_an_operating_system_without_memory(tmp_path: Path) -> None:
    """However many of its objects can be made, the start fails in words, and none is used."""
    needs("cc")
    source = tmp_path / "few.c"
    source.write_text(FEW)
    sources = [*written("cmsis-rtos2", tmp_path / "."), RTOS / "fake_runtime.c"]
    passes(build(tmp_path, [*(s for s in sources if s != source), source], *SANITIZE), ASAN_OPTIONS="detect_leaks=0")


FEW = r"""
#include <stdio.h>
#include "mote_service.h"
#include "test_threads.h"
int objects_left;
void test_sleep(int milliseconds) { (void)milliseconds; }
static mote_service_t services[10];
int main(void) {
    static const uint8_t image[2] = {0, 0};
    static uint64_t arena[1];
    for (int i = 0; i < 10; i++) { /* six semaphores, a mutex, a queue, a thread */
        const mote_service_config_t config = {NULL, image, 2, {{arena}, {8}, NULL, 0}, osPriorityBelowNormal};
        mote_problem_t problem = {"", "", 0};
        objects_left = i;
        const mote_status status = mote_service_start(&services[i], &config, &problem);
        if (status != (i < 9 ? MOTE_NOT_READY : MOTE_OK)) return 1;
        if (i < 9 && problem.what[0] == 0) return 2;
    }
    puts("passed");
    return 0;
}
"""


def test_a_model_without_an_operating_system(tmp_path: Path) -> None:
    needs("cc")
    source = tmp_path / "main.c"
    source.write_text(BARE)
    written("bare-metal", tmp_path)
    sources = [source, tmp_path / "mote_model.c", RTOS / "fake_runtime.c"]
    passes(build(tmp_path, sources, "-DMOTE_ARENA_BYTES=100", *SANITIZE))


BARE = r"""
#include <stdio.h>
#include <string.h>
#include "mote_model.h"
#include "test_threads.h"
void test_sleep(int milliseconds) { (void)milliseconds; }
#define EXPECT(what) if (!(what)) return __LINE__
int main(void) {
    static const uint8_t whole[2] = {0, 3}, pushed[2] = {1, 3}, damaged[2] = {2, 0}, refused[2] = {3, 0};
    uint8_t in[8] = {1, 2, 3, 4, 5, 6, 7, 250}, out[8] = {0};
    mote_problem_t problem = {"", "", 0};
    EXPECT(mote_model_run(in, 8, out, 8) == MOTE_NOT_READY);
    EXPECT(mote_model_begin(NULL, damaged, 2, &problem) == MOTE_DAMAGED && strcmp(problem.what, "damaged") == 0);
    EXPECT(mote_model_begin(NULL, damaged, 2, NULL) == MOTE_DAMAGED);
    EXPECT(mote_model_begin(NULL, whole, 2, &problem) == MOTE_OK);
    EXPECT(mote_model_run(in, 8, out, 8) == MOTE_OK && out[0] == 4 && out[7] == 253);
    EXPECT(mote_model_run(in, 7, out, 8) == MOTE_UNSUPPORTED && mote_model_run(in, 8, out, 9) == MOTE_UNSUPPORTED);
    EXPECT(mote_model_begin(NULL, pushed, 2, &problem) == MOTE_OK);
    EXPECT(mote_model_run(in, 8, out, 8) == MOTE_UNSUPPORTED);
    EXPECT(mote_model_begin(NULL, refused, 2, &problem) == MOTE_NO_KERNEL && problem.op == 7);
    EXPECT(mote_model_run(in, 8, out, 8) == MOTE_NOT_READY);
    EXPECT(mote_model_begin(NULL, whole, 2, &problem) == MOTE_OK);
    EXPECT(mote_model_begin(NULL, damaged, 2, &problem) == MOTE_DAMAGED); /* the one before is gone as well */
    EXPECT(mote_model_run(in, 8, out, 8) == MOTE_NOT_READY);
    puts("passed");
    return 0;
}
"""


def test_psa_crypto_as_the_verifier(tmp_path: Path) -> None:
    """A key that is handed over, a key that was provisioned, and all that a library may say."""
    needs("cc")
    key = reference.encoded(reference.times(77, reference.BASE))
    signature = reference.signed(77, (0, 1), 123456789, key, b"image")
    arrays = "".join(
        f"static const uint8_t {name}[] = {{{', '.join(map(str, data))}}};\n"
        for name, data in (("key", key), ("signature", signature))
    )
    source = tmp_path / "main.c"
    source.write_text(PSA.replace("DATA\n", arrays))
    sources = [source, UPDATE / "mote_ed25519.c", UPDATE / "mote_sha512.c"]
    written("psa", tmp_path)
    passes(build(tmp_path, sources, f"-I{UPDATE}", *SANITIZE))


PSA = r"""
#include <stdio.h>
#include "mote_verify_psa.c"
DATA
#define EXPECT(what) if (!(what)) return __LINE__
int main(void) {
    const mote_message_t message = {(const uint8_t *)"image", NULL, NULL, 5};
    const mote_message_t other = {(const uint8_t *)"IMAGE", NULL, NULL, 5};
    const mote_message_t elsewhere = {NULL, NULL, NULL, 5};
    uint8_t none[32];
    psa_key_id_t provisioned = 9;
    memset(none, 0xff, 32);
    for (int i = 0; i < 2 * KEYS; i++) { /* keys are given back */
        EXPECT(mote_psa_verify(NULL, signature, key, &message) == MOTE_SIGNATURE_VALID);
        EXPECT(mote_psa_verify(NULL, signature, key, &other) == MOTE_SIGNATURE_WRONG);
    }
    EXPECT(mote_psa_verify(NULL, signature, none, &message) == MOTE_SIGNATURE_KEY);
    EXPECT(mote_psa_verify(NULL, signature, key, &elsewhere) == MOTE_SIGNATURE_UNABLE);
    EXPECT(mote_psa_verify(&provisioned, signature, key, &message) == MOTE_SIGNATURE_UNABLE);
    const psa_key_attributes_t attributes = {0x4142, 255, 0x800, PSA_ALG_PURE_EDDSA};
    EXPECT(psa_import_key(&attributes, key, 32, &provisioned) == PSA_SUCCESS);
    EXPECT(mote_psa_verify(&provisioned, signature, none, &message) == MOTE_SIGNATURE_VALID);
    EXPECT(psa_import_key(&attributes, key, 32, &provisioned) == PSA_SUCCESS);
    EXPECT(mote_psa_verify(NULL, signature, key, &message) == MOTE_SIGNATURE_UNABLE); /* no room for a key */
    puts("passed");
    return 0;
}
"""


def test_every_adapter_has_what_it_needs() -> None:
    assert set(NAMES) == {*SYSTEMS, "bare-metal", "psa"}
    for name in NAMES:
        assert ({"mote_service.h", "mote_port.h", "mote_port.c"} <= set(adapter_files(name))) == (name in SYSTEMS)
    assert set(adapter_files("bare-metal")) == {"mote_model.h", "mote_model.c"}
    with pytest.raises(MoteError, match="did you mean: zephyr"):
        adapter_files("zephir")
    with pytest.raises(MoteError, match="freertos and zephyr have files of the same names"):
        adapters_files(["zephyr", "psa", "freertos"])


def network() -> bytes:
    """A small model with weights, a sum and a choice."""
    net = Net()
    x = net.mean(net.depthwise(net.conv(net.input(1, 6, 6, 2), 4)))
    return net.finish(net.op("SOFTMAX", [net.fully_connected(x, 5)], quant=(1 / 256, -128), beta=1.0))


def said_to_python() -> tuple[bytes, bytes]:
    """An input of the model, and what it says to that."""
    model = Interpreter(network())
    model.allocate_tensors()
    given = np.random.default_rng(0).integers(-128, 128, model.get_input_details()[0]["shape"], dtype=np.int8)
    model.set_tensor(model.get_input_details()[0]["index"], given)
    model.invoke()
    return given.tobytes(), model.get_tensor(model.get_output_details()[0]["index"]).tobytes()


def real(folder: Path, core: str, *adapters: str) -> tuple[list[Path], bytes]:
    """The C files of a runtime with adapters, written by the command, and an image that is packed for it."""
    out, image, model = folder / "out", folder / "network.mote", folder / "network.tflite"
    model.write_bytes(network())
    options = [word for name in adapters for word in ("--adapter", name)]
    assert main(["runtime", "--kernels", str(model), "-t", core, "-o", str(out), *options]) == 0
    assert main(["pack", str(model), "--runtime", str(out), "-t", core, "-o", str(image)]) == 0
    return sorted(out.glob("mote_*.c")), image.read_bytes()


@pytest.mark.slow
def test_a_real_model_with_adapters(tmp_path: Path) -> None:
    """The model says the same in a thread and without one as it says to Python."""
    needs("cc")
    sources, image = real(tmp_path, "host", "bare-metal", "cmsis-rtos2")
    (tmp_path / "main.c").write_text(REAL)
    program = tmp_path / "program"
    flags = ["-O0", "-fwrapv", "-std=gnu99", *SANITIZE, f"-I{tmp_path / 'out'}", f"-I{RTOS}", "-DMOTE_ARENA_BYTES=4096"]
    command = ["cc", *flags, *map(str, sources), str(tmp_path / "main.c"), "-lpthread", "-o", str(program)]
    subprocess.run(command, check=True)
    given, want = said_to_python()
    file = tmp_path / "network.mote"
    done = subprocess.run([program, file], input=given, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, 2 * want), done.stderr
    file.write_bytes(image[:-9] + bytes([image[-9] ^ 1]) + image[-8:])
    assert subprocess.run([program, file], input=given, capture_output=True, check=False).returncode == 2


@pytest.mark.slow
def test_a_real_model_on_a_core_without_an_operating_system(tmp_path: Path) -> None:
    target = targets.load(emulated("cortex-m4"))
    sources, image = real(tmp_path, "cortex-m4", "bare-metal")
    given, want = said_to_python()
    program = tmp_path / "core.c"
    program.write_text(CORE)
    elf = toolchain.build(
        tmp_path / "out",
        [*sources, program],
        HERE.parents[1] / "kernels" / "program.c",
        target,
        toolchain.find_compiler(target),
        mode=Mode.DUMP,
        optimize="size",
        workdir=tmp_path,
        extra_flags=["-fwrapv", f"-DIMAGE={len(image)}", f"-DGIVEN={len(given)}", f"-DTAKEN={len(want)}"],
    )
    run = toolchain.execute(
        elf, target, toolchain.find_emulator(target), [[image + given]], workdir=tmp_path, mode=Mode.DUMP
    )
    assert run.dumps[0][0] == want


CORE = r"""
#include "harness.h"
#include "mote_kernels.h"
#include "mote_model.h"
int program(void);
uint8_t given[IMAGE + GIVEN] __attribute__((aligned(8)));
const uint32_t given_bytes = IMAGE + GIVEN, harness_step_count = 1;
int program(void) {
    static uint8_t out[TAKEN];
    given[IMAGE - 9] ^= 1;
    if (mote_model_begin(&mote_kernels, given, IMAGE, NULL) != MOTE_DAMAGED) return 1;
    given[IMAGE - 9] ^= 1;
    if (mote_model_begin(&mote_kernels, given, IMAGE, NULL) != MOTE_OK) return 2;
    if (mote_model_run(given + IMAGE, GIVEN, out, TAKEN) != MOTE_OK) return 3;
    mote_trace(0, out, TAKEN);
    return 0;
}
"""

REAL = r"""
#include <stdio.h>
#include "mote_kernels.h"
#include "mote_model.h"
#include "mote_service.h"
int objects_left = 64;
static union { uint64_t aligned; uint8_t bytes[1 << 16]; } image;
static uint8_t in[1 << 12], out[1 << 8];
int main(int count, char **arguments) {
    static mote_service_t service;
    static uint64_t arena[512];
    FILE *file = fopen(arguments[count - 1], "rb");
    const size_t bytes = fread(image.bytes, 1, sizeof image, file), given = fread(in, 1, sizeof in, stdin);
    const mote_service_config_t config = {
        &mote_kernels, image.bytes, bytes, {{arena}, {sizeof arena}, NULL, 0}, osPriorityBelowNormal};
    mote_problem_t problem;
    mote_tensor_t info;
    mote_status status;
    fclose(file);
    if (mote_model_begin(&mote_kernels, image.bytes, bytes, &problem) != MOTE_OK) return 2;
    if (mote_output_info(&mote_model, 0, &info) != MOTE_OK) return 3;
    if (mote_model_run(in, given, out, info.bytes) != MOTE_OK) return 4;
    fwrite(out, 1, info.bytes, stdout);
    memset(out, 0, sizeof out);
    const mote_given_t inputs[] = {{in, (uint32_t)given}};
    const mote_taken_t outputs[] = {{out, info.bytes}};
    const mote_request_t request = {inputs, outputs, 1, 1};
    if (mote_service_start(&service, &config, &problem) != MOTE_OK) return 5;
    if (mote_service_run(&service, &request, MOTE_FOREVER, &status) != MOTE_SERVED || status != MOTE_OK) return 6;
    if (mote_service_stop(&service, MOTE_FOREVER) != MOTE_SERVED) return 7;
    fwrite(out, 1, info.bytes, stdout);
    return 0;
}
"""
