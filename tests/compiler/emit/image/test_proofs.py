"""Frama-C finds nothing in the runtime on an image that has every form, whatever memory holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import prove_image

pytestmark = pytest.mark.skipif(shutil.which("frama-c") is None, reason="frama-c is not installed")


@pytest.mark.slow
def test_nothing_can_go_wrong_on_pushed_rows() -> None:
    found = prove_image.proof("pushed rows")
    assert not found.findings
    assert {"mote_check_op", "mote_execute", "mote_parameters"} <= found.reached.keys()


@pytest.mark.slow
def test_nothing_can_go_wrong_on_every_form() -> None:
    found = prove_image.proof("every form")
    assert not found.findings
    assert {"mote_check_op", "mote_fewest", "mote_execute", "mote_parameters", "mote_ring"} <= found.reached.keys()


def test_nothing_can_go_wrong_in_training() -> None:
    found = prove_image.proof("training")
    assert not found.findings
    assert {"mote_check_states", "mote_forget_roles", "mote_train", "mote_set_labels"} <= found.reached.keys()


def test_what_can_go_wrong_is_found(tmp_path: Path) -> None:
    """A kernel that divides by zero for the parameters of the image."""
    text = (prove_image.BY_HAND / "handmade.c").read_text(encoding="utf-8")
    (tmp_path / "handmade.c").write_text(text.replace("i % p->size", "i % (p->size - 5)"), encoding="utf-8")
    found = prove_image.proof("pushed rows", kernels=tmp_path).findings
    assert "division_by_zero" in {finding.kind for finding in found}
