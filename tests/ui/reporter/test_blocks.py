"""Blocks of long networks: every node once and in order, never too many parts side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ui.reporter.blocks import MOST, DrawnNode, FoldedBlock, Part, blocks, pieces


def chain(kinds: Iterable[str], size: tuple[int, ...] = ()) -> list[DrawnNode]:
    return [DrawnNode(kind, (place - 1,) if place else (), size) for place, kind in enumerate(kinds)]


def every(parts: Iterable[Part]) -> Iterator[FoldedBlock]:
    for part in parts:
        if isinstance(part, FoldedBlock):
            yield part
            yield from every(part.parts)


@st.composite
def networks(draw: st.DrawFn) -> list[DrawnNode]:
    nodes: list[DrawnNode] = []
    for place in range(draw(st.integers(13, 40))):
        reads = draw(st.sets(st.integers(max(0, place - 4), place - 1), max_size=3)) if place else set()
        size = draw(st.sampled_from([(), (8, 8), (4, 4)]))
        nodes.append(DrawnNode(draw(st.sampled_from(["", "CONV_2D", "ADD"])), tuple(sorted(reads)), size))
    return nodes


@given(networks())
@settings(max_examples=40)
def test_every_node_is_in_the_drawing_once(nodes: list[DrawnNode]) -> None:
    parts = blocks(nodes)
    assert FoldedBlock("", parts).nodes == list(range(len(nodes)))
    assert all(len(block.parts) > 1 for block in every(parts))
    cut = pieces(nodes)
    assert [node for piece in cut for node in piece] == list(range(len(nodes)))
    for piece in cut:
        later = {read for node in nodes[piece[-1] + 1 :] for read in node.reads if read <= piece[-1]}
        assert len(later) <= 1


def test_a_short_network_is_not_folded() -> None:
    assert blocks(chain(["CONV_2D"] * MOST)) == tuple(range(MOST))


def test_a_residual_block_stays_together() -> None:
    nodes = chain(["CONV_2D"] * 20)
    nodes[7] = DrawnNode("ADD", (4, 6))
    assert FoldedBlock("Residual block", (5, 6, 7)) in every(blocks(nodes))


def test_stages_have_one_resolution() -> None:
    nodes = [*chain(["CONV_2D"] * 9, (8, 8)), *(DrawnNode("CONV_2D", (p - 1,), (4, 4)) for p in range(9, 18))]
    assert [part.title for part in blocks(nodes) if isinstance(part, FoldedBlock)] == ["Stage 8x8", "Stage 4x4"]


def test_repeated_patterns_become_blocks() -> None:
    parts = blocks(chain(["CONV_2D", *["MATMUL", "ADD", "LAYER_NORM"] * 6, "SOFTMAX"]))
    assert [part.title for part in parts if isinstance(part, FoldedBlock)] == [
        f"Repetition {k} of 6" for k in range(1, 7)
    ]


def test_a_long_run_of_one_operator_has_few_parts() -> None:
    parts = blocks(chain(["CONV_2D"] * 400))
    assert len(parts) <= 2 * MOST and all(len(block.parts) <= 2 * MOST for block in every(parts))
