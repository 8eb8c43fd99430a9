"""Checks of parameters of kernels that the bundled models do not have: layers as the tests of their operators make
them, and mutants of these. See `rooms.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mote import frontends
from mote.compiler.kernels.contract import Call
from mote.compiler.lower.program import Form
from tests.compiler.kernels.rooms import Case, Collection, Rooms
from tests.frontends.features.postprocess import test_steps as test_decisions
from tests.helpers import idioms
from tests.helpers.support import examples, fuzzed
from tests.ir.ops import test_places, test_real_bounds, test_sequences
from tests.ir.ops.classical import test_detection
from tests.ir.ops.classical import test_distances_svm as test_vectors
from tests.ir.ops.elementwise import pair_models
from tests.ir.ops.elementwise import test_activations as test_unary
from tests.ir.ops.elementwise import test_binary_integer as test_whole
from tests.ir.ops.elementwise import test_float_math as test_angles
from tests.ir.ops.elementwise import test_unary_math as test_functions
from tests.ir.ops.features import test_filters, test_images, test_micro, test_motion, test_spectral
from tests.ir.ops.indexing import test_gather as test_lookup
from tests.ir.ops.indexing import test_scatter
from tests.ir.ops.learning import test_gaussian, test_linear, test_neighbors, test_one_class, test_prototypes
from tests.ir.ops.matrix import test_batch_matmul, test_blockwise
from tests.ir.ops.recurrent import lstm_models, test_svdf
from tests.ir.ops.recurrent import test_sequences as test_recurrent
from tests.ir.ops.reductions import test_along_axis as test_along
from tests.ir.ops.reductions import test_reduce
from tests.ir.ops.signal import signal_models
from tests.ir.ops.signal import test_rfft2d as test_spectrum
from tests.ir.ops.training import test_kernels as test_training
from tests.ir.ops.training.integer import test_input_gradients as test_integer_gradients
from tests.ir.ops.training.integer import test_steps as test_integer_steps

T = TypeVar("T")
MUTANTS = examples(150)
KERNELS = 2
"""Of each header: most differ in types only, and compiling them takes longer than all their mutants do."""
ELSEWHERE = ("conv", "depthwise", "fully_connected", "join", "layer", "move", "pool", "resize", "strides")
"""What headers begin with that other tests are for."""


def drawn(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """Always the same examples."""
    found: list[T] = []

    @settings(
        max_examples=count, derandomize=True, database=None, phases=[Phase.generate], deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def take(example: T) -> None:
        found.append(example)

    take()
    return found


def models() -> Iterator[bytes]:
    yield test_along.model(*drawn(test_along.configs(), 24))
    yield test_blockwise.every_kernel()
    yield test_batch_matmul.model(*drawn(test_batch_matmul.configs(), 24))
    yield test_detection.model(*drawn(test_detection.configs(), 6))
    yield test_functions.model(drawn(test_functions.words() | test_functions.bytes_(), 24), 2, 3, 4, 5)
    yield test_lookup.model(drawn(test_lookup.any_lookup(), 24))
    yield lstm_models.model(*drawn(lstm_models.any_kind(), 12))
    yield pair_models.every_kernel()
    yield test_reduce.model(*drawn(test_reduce.configs(), 40))
    yield test_scatter.model(drawn(test_scatter.KINDS, 30))
    yield test_sequences.model(*test_sequences.MANY)
    yield signal_models.everything()
    yield test_spectrum.model(*test_spectrum.MANY)
    yield test_svdf.model(*drawn(test_svdf.configs(states=("int8", "int16")), 12))
    yield test_unary.model(*drawn(test_unary.configs(), 24))


@cache
def few() -> tuple[Case, ...]:
    """Calls of some kernels, in every form."""
    collection = Collection(each=1)
    for data in (
        test_batch_matmul.model(*drawn(test_batch_matmul.configs(), 4)),
        test_lookup.model(drawn(test_lookup.any_lookup(), 4)),
        test_reduce.model(*drawn(test_reduce.configs(), 6)),
    ):
        collection.add(frontends.read(frontends.source_of(data)).partial())
    return tuple(case for case in collection.cases if not case.kernel.headers[0].startswith(ELSEWHERE))


@cache
def cases() -> tuple[Case, ...]:
    """A call of some kernels of each header, in every form."""
    collection, kept = Collection(each=1), dict[str, set[str]]()
    for data in models():
        collection.add(frontends.read(frontends.source_of(data)).partial())
    for network in (test_recurrent.network(judged=False), test_real_bounds.network()[0]):
        collection.add(network.graph())
    for vectors in reversed(test_vectors.cases()):
        collection.add(vectors.graph)
    others = (*test_angles.every(), *test_images.every(), *test_motion.cases(), *test_spectral.every())
    for alone in (*test_places.every(), *test_whole.cases(0, "int16", "uint64"), *others):
        collection.add(alone.graph)
    filters = test_filters.everything(), test_filters.features(), test_filters.streamed()
    kinds = (
        test_prototypes,
        test_neighbors,
        test_one_class,
        test_gaussian,
        test_linear,
        test_training,
        test_integer_steps,
        test_integer_gradients,
    )
    learners = [graph for kind in kinds for graph in kind.several()]
    for graph in (*learners, *test_decisions.every_step(), *test_micro.every(), *filters):
        collection.add(graph)
    for dtype in idioms.NORMS:
        collection.add(idioms.optimized(idioms.norms(dtype)))
    for case in collection.cases:
        names = kept.setdefault(case.kernel.headers[0], set())
        if len(names) < KERNELS:
            names.add(case.kernel.name)
    return tuple(
        case
        for case in collection.cases
        if case.kernel.name in kept[case.kernel.headers[0]] and not case.kernel.headers[0].startswith(ELSEWHERE)
    )


@fuzzed
def test_what_is_admitted_breaks_nothing(tmp_path: Path) -> None:
    nothing_breaks(cases(), tmp_path)


def test_what_is_admitted_breaks_none_of_a_few(tmp_path: Path) -> None:
    nothing_breaks(few(), tmp_path)


def nothing_breaks(given: Sequence[Case], folder: Path) -> None:
    rooms = Rooms(given, folder)
    findings = rooms.run(MUTANTS)
    print(f"{rooms.tried} mutants tried, {sum(rooms.admitted.values())} of them admitted and run")
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 20, rooms.admitted


def test_every_way_to_call_kernels_is_tried() -> None:
    assert {Form.WHOLE, Form.EACH, Form.ROW, Form.SUMS} <= {case.form for case in few()}
    assert {Call.FLAT, Call.ROWS, Call.WHOLE, Call.ADDS} <= {case.packed.entry.call for case in few()}
