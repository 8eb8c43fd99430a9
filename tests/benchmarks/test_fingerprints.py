"""The generated C is the same as it was, unless a commit says why not."""

from __future__ import annotations

import pytest

import fingerprints
from tests.helpers.support import soaked

HELD = [case for case in fingerprints.cases() if case[0] in fingerprints.BUNDLED and case != ("keywords", "cortex-m55")]


@pytest.mark.parametrize(("model", "target"), soaked(fingerprints.cases(), HELD))
def test_generated_code_is_what_it_was(model: str, target: str) -> None:
    name = fingerprints.key(model, target)
    changed = fingerprints.changes(name, fingerprints.load()[name], fingerprints.fingerprints(model, target))
    assert not changed, f"if this is on purpose, say why and run {fingerprints.UPDATE}"
