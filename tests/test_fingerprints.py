"""The generated C is the same as it was, unless a commit says why not."""

from __future__ import annotations

import pytest

pytest.importorskip("flatbuffers", reason="the model writer needs the flatbuffers package")

import fingerprints

LARGE = ("vww", "mcunet", "mcunet v2")
HELD = [case for case in fingerprints.cases() if case[0] not in LARGE or case[1] in ("cortex-m4", "rv32imc")]
"""Of large models one core with kernels of its own and one without: the command looks at all."""


@pytest.mark.parametrize(("model", "target"), HELD)
def test_generated_code_is_what_it_was(model: str, target: str) -> None:
    name = fingerprints.key(model, target)
    changed = fingerprints.changes(name, fingerprints.load()[name], fingerprints.fingerprints(model, target))
    assert not changed, f"if this is on purpose, say why and run {fingerprints.UPDATE}"
