"""DYNAMIC_UPDATE_SLICE of a state writes into the state, without ASSIGN_VARIABLE."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mote.compiler.passes.streaming import update_states
from mote.ir.graph.types import StateRole
from mote.ir.ops.indexing.scatter import StateUpdate
from tests.compiler.passes.before_after import graph, kinds, over_time
from tests.helpers.network import Net
from tests.helpers.streams import Variable


@pytest.mark.parametrize("seen", [False, True])
def test_a_cache_is_written_in_place(seen: bool) -> None:
    """Unless the updated cache is an output, which must not lie in the state."""
    net = Net(dtype="float32")
    x = net.input(1, 3)
    cache = Variable(net, np.zeros((4, 3), np.float32))
    updated = net.op("DYNAMIC_UPDATE_SLICE", [cache.read(), x, net.ints(2, 0)], (4, 3))
    cache.assign(updated)
    before = graph(net, net.op("TANH", [updated]), *([updated] if seen else []))
    before = replace(before, states=tuple(replace(s, role=StateRole.LEARNED) for s in before.states))
    after = update_states.run(before)
    assert [s.role for s in after.states] == [StateRole.LEARNED]
    assert kinds(before) == ["DYNAMIC_UPDATE_SLICE", "TANH", "ASSIGN_VARIABLE"]
    assert kinds(after) == (kinds(before) if seen else ["DYNAMIC_UPDATE_SLICE", "TANH"])
    assert isinstance(after.ops[0], StateUpdate) != seen
    for want, got in zip(over_time(before, 3), over_time(after, 3), strict=True):
        assert np.array_equal(want, got)
