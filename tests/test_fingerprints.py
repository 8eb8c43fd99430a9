"""The generated C is the same as it was, unless a commit says why not."""

from __future__ import annotations

import pytest

import fingerprints

SMALL = ("ad", "kws", "sww", "ic float32")
HELD = [
    (model, core)
    for model, core in fingerprints.cases()
    if model in fingerprints.BUNDLED or (model in SMALL and core == "cortex-m4")
]
"""Of small generated models the core with most kernels of its own: the command looks at all models on all cores."""


@pytest.mark.parametrize(("model", "target"), HELD)
def test_generated_code_is_what_it_was(model: str, target: str) -> None:
    name = fingerprints.key(model, target)
    changed = fingerprints.changes(name, fingerprints.load()[name], fingerprints.fingerprints(model, target))
    assert not changed, f"if this is on purpose, say why and run {fingerprints.UPDATE}"
