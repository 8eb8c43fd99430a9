"""The costs in the comment of a header: what `mote run` measures, and the compiler that it was built by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mote.cli import main
from mote.compiler.line import compile
from mote.measure.run import run
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
        "flash": f"{compiled.project.constants} bytes of constants, {result.flash.code} bytes of code",
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
