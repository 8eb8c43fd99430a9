"""The costs in the comment of a header: what `mote run` measures, and the compiler that it was built by."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mote.bench.measure.run import run
from mote.bench.measure.runner import Bench, bench
from mote.compiler.compiled import Compiled
from mote.compiler.fitting.code_size import checked_code, with_built
from mote.compiler.line import compile
from mote.hardware.toolchain import Mode, worst_stack
from mote.ir.graph import Tensor
from mote.ui.cli import main
from tests.helpers.support import emulated

DIGITS = Path(__file__).parents[2] / "models" / "digits.tflite"


def costs(header: str) -> dict[str, str]:
    """The lines of the header on costs, by their first word."""
    title, rows = re.findall(r" \* (Costs on .*?):\n((?: \*     \w+ .*\n)+)", header)[0]
    return {"title": title} | dict(re.findall(r" \*     (\w+) +(.*)\n", rows))


def test_the_header_has_the_measured_costs(tmp_path: Path) -> None:
    target = emulated("cortex-m4")
    assert main(["compile", str(DIGITS), "--target", target, "-o", str(tmp_path / "c")]) == 0
    compiled = compile(DIGITS, target=target)
    result = run(compiled)
    assert costs((tmp_path / "c" / "digits.h").read_text()) == {
        "title": f"Costs on cortex-m4, built by {result.compiler}",
        "RAM": f"{compiled.plan.arena} bytes of arena, {compiled.plan.static} bytes beside it",
        "flash": f"{result.flash.constants} bytes of constants, {result.flash.code} bytes of code",
        "stack": f"{result.ram.stack} bytes at most in a run",
        "time": f"about {float(f'{compiled.cost:.3g}'):.0f} cycles an inference, by Mote's cost model",
    }
    plain = costs(compiled.project.files["digits.h"])
    assert plain["title"] == "Costs on cortex-m4" and plain["flash"].endswith("constants") and "stack" not in plain


@pytest.mark.parametrize("options", [{}, {"stream": 1, "causal": True}], ids=["host", "stream"])
def test_costs_without_a_compiler(options: dict[str, object]) -> None:
    compiled = compile(DIGITS.parent / "keywords.tflite", **options)
    told = costs(compiled.project.files["keywords.h"])
    assert told.keys() == {"title", "RAM", "flash"}
    kept = f", of which {compiled.plan.kept_bytes} are state" if options else ""
    assert told["RAM"].endswith(f"{compiled.plan.static} bytes beside it{kept}")


@pytest.mark.parametrize("core", ["cortex-m4", "rv32imc"])
def test_the_stack_of_a_model_that_learns(core: str, tmp_path: Path) -> None:
    """The function that learns a sample has a frame of its own around a run: the header's number holds for it, too."""
    compiled = compile(DIGITS, target=emulated(core), train="last", optimize="size")
    code = checked_code(compiled)
    built = code.built
    assert built is not None
    header = costs(with_built(compiled, code).project.files["digits.h"])
    assert header["stack"] == f"{built.stack} bytes at most in a run, or in digits_train"
    folders = [tmp_path / name for name in ("run", "learn")]
    for folder in folders:
        folder.mkdir()
    on = bench(compiled, folders[0])
    run = worst_stack(on.elf(Mode.MEASURE), "harness_run")
    glue = on.firmware.glue(Mode.MEASURE)
    assert "status = digits_run()" in glue
    learns = glue.replace("status = digits_run()", "status = digits_train(3)")
    learning = Bench(replace(on.firmware, glue=lambda mode: learns), on.compiler, on.emulator, folders[1])
    taken = learning.execute(Mode.MEASURE, [[bytes(t.nbytes) for t in inputs_of(compiled)]]).stack
    around = worst_stack(learning.elf(Mode.MEASURE), "harness_run").chain[0].size
    assert taken is not None and built.stack is not None
    assert run.size - run.chain[0].size < taken - around <= built.stack


def inputs_of(compiled: Compiled) -> list[Tensor]:
    graph = compiled.plan.graph
    return [graph.tensors[t] for t in graph.inputs]
