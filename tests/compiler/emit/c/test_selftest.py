"""The self-test sees what matters: every changed bit of the constants, and kernels that compute something else."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcunet_v2
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.model.checks import struct
from mote.compiler.emit.c.programs.golden import FULL, GENTLE, runs
from mote.compiler.kernels.structs import Field
from mote.compiler.line import compile
from mote.frontends import tflite
from selftest import flips, matters, mutants, noticed
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.helpers.network import Net
from tests.helpers.support import needs_litert

FLIPPED: list[tuple[dict[str, Any], int]] = [({}, 5), ({"target": "cortex-m4", "least_ram": True}, 11)]
"""How a model is compiled, and of how many bits one is flipped."""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("options", "stride"), FLIPPED)
def test_every_flipped_bit_is_seen(options: dict[str, Any], stride: int, tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    compiled = compile(DIGITS, **options)
    flipped, missed = flips(compiled, stride, tmp_path)
    assert missed == 0 and flipped > 8 * compiled.project.constants // stride, "and those of parameters"


def test_init_looks_at_the_flash_where_it_is_asked_to(tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    for check, status in ((False, 0), (True, 8)):
        compile(DIGITS, check_flash=check).write(tmp_path)
        constants = tmp_path / "digits_constants.h"
        text = constants.read_text()
        start = text.index("{", text.index("gemm_weights"))
        constants.write_text(text[:start] + "{ 99," + text[text.index(",", start) + 1 :])
        (tmp_path / "firmware.c").write_text('#include "digits.h"\nint main(void) { return (int)digits_init(); }\n')
        run(["gcc", *FLAGS, "-O0", "firmware.c", "digits.c", "-o", "firmware"], tmp_path)
        assert subprocess.run(["./firmware"], cwd=tmp_path).returncode == status
        run(["gcc", *FLAGS, "-O0", "selftest/selftest.c", "digits.c", "-o", "program"], tmp_path)
        done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (8, "digits: DAMAGED, constants in flash have changed\n")
        constants.unlink()


def test_the_crc_is_the_usual_one(tmp_path: Path) -> None:
    """That of zlib, over elements with their lowest byte first, in pieces or at once."""
    compiler_or_skip("gcc")
    compile(DIGITS).write(tmp_path)
    (tmp_path / "crc.c").write_text(
        '#include <stdio.h>\n#include "mote_crc.h"\nint main(void) {\n'
        "    const uint32_t words[3] = {1, 0x80000000u, 123456789};\n"
        '    const char *text = "123456789";\n'
        '    printf("%08x %08x %08x", mote_crc(0, text, 9, 1), mote_crc(mote_crc(0, text, 4, 1), text + 4, 5, 1),\n'
        "           mote_crc(0, words, sizeof words, 4));\n    return 0;\n}\n"
    )
    run(["gcc", *FLAGS, "crc.c", "-o", "crc"], tmp_path)
    words = np.array([1, 0x80000000, 123456789], "<u4").tobytes()
    assert run(["./crc"], tmp_path).split() == ["cbf43926", "cbf43926", f"{zlib.crc32(words):08x}"]


def test_numbers_in_parameters_are_words() -> None:
    ctypes = {"a": "int32_t", "in.b": "int32_t", "in.c": "float", "in.p": "", "none": "", "d": "uint32_t"}
    params = {"a": 1, "in": {"b": -1, "c": 0.5, "p": np.zeros(4, np.int8)}, "d": 1 << 31}
    found = struct("s", [Field(path, ctype) for path, ctype in ctypes.items()], params, lambda _: "zeros")
    assert [(s.address, s.end, s.values.tolist()) for s in found.spans] == [
        ("&s.a", "&s.a + 1", [1]),
        ("&s.in.b", "&s.in.c + 1", [0xFFFFFFFF, 0x3F000000]),
        ("&s.d", "&s.d + 1", [1 << 31]),
    ]
    assert found.addresses == {"s.in.p": "zeros", "s.none": "NULL"}


def saturating() -> bytes:
    """A softmax whose input is far apart, so that noise of full strength gives one class everything."""
    net = Net(seed=1)
    y = net.fully_connected(net.input(1, 64), 4, quant=(2.0, 0))
    return net.finish(net.op("SOFTMAX", [y], quant=(1 / 256, -128), beta=40.0))


def test_inputs_cover_the_range_and_outputs_say_something() -> None:
    graph = tflite.parse(saturating(), "model")
    *saturated, telling = (r.values[graph.outputs[0]] for r in runs(graph))
    assert any(y.max() == 127 for y in saturated)
    assert np.isin(saturated[0], (-128, 127)).mean() > np.isin(telling, (-128, 127)).mean()
    codes = FULL.codes(4096, 0)
    assert len(np.unique(codes)) == 256 and codes.min() == -128 and codes.max() == 127
    assert all(np.abs(p.codes(4096, 1)).max() <= p.strength for p in GENTLE)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("options", [{}, {"input": "rows"}], ids=str)
def test_a_float_model_has_its_tolerance_and_no_more(options: dict[str, Any], tmp_path: Path) -> None:
    compiler_or_skip("gcc")
    compile(mcunet_v2.build(mcunet_v2.SMALL, dtype="float32"), name="net", **options).write(tmp_path)
    command = ["gcc", *FLAGS, "-O1", "-DMOTE_SELFTEST", "selftest/selftest.c", "net.c", "-o", "program", "-lm"]
    run(command, tmp_path)
    assert run(["./program"], tmp_path) == "net: ok\n"
    kernel = tmp_path / "mote_layer.h"
    changed = kernel.read_text().replace("mote_clamp_f32((sum)", "mote_clamp_f32(1.001f * (sum)")
    assert changed != kernel.read_text()
    kernel.write_text(changed)
    run(command, tmp_path)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3 and "WRONG, first in step" in done.stdout


MUTANTS = 4
"""Of each model that are tried."""
MUTATED: dict[str, Callable[[], Compiled]] = {
    "digits": lambda: compile(DIGITS),
    "keywords by rows": lambda: compile(KEYWORDS, least_ram=True),
}


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("model", MUTATED)
def test_wrong_kernels_are_noticed(model: str, tmp_path: Path) -> None:
    """A mutant that the self-test takes for right is right for all other inputs too."""
    compiler_or_skip("gcc")
    for mutant in islice(mutants(MUTATED[model](), tmp_path), MUTANTS):
        assert noticed(tmp_path) or not matters(mutant, 12), mutant.place
