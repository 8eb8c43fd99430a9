"""Checks of parameters of layers whose weights and biases are operands, and mutants of these. See `rooms.py`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from mote.compiler.kernels.catalogue import candidates, wanted_layouts
from mote.compiler.kernels.contract import Packed, View
from mote.compiler.kernels.helium import kernels as helium
from mote.compiler.lower.program import Form
from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.optimizers import Sgd
from mote.hardware import targets
from tests.compiler.kernels.learned_layers import Learners
from tests.compiler.kernels.rooms import Case, Collection, Rooms
from tests.compiler.kernels.test_learned_operands import (
    BIASES,
    IN_VECTORS,
    PLANAR,
    TO_EVEN,
    WHOLE,
    WHOLE_IN_VECTORS,
    with_masks,
)
from tests.compiler.passes.training.test_backward import constants, network
from tests.helpers.support import examples

MUTANTS = examples(400, 130)
LEARNED = ("learned", "weights", "mask")
"""Parts of the names of kernels that are tried here."""


def cases() -> list[Case]:
    """A call in every form of each kernel that has learned operands: portable ones, and those for Cortex-M4 and for
    Helium as their portable twins."""
    model = network()
    layers = Learners([layer for _, layer in (*IN_VECTORS, *WHOLE_IN_VECTORS)]).graph()
    collection = Collection(each=1, features=(targets.load("cortex-m4").features,))
    collection.add(Learners((*BIASES, *WHOLE, *TO_EVEN)).graph())
    planar = with_masks(Learners([layer for pair in PLANAR for _, layer in pair]).graph())
    for op in planar.ops:
        view, features = View(planar, (op,)), collection.features[0]
        for layout in wanted_layouts(view, features):
            view = replace(view, reads=layout)
            for packed in candidates(view, features):
                collection.note(view, packed)
    optimizer = Sgd(learning_rate=0.1)
    collection.add(training_graph(model, constants(model), Loss.SOFTMAX_CROSS_ENTROPY, optimizer))
    for view in (View(layers, (op,)) for op in layers.ops):
        for kernel in helium.KERNELS:
            packed = kernel.bind(view) if kernel.computed(view) else None
            if isinstance(packed, Packed):
                collection.note(view, packed)
    return [case for case in collection.cases if any(part in case.kernel.name for part in LEARNED)]


def test_what_is_admitted_breaks_nothing(tmp_path: Path) -> None:
    given = cases()
    assert {Form.WHOLE, Form.ROW, Form.EACH, Form.ROWS} == {case.form for case in given} and len(given) > 40
    rooms = Rooms(given, tmp_path)
    findings = rooms.run(MUTANTS)
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 20, rooms.admitted
