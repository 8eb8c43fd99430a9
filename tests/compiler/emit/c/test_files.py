"""A project has the files that its model uses on its core, and no others."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from mote.compiler.emit.c.project import Job, generate
from mote.compiler.kernels.files import SET_OF, SETS
from mote.compiler.line import compile
from tests.helpers.network import Net
from tests.helpers.support import needs

DIGITS = Path(__file__).parents[4] / "models" / "digits.tflite"
SETS_OF_TARGETS = {
    "host": {"vfp"},
    "cortex-m0plus": {"armv6m"},
    "cortex-m3": {"armv7em", "armv7m"},
    "cortex-m4": {"armv7em", "vfp"},
    "cortex-m55": {"armv7em", "helium", "vfp"},
    "rv32imc": {"rv32m", "scalar"},
    "rv32imc_zve32x": {"rv32m", "rvv", "scalar"},
}


def floats() -> bytes:
    net = Net(dtype="float32")
    return net.finish(net.fully_connected(net.mean(net.conv(net.input(1, 6, 5, 3), 4)), 4))


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("target", SETS_OF_TARGETS)
def test_headers_of_other_instruction_sets_are_not_written(target: str) -> None:
    for model in (DIGITS, floats()):
        files = compile(model, target=target, name="net").project.files
        included = {file for text in files.values() for file in re.findall(r'#include "(mote_\w+\.h)"', text)}
        assert included <= files.keys()
        flags = {"mote_dsp.h", "mote_helium.h", "mote_vfp.h"}
        assert {SET_OF[file] for file in files if file in SET_OF and file not in flags} <= SETS_OF_TARGETS[target]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_code_does_not_change_by_what_is_left_out(target: str, tmp_path: Path) -> None:
    """With the headers of all instruction sets the C compiler sees the same code."""
    needs("arm-none-eabi-gcc")
    for number, model in enumerate((DIGITS, floats())):
        compiled = compile(model, target=target, name="net")
        whole = generate(Job(compiled.plan, replace(compiled.project.options, instruction_sets=SETS)))
        assert len(whole.files) > len(generate(Job(compiled.plan, compiled.project.options)).files)
        codes = []
        for files in (compiled.project.files, whole.files):
            folder = tmp_path / f"{number}-{len(codes)}"
            for file, text in files.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_text(text)
            command = ["arm-none-eabi-gcc", *compiled.settings.target.gcc_flags, "-E", "-P", "net.c", "-o", "net.i"]
            subprocess.run(command, cwd=folder, check=True)
            codes.append((folder / "net.i").read_text().split())
        assert codes[0] == codes[1]
