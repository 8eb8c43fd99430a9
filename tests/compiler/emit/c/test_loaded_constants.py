"""Constants in RAM where flash is waited for, copied before a layer or by start-up: where that is done, that results
are exact, and that each constant is then read from flash once, or never."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mote
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.reserve import STACK
from mote.compiler.kernels.contract import Packed
from mote.compiler.line import compile
from mote.compiler.packer import pack
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.selection.estimate import estimate
from mote.hardware import targets
from mote.hardware.targets import Memory, Reads, Target
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.helpers.support import emulated, needs_litert, soaked

SLOW = Reads(wait_states=5, read_bytes=8, line_bytes=8, prefetch=True, code_lines=128, data_lines=32)


def slow(core: str) -> Target:
    """A core whose flash waits."""
    return replace(targets.load(core), reads=SLOW)


def loaded(compiled: Compiled) -> list[Packed]:
    """The kernels whose constants are copied."""
    return [step.kernel for step in compiled.plan.steps if step.kernel.loaded]


WAYS: list[tuple[Path, dict[str, Any]]] = [
    (DIGITS, {"red_zones": True}),
    (DIGITS, {"instances": True, "caller_arena": True}),
    (KEYWORDS, {"single_file": True}),
    (DIGITS.with_name("digits_float.tflite"), {}),
]


@needs_litert
@pytest.mark.parametrize(("model", "options"), soaked(WAYS, WAYS[:1]))
def test_exact_on_the_host(model: Path, options: dict[str, Any]) -> None:
    compiled = compile(model, target=slow("host"), optimize="speed", **options)
    assert loaded(compiled) and verify(compiled, 1, sanitize=True).passed


@needs_litert
@pytest.mark.parametrize("core", soaked(["cortex-m4", "cortex-m0plus", "cortex-m55", "rv32imc"], []))
def test_exact_on_a_core(core: str) -> None:
    emulated(core)
    compiled = compile(DIGITS, target=slow(core), optimize="speed")
    assert loaded(compiled) and verify(compiled, 1).passed


@pytest.mark.slow
def test_each_constant_is_read_from_flash_once() -> None:
    """Waits for constants go down to those of reading them once, and the estimate knows; profiles compare outputs."""
    pytest.importorskip("capstone")
    emulated("cortex-m4")
    plain, copied = (compile(DIGITS, target=slow("cortex-m4"), optimize=how) for how in ("balanced", "speed"))
    assert loaded(copied) and not loaded(plain)
    before, after = (mote.profile(one, layers=False) for one in (plain, copied))
    assert after.waits.constants < 1.3 * SLOW.stream(copied.project.constants) < before.waits.constants / 2
    assert after.cycles < 0.9 * before.cycles
    assert abs(estimate(copied.plan.goal.costs, copied.plan) / after.cycles - 1) < 0.15


@pytest.mark.slow
def test_ram_budgets_and_time_limits_decide() -> None:
    """The more RAM may be spent the less time it takes; a time limit that only copies keep has them."""
    target = slow("cortex-m4")
    most = compile(DIGITS, target=target, optimize="speed")
    budgets = [most.plan.ram - 1500, most.plan.ram - 500, most.plan.ram]
    plans = [compile(DIGITS, target=target, ram=ram).plan for ram in budgets]
    assert all(plan.ram <= ram for plan, ram in zip(plans, budgets, strict=True))
    taken = [estimate(plan.goal.costs, plan) for plan in plans]
    assert taken == sorted(taken, reverse=True) and any(s.kernel.loaded for s in plans[-1].steps)
    plain = compile(DIGITS, target=target)
    limit = int(0.5 * (estimate(plain.plan.goal.costs, plain.plan) + taken[-1]))
    assert loaded(compile(DIGITS, target=target, cycles=limit)) and not loaded(plain)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "options",
    [
        {"optimize": "balanced"},
        {"optimize": "size"},
        {"optimize": "speed", "least_ram": True},
        {"optimize": "speed", "input": "rows"},
        {"optimize": "speed", "cores": 2},
    ],
)
def test_where_nothing_is_copied(options: dict[str, Any]) -> None:
    assert not loaded(compile(DIGITS, target=slow("cortex-m33"), **options))


def test_images_and_flash_that_answers_at_once_copy_nothing() -> None:
    image = pack(DIGITS, target=slow("cortex-m4"), optimize="speed")
    assert not any(step.kernel.sealed for step in image.plan.steps)
    fast = compile(DIGITS, target="cortex-m4", optimize="speed")
    assert not loaded(fast) and "mote_copy_constants" not in "".join(fast.project.files.values())


def test_the_plan_says_so() -> None:
    compiled = compile(DIGITS, target=slow("cortex-m4"), optimize="speed")
    (first, *_) = loaded(compiled)
    assert first.sealed is not None
    said = f"{first.sealed.nbytes:,} bytes of constants copied to RAM"
    assert any(said in options[0].why for options in compiled.plan.choices.values())


def test_the_checker_refuses_copies_for_every_row() -> None:
    plan = compile(DIGITS, target=slow("cortex-m4"), optimize="speed").plan
    check(plan)
    at = next(i for i, step in enumerate(plan.steps) if step.kernel.loaded)
    step = replace(plan.steps[at], whole=False)
    with pytest.raises(PlanError, match="for every row"):
        check(replace(plan, steps=(*plan.steps[:at], step, *plan.steps[at + 1 :])))


@pytest.mark.parametrize("language", ["c", "c++"])
def test_any_number_of_bytes_is_copied_and_no_more(language: str, tmp_path: Path) -> None:
    compiler = compiler_or_skip("gcc" if language == "c" else "g++")
    (tmp_path / "main.c").write_text(
        '#include "mote_copy_constants.h"\n#include <stdio.h>\n'
        "static uint32_t from[80], to[80];\nint main(void) {\n"
        "    uint8_t *f = (uint8_t *)from, *t = (uint8_t *)to;\n    int bad = 0;\n"
        "    for (size_t i = 0; i < sizeof from; i++) {\n        f[i] = (uint8_t)(i * 37u + 11u);\n    }\n"
        "    for (size_t n = 0; n <= 300u; n++) {\n        memset(to, 0xa5, sizeof to);\n"
        "        mote_copy_constants(to, from, n);\n        for (size_t i = 0; i < sizeof to; i++) {\n"
        "            bad |= t[i] != (i < n ? f[i] : 0xa5u);\n        }\n    }\n"
        '    puts(bad ? "bad" : "good");\n    return 0;\n}\n'
    )
    flags = FLAGS if language == "c" else ["-std=c++11", *FLAGS[1:]]
    includes = compile(DIGITS, target=slow("host"), optimize="speed").project.files
    for name, text in includes.items():
        if name.startswith("mote_") and name.endswith(".h"):
            (tmp_path / name).write_text(text)
    run([compiler, "-x", language, *flags, "main.c", "-o", "main"], tmp_path)
    said = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    assert said == "good\n"


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
def test_constants_placed_in_ram(core: str) -> None:
    """Start-up copies them: nothing waits for them, they are counted as RAM, and nothing is copied in between."""
    pytest.importorskip("capstone")
    emulated(core)
    placed = compile(DIGITS, target=slow(core), optimize="speed", place_constants="ram")
    assert not loaded(placed)
    taken = mote.run(placed, layers=False).ram
    assert taken.static is not None and taken.static >= placed.ram_constants > 5000
    counted = mote.profile(placed, layers=False)
    assert counted.waits.constants < 0.02 * SLOW.stream(placed.ram_constants) + 1000
    assert ".data.mote_constants" in placed.project.files["digits.h"]


def test_constants_in_ram_are_taken_from_the_budget() -> None:
    """As many as fit beside the plan are in RAM, those first that are read most; the estimate knows if all are."""
    target, how = slow("cortex-m4"), {"optimize": "speed", "place_constants": "ram"}
    generous = compile(DIGITS, target=target, **how)
    everything = generous.plan.ram + generous.ram_constants
    assert generous.ram_constants == generous.project.flash["RAM for constants"]
    placed = []
    for budget in (everything, everything - 8, everything - 3000, generous.plan.ram + 8):
        made = compile(DIGITS, target=target, ram=budget, **how)
        assert made.plan.ram + made.ram_constants <= budget
        assert made.costs.memory.waits == (budget < everything)
        text = made.project.files["digits_constants.h"]
        assert text.count("MOTE_SECTION") == 0 or made.ram_constants > 0
        placed.append(made.ram_constants)
    assert placed == sorted(placed, reverse=True) and placed[2] > 0
    few = compile(DIGITS, target=replace(target, memories=part(everything + 2000)), **how)
    assert 0 < few.ram_constants <= everything + 2000 - STACK - few.plan.ram


def part(ram: int) -> tuple[Memory, ...]:
    """Flash that waits, and so much RAM."""
    return Memory("flash", "flash", 1 << 20, reads=SLOW), Memory("sram", "ram", ram)


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("host", {}, "the host has no flash"),
        ("cortex-m4", {}, "nothing to gain"),
        ("atmega2560", {}, "program memory"),
        ("stm32l4r5", {"encrypt": "key"}, "decrypted in RAM"),
    ],
)
def test_where_constants_cannot_be_in_ram(target: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(MoteError, match=says):
        compile(DIGITS, target=target, place_constants="ram", **options)


def test_images_and_several_models_have_no_constants_in_ram() -> None:
    with pytest.raises(MoteError, match="is for generated C"):
        pack(DIGITS, target="stm32l4r5", place_constants="ram")
    with pytest.raises(MoteError, match="not counted for several models"):
        mote.compile_several([DIGITS, KEYWORDS], target="stm32l4r5", place_constants="ram")
