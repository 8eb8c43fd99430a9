"""Several models in one firmware: with one arena between them, or each with its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import BudgetError, MoteError
from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c import stamps
from mote.compiler.kernels import library
from mote.compiler.line import compile
from mote.compiler.several import check_several_code
from mote.ui.cli import main
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.helpers.network import Net
from tests.helpers.support import needs_litert

FORMS = {
    "usual": {},
    "rows": {"least_ram": True},
    "single file": {"single_file": True},
    "memories": {"target": "stm32h750", "single_file": True},
}


@pytest.fixture
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two layers."""
    net = Net()
    path = tmp_path_factory.mktemp("tiny") / "tiny.tflite"
    path.write_bytes(net.finish(net.mean(net.conv(net.input(1, 6, 5, 3), 4))))
    return path


@pytest.fixture
def other(tiny: Path) -> Path:
    """The same under another name."""
    return Path(shutil.copy(tiny, tiny.with_name("other.tflite")))


TURNS = [*((form, "gcc") for form in FORMS), ("usual", "clang")]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "cc"), TURNS)
def test_models_take_turns_in_one_arena(form: str, cc: str, tmp_path: Path) -> None:
    compiler_or_skip(cc)
    shared = mote.compile_shared([KEYWORDS, DIGITS], **{"target": "cortex-m4", **FORMS[form]})
    shared.write(tmp_path)
    assert shared.arena == max(m.plan.arena for m in shared.models)
    for program, hook in {"example/main": [], "selftest/selftest": ["-DMOTE_SELFTEST"]}.items():
        run([cc, *FLAGS, *hook, f"{program}.c", *shared.project.sources, "-o", program, "-lm"], tmp_path)
    run(["example/main"], tmp_path)
    assert run(["selftest/selftest"], tmp_path) == "keywords: ok\ndigits: ok\n" * 2
    symbols = [line.split() for line in run(["nm", "-S", "selftest/selftest"], tmp_path).splitlines()]
    arenas = [int(symbol[1], 16) for symbol in symbols if symbol[-1].startswith("mote_arena")]
    assert arenas == [-(-shared.arena // 8) * 8]
    assert not [symbol for symbol in symbols if symbol[-1].startswith("mote_") and symbol[-2].isupper()]


def test_results_survive_interleaved_runs(tiny: Path, tmp_path: Path) -> None:
    """Each run gives the same values whatever the other model left behind."""
    cc = compiler_or_skip("gcc")
    mote.compile_shared([tiny, DIGITS], least_ram=True).write(tmp_path)
    (tmp_path / "turns.c").write_text(
        """\
#include <string.h>
#include "digits.h"
#include "tiny.h"
static int8_t a[2][DIGITS_OUTPUT_SIZE], b[2][TINY_OUTPUT_SIZE];
static void fill(int8_t *p, int n, int seed) { for (int i = 0; i < n; i++) p[i] = (int8_t)(i * seed); }
static void digits(int8_t *out, int seed) {
    fill(digits_input(), DIGITS_INPUT_SIZE, seed);
    digits_run();
    memcpy(out, digits_output(), DIGITS_OUTPUT_BYTES);
}
static void tiny(int8_t *out, int seed) {
    fill(tiny_input(), TINY_INPUT_SIZE, seed);
    tiny_run();
    memcpy(out, tiny_output(), TINY_OUTPUT_BYTES);
}
int main(void) {
    if (digits_init() || tiny_init()) return 1;
    for (int seed = 1; seed < 8; seed++) {
        digits(a[0], seed); digits(a[1], seed + 90); digits(a[1], seed);
        tiny(b[0], seed); digits(a[1], seed); tiny(b[1], seed);
        if (memcmp(a[0], a[1], sizeof a[0]) || memcmp(b[0], b[1], sizeof b[0])) return 2;
    }
    return 0;
}
"""
    )
    run([cc, "-std=c99", "turns.c", "mote_models.c", "-o", "turns", "-lm"], tmp_path)
    run(["./turns"], tmp_path)


@pytest.mark.slow
def test_make_and_cmake_build_them(tiny: Path, other: Path, tmp_path: Path) -> None:
    compiler_or_skip("cc")
    mote.compile_shared([tiny, other]).write(tmp_path / "a")
    assert "other: ok" in run([compiler_or_skip("make"), "test"], tmp_path / "a")
    cmake = compiler_or_skip("cmake")
    run([cmake, "-S", "a", "-B", "b"], tmp_path)
    run([cmake, "--build", "b"], tmp_path)
    assert "tiny: ok" in run(["b/selftest"], tmp_path)


@pytest.mark.slow
@needs_litert
def test_a_model_of_them_is_exact_alone() -> None:
    shared = mote.compile_shared([KEYWORDS, DIGITS])
    assert all(verify(m, 2).passed for m in shared.models)


FIRMWARE = """\
#include <stdio.h>
#include "digits/digits.h"
#include "keywords/keywords.h"
static void fill(int8_t *p, int n) { for (int i = 0; i < n; i++) p[i] = (int8_t)(i * 37 + 11); }
static void show(const int8_t *p, int n) { for (int i = 0; i < n; i++) printf("%d ", p[i]); }
int main(void) {
    if (digits_init() || keywords_init()) return 1;
    fill(digits_input(), DIGITS_INPUT_SIZE);
    fill(keywords_input(), KEYWORDS_INPUT_SIZE);
    if (digits_run() || keywords_run()) return 2;
    show(digits_output(), DIGITS_OUTPUT_SIZE);
    show(keywords_output(), KEYWORDS_OUTPUT_SIZE);
    return 0;
}
"""
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "alike": ({}, {}),
    "targets": ({"target": "cortex-m0plus", "least_ram": True}, {"target": "stm32f746"}),
    "single file": ({"single_file": True}, {"least_ram": True, "optimize": "size"}),
}


def of_another_version(text: str) -> str:
    """A header of the kernels as another version of Mote might have it."""
    return text.replace("{ return a < b ? a : b; }", "{ return b < a ? b : a; }")


@pytest.mark.slow
@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize("lto", ["-fno-lto", "-flto"])
def test_folders_of_their_own_link_into_one_firmware(ways: str, lto: str, tmp_path: Path) -> None:
    """Kernel headers may have other settings in each; only symbols with the model's name are visible, and each model
    has the kernels that it was compiled with."""
    cc = compiler_or_skip("gcc")
    expected: list[int] = []
    for model, way in zip((DIGITS, KEYWORDS), WAYS[ways], strict=True):
        compiled = compile(model, **{"target": "stm32f746", **way})
        compiled.write(tmp_path / model.stem)
        run([cc, *FLAGS, "-c", f"{model.stem}.c"], tmp_path / model.stem)
        symbols = run(["nm", "-g", "--defined-only", f"{model.stem}.o"], tmp_path / model.stem).split()[2::3]
        assert symbols and all(s.startswith(f"{model.stem}_") for s in symbols)
        run([cc, *FLAGS, lto, "-c", f"{model.stem}.c"], tmp_path / model.stem)
        expected += reference_outputs(compiled)
    (tmp_path / "firmware.c").write_text(FIRMWARE)
    run([cc, *FLAGS, lto, "firmware.c", "digits/digits.o", "keywords/keywords.o", "-o", "firmware"], tmp_path)
    assert list(map(int, run(["./firmware"], tmp_path).split())) == expected


def reference_outputs(compiled: Compiled) -> list[int]:
    """The outputs for the input of FIRMWARE, by NumPy."""
    graph = compiled.plan.graph
    tensor = graph.tensors[graph.inputs[0]]
    values = (np.arange(tensor.size) * 37 + 11).astype(np.int8).reshape(tensor.shape)
    return [int(x) for x in graph.evaluate({tensor.id: values})[graph.outputs[0]].reshape(-1)]


def test_headers_of_another_version_are_refused(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two projects in one folder: the headers of one overwrite the other's."""
    cc = compiler_or_skip("gcc")
    folder = tmp_path / "flat"
    compile(tiny).write(folder)
    build = [cc, *FLAGS, "-c", "tiny.c"]
    run(build, folder)
    current = library._files.text
    monkeypatch.setattr(library._files, "text", lambda name: of_another_version(current(name)))
    other = compile(tiny, name="other").project.files
    assert other["mote_common.h"] != (folder / "mote_common.h").read_text()
    for name, text in other.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    run([cc, *FLAGS, "-c", "other.c"], folder)
    failed = subprocess.run(build, cwd=folder, capture_output=True, text=True)
    assert failed.returncode != 0 and stamps.REFUSAL in failed.stderr


def test_names_must_differ(tmp_path: Path) -> None:
    for name in ("Digits", "digits_constants"):
        shutil.copy(DIGITS, tmp_path / f"{name}.tflite")
        with pytest.raises(MoteError, match="would have the same names") as error:
            mote.compile_shared([DIGITS, tmp_path / f"{name}.tflite"])
        assert "rename" in error.value.remedy


def test_names_inside_the_c_must_differ(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A macro or function that two models would define, although their files have other names."""
    longer = Path(shutil.copy(tiny, tiny.with_name("tiny_input.tflite")))
    mote.compile_several([tiny, longer])
    monkeypatch.setattr("mote.compiler.emit.c.model.header.text", lambda *_: "#define TINY_INPUT_SIZE 90\n")
    with pytest.raises(MoteError, match=r"'tiny' .* and 'tiny_input' would have the same names, as TINY_INPUT_SIZE"):
        mote.compile_several([tiny, longer])


def test_options_that_are_for_one_model() -> None:
    with pytest.raises(MoteError, match="cannot have one name"):
        mote.compile_shared([KEYWORDS, DIGITS], name="x")
    with pytest.raises(MoteError, match="caller"):
        mote.compile_shared([KEYWORDS, DIGITS], caller_arena=True)
    with pytest.raises(MoteError, match="two cores"):
        mote.compile_several([KEYWORDS, DIGITS], cores=2, target="cortex-m0plus")


def test_flash_counts_the_code_of_all_together() -> None:
    alone = [compile(m).project.constants for m in (KEYWORDS, DIGITS)]
    shared = mote.compile_shared([KEYWORDS, DIGITS])
    need = sum(alone) + check_several_code(shared).together.nbytes
    assert mote.compile_shared([KEYWORDS, DIGITS], flash=need).project.constants == sum(alone)
    with pytest.raises(BudgetError, match="of flash"):
        mote.compile_shared([KEYWORDS, DIGITS], flash=need - 1)


def test_kernels_are_linked_once(tiny: Path, other: Path) -> None:
    """Twice the same model has more code than once, and less than two copies of the kernels."""
    compiler_or_skip("arm-none-eabi-gcc")
    code = check_several_code(mote.compile_several([tiny, other], target="cortex-m4", optimize="size"))
    assert not code.together.estimated and not code.apart.estimated
    assert max(c.nbytes for c in code.alone) < code.together.nbytes < code.apart.nbytes


def test_models_apart_have_arenas_of_their_own(tiny: Path, other: Path, tmp_path: Path) -> None:
    """Inputs of one survive a run of the other, in the middle of which it begins."""
    cc = compiler_or_skip("gcc")
    several = mote.compile_several([tiny, other])
    several.write(tmp_path)
    assert several.arena == sum(m.plan.arena for m in several.models)
    (tmp_path / "apart.c").write_text(
        """\
#include <string.h>
#include "mote_models.h"
static void fill(int8_t *p, int n, int seed) { for (int i = 0; i < n; i++) p[i] = (int8_t)(i * seed); }
int main(void) {
    int8_t expected[OTHER_OUTPUT_SIZE];
    if (tiny_init() || other_init()) return 1;
    fill(other_input(), OTHER_INPUT_SIZE, 7);
    if (other_run()) return 2;
    memcpy(expected, other_output(), sizeof expected);
    fill(other_input(), OTHER_INPUT_SIZE, 7);
    fill(tiny_input(), TINY_INPUT_SIZE, 3);
    mote_status a = MOTE_BUSY, b = MOTE_BUSY;
    while (a == MOTE_BUSY || b == MOTE_BUSY) {
        if (a == MOTE_BUSY) a = tiny_step();
        if (b == MOTE_BUSY) b = other_step();
    }
    if (a || b || memcmp(expected, other_output(), sizeof expected)) return 3;
    return memcmp(expected, tiny_output(), sizeof expected) == 0 ? 4 : 0;
}
"""
    )
    run([cc, *FLAGS, "apart.c", "mote_models.c", "-o", "apart"], tmp_path)
    run(["./apart"], tmp_path)


@pytest.mark.slow
def test_command(tiny: Path, other: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    models = [str(tiny), str(other)]
    assert main(["compile", *models, "-o", str(tmp_path)]) == 0
    assert "one for each model" in capsys.readouterr().out
    command = ["compile", *models, "--shared-arena", "-o", str(tmp_path)]
    assert main([*command, "-t", "stm32f746", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in described["models"]] == ["tiny", "other"]
    assert described["ram"]["memories"] == {"dtcm": described["ram"]["arena"]}
    assert "mote_models.c" in described["files"] and "tiny.c" not in described["files"]
    assert main(command) == 0
    assert "mote_models.h is the manual" in capsys.readouterr().out
