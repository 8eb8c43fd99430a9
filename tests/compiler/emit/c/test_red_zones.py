"""Debug builds: right kernels pass, a kernel that writes a byte outside of its buffers is seen, and no other build
pays."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.line import RED_ZONE, compile
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.helpers.network import Net

OK, BROKEN = 0, 6
PLANS: dict[str, dict[str, Any]] = {
    "layers": {"optimize": "speed"},
    "least": {"least_ram": True},
    "pushed": {"input": "rows"},
}
RUN = """
#include "keywords.h"
int main(void) {
    if (keywords_init() != MOTE_OK) return (int)MOTE_NOT_READY;
    for (int i = 0; i < KEYWORDS_INPUT_SIZE; i++) keywords_input()[i] = (int8_t)(i * 7);
    return (int)keywords_run();
}
"""
PUSH = """
#include "keywords.h"
static int8_t frame[KEYWORDS_INPUT_SIZE];
int main(void) {
    for (int i = 0; i < KEYWORDS_INPUT_SIZE; i++) frame[i] = (int8_t)(i * 7);
    return (int)(keywords_init() == MOTE_OK ? keywords_push(frame, KEYWORDS_INPUT_ROWS) : MOTE_NOT_READY);
}
"""
MISTAKES = [
    ("mote_pointwise_s8", "out[-1]"),
    ("mote_pointwise_s8", "out[pixels * p->gemm.pixel]"),
    ("mote_depthwise_s8_row", "out[-1]"),
    ("mote_depthwise_s8_row", "out[p->cols.out_size * p->channels]"),
    ("mote_conv2d_s8_row", "scratch[-1]"),
    ("mote_conv2d_s8_row", "scratch[2 * p->gemm.depth]"),
    ("mote_fully_connected_s8", "out[8]"),
    ("mote_softmax_s8", "out[-1]"),
    ("mote_softmax_s8", "out[p->depth + 15]"),
]
"""A kernel function and what it writes to: a byte before or after its row or its working memory."""
SUMS = [
    ("mote_avg_pool_add_s8", "((int8_t *)sums)[-1]"),
    ("mote_avg_pool_add_s8", "((int8_t *)(sums + p->channels))[0]"),
]
WAYS = [(plan, *mistake) for plan in PLANS for mistake in MISTAKES]
WAYS += [(plan, *mistake) for plan in ("least", "pushed") for mistake in SUMS]


@cache
def keywords(plan: str) -> Compiled:
    return compile(KEYWORDS, red_zones=True, **PLANS[plan])


def status(plan: str, folder: Path, function: str = "", place: str = "", *, once: bool = False) -> int:
    """What a model returns of which one kernel function also changes the byte at a place, each time or only once."""
    compiled = keywords(plan)
    compiled.write(folder)
    made = 0
    for file in folder.glob("mote_*.h") if function else ():
        wrong = f" static int calls; if (!calls++ || {int(not once)}) {place} = (int8_t)({place} ^ 1);"
        text = file.read_text()
        begins = [rf"\b(?:static inline|MOTE_NOINLINE) void {function}"]
        base, _, _ = function.removeprefix("mote_").partition("_row")
        if re.search(rf"^MOTE_(?!BY_ROWS)\w+\({base}, ", text, re.MULTILINE):  # a macro makes it
            begins.append(
                "(?:static inline|MOTE_NOINLINE) void mote_##name" + ("##_row" if function.endswith("_row") else "")
            )
        text, count = re.subn(rf"(?:{'|'.join(begins)})\([^)]*\) {{(?= ?\\?\n)", rf"\g<0>{wrong}", text)
        file.write_text(text)
        made += count
    assert made == bool(function)
    (folder / "main.c").write_text(PUSH if compiled.plan.pushed else RUN)
    flags = ["-O0" if flag == "-O2" else flag for flag in FLAGS]
    run([compiler_or_skip("gcc"), *flags, "main.c", "keywords.c", "-o", "program"], folder)
    return subprocess.run(["./program"], cwd=folder, timeout=60).returncode


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("plan", PLANS)
def test_right_kernels_pass(plan: str, tmp_path: Path) -> None:
    assert keywords(plan).plan.layered == (plan == "layers")
    assert status(plan, tmp_path) == OK


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(("plan", "function", "place"), WAYS)
def test_a_byte_outside_is_seen(plan: str, function: str, place: str, tmp_path: Path) -> None:
    """Whatever the values are: the mistake flips a bit of what lies there."""
    assert status(plan, tmp_path, function, place) == BROKEN


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("plan", PLANS)
def test_one_mistake_ends_the_inference(plan: str, tmp_path: Path) -> None:
    """Also where rows are still to come in the same call."""
    assert status(plan, tmp_path, "mote_conv2d_s8_row", "scratch[-1]", once=True) == BROKEN


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "place",
    ["", "*(int8_t *)AT({scratch} - 1)", "*(int8_t *)AT({scratch} + {size})", "outs[0][-1]", "outs[count - 1][{row}]"],
)
def test_several_rows_at_once(place: str, tmp_path: Path) -> None:
    """A kernel that computes rows one below the other in one call, and a byte before or behind what it writes."""
    compiled = compile(DIGITS, target="cortex-m7", red_zones=True)
    step = next(s for s in compiled.plan.steps if s.kernel.entry.rows and s.kernel.entry.group > 1 and not s.whole)
    row = compiled.plan.place[compiled.plan.op(step).outputs[0]].row_bytes
    byte = place.format(scratch=step.scratch, size=step.kernel.needs.scratch, row=row)
    mistake = f"{byte} = (int8_t)({byte} ^ 1);" if byte else ""
    compiled.write(tmp_path)
    source = tmp_path / "digits.c"
    text, calls = re.subn(rf"mote_{step.kernel.entry.rows}\(.*\);", rf"\g<0> {mistake}", source.read_text())
    assert calls == 1
    source.write_text(text)
    (tmp_path / "main.c").write_text(RUN.replace("keywords", "digits").replace("KEYWORDS", "DIGITS"))
    run([compiler_or_skip("gcc"), *FLAGS, "main.c", "digits.c", "-o", "program"], tmp_path)
    assert subprocess.run(["./program"], cwd=tmp_path, timeout=60).returncode == (BROKEN if place else OK)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_rows_that_nobody_needs(options: dict[str, Any]) -> None:
    """Zones lie around the rows that are there."""
    net = Net()
    x = net.conv(net.conv(net.input(1, 14, 9, 3), 8), 6, stride=3, padding="VALID")
    compiled = compile(net.finish(net.conv(x, 5)), red_zones=True, **options)
    assert any(None in buffer.offsets for buffer in compiled.plan.buffers)
    assert verify(compiled, 3, sanitize=True).passed


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_other_builds_have_no_trace_of_them(options: dict[str, Any]) -> None:
    plain, guarded = (compile(DIGITS, red_zones=zones, **options) for zones in (False, True))
    traces = re.compile("_note|_look|broken")
    assert not traces.search(plain.project.files["digits.c"])
    assert set(traces.findall(guarded.project.files["digits.c"])) == {"_note", "_look", "broken"}
    assert plain.plan.zone == 0 and guarded.plan.zone == RED_ZONE
    assert plain.plan.arena < guarded.plan.arena
