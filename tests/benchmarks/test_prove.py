"""Proofs for every input: Frama-C finds nothing in the small models, which reach every portable kernel."""

from __future__ import annotations

import re
import shutil
from functools import cache

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import prove

needs_frama_c = pytest.mark.skipif(shutil.which("frama-c") is None, reason="frama-c is not installed")

USUAL = [
    ("layers", "pushed"),
    ("layers float", "stream"),
    ("recurrent", "caller arena"),
    ("moves", "layers"),
    ("coded", "coded"),
]


@cache
def proof(model: str, mode: str) -> prove.Proof:
    compiled = prove.compiled_as(model, mode)
    assert compiled is not None
    return prove.prove(compiled, (model, mode, prove.MACHINES[0]))


@pytest.mark.quick_cases(1)
@needs_frama_c
@pytest.mark.parametrize(("model", "mode"), USUAL)
def test_nothing_can_go_wrong_in_a_model_of_each_mode(model: str, mode: str) -> None:
    assert not proof(model, mode).findings


@needs_frama_c
@pytest.mark.slow
def test_nothing_can_go_wrong_in_small_models() -> None:
    """One test, so that one process does all of them and knows what was reached."""
    found = [proof(*case) for case in prove.QUICK]
    assert not [f"{p.model}, {p.mode}: {f}" for p in found for f in p.findings]
    reached = {name for p in found for name in p.reached}
    missing = prove.kernel_functions().keys() - reached
    assert missing == prove.UNREACHED.keys(), "a kernel's functions need a proof: see benchmarks/provable.py"


@pytest.mark.quick_cases(1)
@needs_frama_c
@pytest.mark.parametrize(
    ("file", "what", "instead", "kind"),
    [
        ("mote_dot_s8.h", r"a0 = MOTE_PLUS\(a0, x_ \* v_\);", "a0 += x_ * v_ * 100000;", "signed_overflow"),
        ("net.c", r"uint8_t bytes\[\d+\]", "uint8_t bytes[4]", "precondition of Frama_C_make_unknown"),
        ("net_constants.h", r"int8_t (\w+)\[\d+\]", r"int8_t \1[1]", "mem_access"),
    ],
)
def test_what_can_go_wrong_is_found(file: str, what: str, instead: str, kind: str) -> None:
    """A sum without a bound, an arena that is too small, and weights that are missing."""
    compiled = prove.compiled_as("window", "layers")
    assert compiled is not None
    files = compiled.project.files
    files[file], count = re.subn(what, instead, files[file])
    assert count
    kinds = {f.kind for f in prove.prove(compiled, ("window", "broken", prove.MACHINES[0])).findings}
    assert kind in kinds
