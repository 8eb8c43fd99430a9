"""A model on two cores: two threads compute what the reference computes, and no sanitizer sees them meet."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mlperf_tiny
from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.packer import pack
from mote.compiler.plan.plan import SplitKernel
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, MODELS, compiler_or_skip, run
from tests.helpers.network import Net
from tests.helpers.support import HOST_DSP, soaked

TWO_THREADS = """
#include <pthread.h>
#include "NAME.h"
#define NAME_run() NAME_run_core(0)
#define main selftest_main
#include "selftest/selftest.c"
#undef main
enum { RUNS = sizeof NAME_patterns / sizeof NAME_patterns[0], AGAIN = 3 };
static void *core_1(void *nothing) {
    for (int i = 0; i < AGAIN * RUNS; i++) { (void)NAME_run_core(1); }
    return nothing;
}
int main(void) {
    pthread_t thread;
    int wrong = NAME_run_core(0) != MOTE_NOT_READY; /* and it does not wait for the other core */
    if (pthread_create(&thread, NULL, core_1, NULL) != 0) { return 2; }
    for (int i = 0; i < AGAIN; i++) { wrong |= selftest_main(); }
    return pthread_join(thread, NULL) != 0 || wrong;
}
"""
"""The self-test on two threads: its expected outputs are the reference's."""
OWN_BARRIER = """
#include <pthread.h>
#include <stdint.h>
void my_barrier(uint32_t core);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;
static uint32_t waiting, meeting;
void my_barrier(uint32_t core) {
    (void)core;
    pthread_mutex_lock(&lock);
    const uint32_t mine = meeting;
    if (++waiting == 2) { waiting = 0; meeting++; pthread_cond_broadcast(&met); }
    while (meeting == mine) { pthread_cond_wait(&met, &lock); }
    pthread_mutex_unlock(&lock);
}
"""
NO_BARRIER = "#include <stdint.h>\nvoid my_barrier(uint32_t core);\nvoid my_barrier(uint32_t core) { (void)core; }\n"
SANITIZERS = {"thread": ["-fsanitize=thread"], "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]}


def branches() -> bytes:
    """Two branches that meet: windows, element-wise layers in place, a pool, and layers with one row."""
    net = Net(3)
    x = net.input(1, 12, 10, 4)
    a = net.conv(x, 8)
    b = net.add(a, net.op("LOGISTIC", [net.depthwise(a)], quant=(1 / 256, -128)))
    c = net.concatenate(3, net.pool(b, kind="MAX_POOL_2D"), net.pool(b))
    return net.finish(net.fully_connected(net.mean(net.conv(c, 12, 1)), 24))


def built(compiled: Compiled, folder: Path, flags: list[str], barrier: str = "") -> subprocess.CompletedProcess[str]:
    """The self-test of a model on two threads, built with these flags and run."""
    name = compiled.name
    compiled.write(folder)
    (folder / "threads.c").write_text(TWO_THREADS.replace("NAME", name))
    (folder / "barrier.c").write_text(barrier)
    own = ["-DMOTE_BARRIER=my_barrier"] if barrier else []
    files = ["threads.c", f"{name}.c", *(["barrier.c"] if barrier else [])]
    run(["gcc", *FLAGS, "-O1", "-D_POSIX_C_SOURCE=200809L", *flags, *own, *files, "-o", "program", "-pthread"], folder)
    return subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, timeout=300)


def shared(compiled: Compiled) -> int:
    """Layers that are split."""
    return sum(isinstance(steps[0].kernel, SplitKernel) for _, steps in compiled.plan.works)


NETS: dict[str, Callable[[], Any]] = {
    "digits": lambda: DIGITS,
    "keywords": lambda: KEYWORDS,
    "digits_float": lambda: MODELS / "digits_float.tflite",
    "branches": branches,
    **{name: lambda name=name: mlperf_tiny.build(name) for name in ("kws", "ic", "vww", "ad", "sww")},
}
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dsp": {"target": HOST_DSP},
    "scalar": {"target": "rv32imc"},
    "least": {"least_ram": True},
    "stream": {"stream": 1},
    "one file": {"single_file": True, "caller_arena": True},
}
WINDOWS = [(net, form) for net in NETS for form in FORMS if (net == "sww") == (form == "stream")]
THREADS = [(net, form, sanitizer) for net, form in WINDOWS for sanitizer in SANITIZERS]
FEW = [("branches", "dsp", "thread"), ("branches", "one file", "address"), ("keywords", "scalar", "thread")]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("net", "form", "sanitizer"), soaked(THREADS, FEW))
def test_two_threads_compute_what_the_reference_computes(net: str, form: str, sanitizer: str, tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    compiled = compile(NETS[net](), cores=2, **FORMS[form])
    assert shared(compiled) or form == "least"
    if form == "scalar" and net in ("keywords", "kws"):
        assert "depthwise_planes" in {s.kernel.family for s in compiled.plan.steps if isinstance(s.kernel, SplitKernel)}
    done = built(compiled, tmp_path, SANITIZERS[sanitizer])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.slow
def test_the_firmware_may_bring_its_own_barrier(tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    compiled = compile(DIGITS, cores=2)
    done = built(compiled, tmp_path / "right", [], OWN_BARRIER)
    assert done.returncode == 0, done.stdout
    done = built(compiled, tmp_path / "none", SANITIZERS["thread"], NO_BARRIER)
    assert "data race" in done.stderr and done.returncode != 0


@pytest.mark.slow
def test_the_example_in_the_docs_runs(tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    page = (MODELS.parent / "docs" / "compile" / "two-cores.md").read_text()
    (example,) = (code for code in re.findall(r"^```c\n(.*?)^```$", page, re.M | re.S) if "pthread.h" in code)
    compile(KEYWORDS, cores=2).write(tmp_path)
    (tmp_path / "main.c").write_text(example)
    run(["gcc", *FLAGS, "-O1", "main.c", "keywords.c", "-o", "program", "-pthread"], tmp_path)
    run(["./program"], tmp_path)


@pytest.mark.slow
def test_one_core_computes_both_shares_the_second_one_first(tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    compiled = compile(branches(), cores=2)
    compiled.write(tmp_path)
    run(["gcc", *FLAGS, "-DMOTE_SELFTEST", "selftest/selftest.c", f"{compiled.name}.c", "-o", "program"], tmp_path)
    assert run(["./program"], tmp_path) == f"{compiled.name}: ok\n"


BARE = ["arm-none-eabi-gcc -mcpu=cortex-m0plus", "clang"]


@pytest.mark.parametrize("cc", soaked(BARE, BARE[:1]))
def test_the_barrier_needs_no_library(cc: str, tmp_path: Path) -> None:
    command = cc.split()
    compiler_or_skip(command[0])
    compile(DIGITS, cores=2, target="cortex-m0plus").write(tmp_path)
    run([*command[:1], *FLAGS, *command[1:], "-c", "digits.c", "-o", "model.o"], tmp_path)
    names = run(["nm", "-u", "model.o"], tmp_path)
    assert "atomic" not in names


def test_a_model_without_a_layer_to_split_still_meets(tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    net = Net()
    compiled = compile(net.finish(net.fully_connected(net.input(1, 8), 4)), cores=2)
    assert shared(compiled) == 0
    assert built(compiled, tmp_path, []).returncode == 0


@pytest.mark.parametrize(
    ("options", "where", "remedy"),
    [
        ({"target": "stm32f446"}, "option cores", "two equal cores"),
        ({"cores": 3}, "option cores", "give 1 to 2"),
        ({"barrier": -1}, "option barrier", "cycles"),
        ({"input": "rows"}, "option input", "--input rows"),
        ({"step": "layer"}, "option step", "--step layer"),
        ({"red_zones": True}, "option red_zones", "--red-zones"),
        ({"instances": True}, "option instances", "--instances"),
    ],
)
def test_what_two_cores_cannot_share_is_refused(options: dict[str, Any], where: str, remedy: str) -> None:
    with pytest.raises(MoteError) as error:
        compile(DIGITS, **({"cores": 2} | options))
    assert where in error.value.where and remedy in error.value.remedy


def test_images_are_for_one_core() -> None:
    with pytest.raises(MoteError, match="one core") as error:
        pack(DIGITS, cores=2)
    assert "mote compile" in error.value.remedy


def test_one_core_is_what_it_was() -> None:
    plain, one = compile(DIGITS, target="rp2350"), compile(DIGITS, target="rp2350", cores=1, barrier=7)
    assert plain.project.files == one.project.files
    assert not any("run_core" in text or "MOTE_BARRIER" in text for text in plain.project.files.values())
