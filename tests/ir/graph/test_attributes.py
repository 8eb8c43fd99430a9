"""Operators become dataclasses when they are first used."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from mote.ir.graph import Op


def _generated(kind: type[Op]) -> bool:
    return "__dataclass_fields__" in vars(kind)


class Scaled(Op):
    factor: float = 1.0


class Shifted(Scaled):
    by: int


def test_methods_are_generated_on_first_use() -> None:
    class Fresh(Op):
        width: int

    assert not _generated(Fresh)
    op = Fresh(inputs=(0,), outputs=(1,), width=3)
    assert _generated(Fresh)
    assert [f.name for f in fields(op)] == ["inputs", "outputs", "name", "index", "width"]
    with pytest.raises(FrozenInstanceError):
        op.width = 4  # type: ignore[misc]


def test_a_base_is_generated_before_its_subclass() -> None:
    assert _generated(Scaled)
    op = Shifted(inputs=(0,), outputs=(1,), factor=2.0, by=3)
    assert op == replace(op) == pickle.loads(pickle.dumps(op))
    assert op != replace(op, by=4)
    assert repr(op) == "Shifted(inputs=(0,), outputs=(1,), name='', index=-1, factor=2.0, by=3)"


def test_operators_may_be_compared_by_their_tensors_only() -> None:
    class Loose(Scaled, eq=False):
        by: int

    op = Loose(inputs=(0,), outputs=(1,), by=3)
    assert op == replace(op, by=4) != replace(op, factor=2.0)


def test_like_takes_the_attributes_that_both_have() -> None:
    op = Shifted(inputs=(0,), outputs=(1,), name="x", factor=2.0, by=3)
    assert Scaled.like(op) == Scaled(inputs=(0,), outputs=(1,), name="x", factor=2.0)
    assert Shifted.like(Scaled.like(op), by=5) == replace(op, by=5)
