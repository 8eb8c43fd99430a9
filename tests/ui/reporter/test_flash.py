"""Flash by layer and kind in the report."""

from __future__ import annotations

from collections.abc import Iterator

import mote
from mote.compiler.kernels.structs import named
from mote.hardware.toolchain.elf import FlashPart, _between
from mote.hardware.toolchain.machine_code import Symbol
from mote.ui.reporter.sections.flash import FlashKind, flash, plain, planned_pieces
from mote.ui.reporter.subject import Subject
from tests.ui.reporter.conftest import MODELS


def everything(told: dict) -> Iterator[int]:
    yield from (nbytes for _, *kinds in told["layers"] for nbytes in kinds)
    yield from (nbytes for _, _, nbytes, _ in told["shared"])


def test_kinds_are_all_of_the_linked_flash(profiled: Subject) -> None:
    told, ran = flash(profiled), profiled.ran
    assert ran is not None and told["linked"]
    assert sum(everything(told)) == told["total"] == ran.flash.total
    code = told["kinds"].index(FlashKind.CODE)
    by_kind = sum(row[1 + code] for row in told["layers"]) + sum(p[2] for p in told["shared"] if p[1] == code)
    assert by_kind == ran.flash.code


def test_weights_are_those_of_the_kernels(profiled: Subject) -> None:
    told = flash(profiled)
    weights = 1 + told["kinds"].index(FlashKind.WEIGHTS)
    for row, (_, steps) in zip(told["layers"], profiled.compiled.plan.works, strict=True):
        fields = dict(named(steps[0].kernel.params))
        packed = [v.nbytes for k, v in fields.items() if k.split(".")[-1] in ("weights", "stream", "records")]
        assert row[weights] == sum(packed)


def test_kernels_name_the_layers_that_run_them(profiled: Subject) -> None:
    told = {name: layers for name, _, layers in flash(profiled)["functions"]}
    work = next(layers for name, layers in told.items() if name.endswith("_work"))
    assert work == [layer.number for layer in profiled.layers]
    assert any(len(layers) == 1 for layers in told.values()), "a kernel of one layer"
    assert any(1 < len(layers) < len(work) for layers in told.values()), "a kernel that layers share"


def test_without_a_linked_model_constants_are_those_of_the_project() -> None:
    compiled = mote.compile(MODELS / "digits.tflite", target="host")
    told = flash(Subject(compiled, reason="not here"))
    assert not told["linked"] and told["reason"] == "not here" and FlashKind.CODE not in told["kinds"]
    assert sum(everything(told)) == compiled.project.constants
    assert all(piece.nbytes > 0 for piece in planned_pieces(compiled))


def test_clones_of_a_function_have_its_name() -> None:
    assert plain("mote_conv4x2_next.constprop.0") == plain("mote_conv4x2_next.part.0.isra.0") == "mote_conv4x2_next"
    assert plain("factor.0") == "factor.0"


def test_symbols_share_a_section_without_gaps() -> None:
    symbols = [
        Symbol("first", 4, 8, True, 1),
        Symbol("alias", 4, 8, True, 1),
        Symbol("assembly", 16, 0, True, 1),
        Symbol("last", 24, 4, True, 1),
    ]
    assert list(_between(symbols, 0, 32, True)) == [
        FlashPart("", 4, True),
        FlashPart("first", 8, True),
        FlashPart("", 4, True),
        FlashPart("assembly", 8, True),
        FlashPart("last", 4, True),
        FlashPart("", 4, True),
    ]
