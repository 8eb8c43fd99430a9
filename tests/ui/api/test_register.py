"""Operators and kernels that users bring: the examples, and what is said of bad and of missing ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError, UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import kernel_label
from mote.compiler.kernels import catalogue, library
from mote.compiler.kernels.contract import Price
from mote.compiler.line import compile
from mote.frontends.features.steps import STEPS
from mote.frontends.tflite.writer import Writer
from mote.hardware import targets
from mote.ir.ops.control.custom import DEFINITIONS
from mote.ui.api.register import load_plugins
from mote.ui.cli import main
from tests.helpers.flex import options as flex_options
from tests.helpers.network import Net
from tests.helpers.support import emulated, needs_litert

EXAMPLES = Path(__file__).parents[3] / "examples"
OPERATOR, KERNEL = (str(EXAMPLES / name / "plugin.py") for name in ("custom_operator", "own_kernel"))


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    kernels, steps = [*catalogue.KERNELS], dict(STEPS)
    yield
    STEPS.clear()
    STEPS.update(steps)
    DEFINITIONS.clear()
    catalogue.KERNELS[:] = kernels
    library._added.clear()
    targets._declared.clear()


def energies(dtype: str = "int8") -> bytes:
    w = Writer("energies")
    x = w.input("x", (1, 6, 20), dtype, *((0.1, -7) if dtype == "int8" else ()))
    y = w.tensor("y", (1, 6), "int32")
    w.op("CUSTOM", [x], [y], custom_code="FrameEnergy", custom_options=flex_options(shift=2))
    w.output(y)
    return w.finish()


def pooled(side: int = 8) -> bytes:
    net = Net(3)
    return net.finish(net.pool(net.conv(net.input(1, side, side, 3), 4), 2, "MAX_POOL_2D"))


@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_the_example_of_an_operator(target: str) -> None:
    load_plugins([OPERATOR])
    compiled = compile(energies(), target=target if target == "host" else emulated(target))
    assert "mote_frame_energy.h" in compiled.project.files
    result = verify(compiled, 4, sanitize=target == "host")
    assert result.exact and "FrameEnergy" in result.reference


def test_an_operator_is_wrong_where_its_c_is_not_its_reference() -> None:
    header = EXAMPLES / "custom_operator" / "mote_frame_energy.h"
    with pytest.raises(TypeError):
        mote.register("FrameEnergy", header=header)  # type: ignore[call-arg]
    mote.register(
        "FrameEnergy",
        header=header,
        shape=lambda use: (1, 6),
        reference=lambda use, x: x.sum(axis=-1, dtype=np.int32),
        parameters=lambda use: {"frames": 6, "samples": 20, "zero": 0, "shift": 0},
    )
    assert not verify(compile(energies()), 1).passed


def test_an_operator_element_by_element(tmp_path: Path) -> None:
    """It runs by rows, with a constant in flash, over its input's memory."""
    header = tmp_path / "mote_swap_bits.h"
    header.write_text("""\
#include <stddef.h>
#include <stdint.h>
typedef struct { const int8_t *mask; } mote_swap_bits_t;
static inline void mote_swap_bits(const mote_swap_bits_t *p, const int8_t *x, int8_t *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        out[i] = (int8_t)(x[i] ^ p->mask[0]);
    }
}
""")
    mote.register(
        "Swap",
        header=header,
        shape=lambda use: use.inputs[0].shape,
        reference=lambda use, x: x ^ np.int8(0x55),
        parameters=lambda use: {"mask": np.int8([0x55])},
        elementwise=True,
    )
    net = Net(3)
    x = net.conv(net.input(1, 8, 8, 3), 4)
    y = net.op("CUSTOM", [x], custom_code="Swap")
    model = net.finish(net.conv(y, 3))
    for options in ({}, {"ram": "min"}, {"input": "rows"}):
        assert verify(compile(model, **options), 2, sanitize=True).exact


@needs_litert
def test_the_example_of_a_kernel() -> None:
    load_plugins([KERNEL])
    pinned = ["1=max_pairs"]
    for compiled in (
        compile(pooled(), target=emulated("cortex-m4"), kernels=pinned),
        compile(pooled(), ram="min", kernels=pinned),
    ):
        assert "mote_max_pairs_s8.h" in compiled.project.files and verify(compiled, 3).exact
    with pytest.raises(MoteError, match="has no kernel 'max_pairs'"):
        compile(pooled(7), kernels=pinned)


def test_a_kernel_is_chosen_where_it_costs_least() -> None:
    load_plugins([KERNEL])
    own = catalogue.KERNELS[0]
    for cost, chosen in ((0.0, True), (1e9, False)):
        kernel = replace(own, pack=lambda view, cost=cost: replace(own.pack(view), price=Price(cost=cost)))
        mote.register_kernel(kernel, header=EXAMPLES / "own_kernel" / "mote_max_pairs_s8.h")
        assert ("mote_max_pairs_s8.h" in compile(pooled()).project.files) == chosen


def test_a_kernel_opens_the_features_that_it_asks_for(tmp_path: Path) -> None:
    """To targets that have them, where it is labelled by them; on others it is not offered."""
    (tmp_path / "p.toml").write_text('extends = "rv32imc"\nfeatures = ["p"]\n')
    with pytest.raises(MoteError, match="unknown feature 'p'") as error:
        targets.load(str(tmp_path / "p.toml"))
    assert "--plugin" in error.value.remedy
    load_plugins([KERNEL])
    kernel = replace(catalogue.KERNELS[0], isa=frozenset({"p"}))
    mote.register_kernel(kernel, header=EXAMPLES / "own_kernel" / "mote_max_pairs_s8.h")
    options = {"kernels": ["1=max_pairs/p"]}
    assert kernel_label(compile(pooled(), target=tmp_path / "p.toml", **options), 1) == "max_pairs_s8/p"
    with pytest.raises(MoteError, match="has no kernel 'max_pairs'"):
        compile(pooled(), target="rv32imc", **options)


def test_a_missing_operator_is_refused_with_the_code_to_write() -> None:
    with pytest.raises(UnsupportedError) as error:
        compile(energies())
    for line in ('"FrameEnergy",', 'header="mote_frame_energy.h",', "const int8_t *x0, int32_t *out", "(1, 6)"):
        assert line in str(error.value)


def test_a_use_that_an_operator_refuses() -> None:
    load_plugins([OPERATOR])
    with pytest.raises(UnsupportedError, match="takes int8 samples"):
        compile(energies("float32"))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("energy.h", "", "no name of a file of kernels"),
        ("mote_pool_s8.h", "", "name of a file of Mote's"),
        ("mote_energy.h", "typedef int mote_energy_t;", "does not define mote_energy"),
        ("mote_absent.h", None, "cannot be read"),
    ],
)
def test_bad_headers(tmp_path: Path, name: str, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(MoteError, match=why):
        mote.register("Energy", header=tmp_path / name, shape=lambda use: (), reference=lambda use: np.zeros(()))


def test_plugins_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("energies.tflite").write_bytes(energies())
    Path("bad.py").write_text("import mote\nmote.nothing\n")

    def run(plugin: str) -> tuple[int, str, str]:
        status = main(["inspect", "energies.tflite", "--plugin", plugin])
        return status, *capsys.readouterr()

    status, out, _ = run(OPERATOR)
    assert status == 0 and "FrameEnergy" in out
    status, _, err = run("bad.py")
    assert status == 1 and "bad.py:2: AttributeError" in err and "Traceback" not in err
    status, _, err = run("absent.py")
    assert status == 1 and "absent.py: cannot be read" in err
