"""`mote verify`: compares every tensor that the generated code computes with the reference.

int8 (and every other integer) must be equal bit for bit. float32 may differ by the order of additions, within what
`mote.ir.graph.tolerance` allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mote.base.deferred import deferred
from mote.base.errors import MoteError, explaining, naming
from mote.base.files import temporary_folder
from mote.base.progress import Say, counted, silent
from mote.base.results import ItemTable, Result
from mote.bench.evaluation import external
from mote.bench.evaluation.inferences import posed
from mote.bench.execute import reference
from mote.bench.execute.format_references import runtime
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import Bench, bench
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import Firmware, firmware
from mote.compiler.kernels.contract import NHWC, Layout
from mote.compiler.offload.contract import Offloaded
from mote.compiler.options.parsing import check_at_least
from mote.compiler.passes.training.spec import Learner
from mote.compiler.plan.scheduling.rows import PushedInput
from mote.compiler.prepared_graph import PreparedGraph
from mote.compiler.settings import Settings
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.interruption import Interruption, interruption_lines
from mote.frontends import Format, Source
from mote.frontends.data.dataset import dataset
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import code_axis
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import allowed_difference, compare

if TYPE_CHECKING:
    from mote.compiler.passes.folding import simplify_control
    from mote.compiler.passes.rewriting import tflm_numerics
else:
    simplify_control = deferred("mote.compiler.passes.folding.simplify_control")
    tflm_numerics = deferred("mote.compiler.passes.rewriting.tflm_numerics")

Case = Mapping[int, Array]
"""Inputs of an inference, by tensor id."""
Wanted = Callable[[Mapping[int, Array], Tensor], Array]
"""Extracts the expected value of a tensor from a reference's values."""
USUAL = 8
"""Default number of generated inputs."""
HALF_INPUTS = 4
"""Number of generated inputs for comparing half precision with float32."""
MOST_SHOWN = 64 << 20
"""Memory limit in bytes for traces of one run."""


@dataclass(frozen=True)
class Mismatch:
    tensor: int
    """Tensor id: its index in the model file."""
    name: str
    """The name of the tensor."""
    number: str
    """Layer number in the model; empty for an output of the model."""
    op: str
    """Kind of the operator that computes it."""
    input: int
    """Index of the input on which it differs."""
    differing: int
    """Number of differing elements."""
    max_abs_diff: float
    """The largest difference of an element."""
    allowed: float
    """Allowed element difference; 0 for integers."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True, repr=False)
class VerifyResult(Result):
    """Result of `mote verify`."""

    LINE = "of {model!r} on {target}: {verdict}"
    FACTS = "verified=passed, bit-exact=exact, tensors, inputs"
    ROWS = ItemTable(
        "mismatches",
        "#=number, op, tensor=name, input, elements that differ=differing, largest difference=max_abs_diff, allowed",
        left=3,
    )

    model: str
    """Model file name, or a description of the model object."""
    target: str
    """Name of the target."""
    passed: bool
    """Whether integers are equal, and floats within rounding tolerance."""
    exact: bool
    """Whether everything is bit-exact."""
    tensors: int
    """Number of tensors compared on each input."""
    mismatches: list[Mismatch]
    """Tensors that differ."""
    max_abs_diff: float
    """The largest difference of an element."""
    max_share: float
    """Largest difference relative to the tensor's tolerance (`mote.ir.graph.tolerance`)."""
    max_steps: int
    """Largest integer difference: 0, unless floats near a half were quantized on the way."""
    reference: str
    """Name of the reference."""
    inputs: int
    """Number of inputs."""
    interruptions: tuple[Interruption, ...] = ()
    """Board resets and losses during the run, and what was rerun."""

    @property
    def verdict(self) -> str:
        """Verdict in words."""
        said = "bit-exact" if self.exact else "equal within rounding" if self.passed else "DIFFERENT"
        bad = f", {len(self.mismatches):,} mismatches" if self.mismatches else ""
        return f"{said}{bad}, {self.tensors:,} tensors on {self.inputs:,} inputs against {self.reference}"

    def _notes(self) -> list[str]:
        return [self.reference, *interruption_lines(self.interruptions)]


@explaining()
def verify(
    compiled: Compiled,
    inputs: int | None = None,
    *,
    data: Any = None,
    seed: int = 0,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | BoardEntry | None = None,
    sanitize: bool = False,
    say: Say = silent,
) -> VerifyResult:
    """Run the generated code on `inputs` inputs and compare each step's output with a reference: LiteRT's reference
    kernels, or the own runtime of other formats; if that is not installed or LiteRT rejects the file, Mote's NumPy
    reference. The result names it. Inputs are 8 generated ones, or the first `inputs` of `data`
    (`mote.frontends.data.dataset`)."""
    subject = judged(compiled)
    given = None if data is None else cases_of(subject.graph, data, compiled.settings)
    tools: dict[str, Any] = {"compiler": compiler, "emulator": emulator, "board": board}
    return compared(subject, inputs, given, seed=seed, **tools, sanitize=sanitize, say=say)


def cases_of(graph: Graph, data: Any, settings: Settings) -> Sequence[Case]:
    """Splits a user's data into inferences of a graph."""
    return posed(graph, dataset(data, several=False), axis=settings.stream).cases


def judged(compiled: Compiled) -> Judged:
    """A compiled model as the subject of a comparison."""
    plan, graph = compiled.plan, compiled.plan.graph
    works = [
        TracedLayer(
            i,
            plan.number(steps[0]),
            op.kind,
            [graph.tensors[t] for t in plan.shown(op)],
            {op.outputs[0]: plan.traced(steps)},
            {t: plan.place[t].layout for t in plan.shown(op)},
            bool(op.bodies),
            steps[0].kernel.artifact.tolerance if isinstance(steps[0].kernel, Offloaded) else 0.0,
            graph.short_name(op),
        )
        for i, (op, steps) in enumerate(plan.works)
        if not isinstance(op, PushedInput)
    ]
    subject = firmware(compiled)
    apart = external.parts(plan)
    return Judged(compiled.path, subject, compiled.settings, compiled.prepared, graph, compiled.file, works, apart)


@dataclass(frozen=True)
class TracedLayer:
    """A layer whose outputs are traced."""

    place: int
    """Index among the plan's works, by which traces are identified."""
    number: str
    kind: str
    tensors: list[Tensor]
    rows: Mapping[int, Sequence[int]]
    """Traced rows by tensor id, in order; all rows of tensors not listed."""
    layouts: Mapping[int, Layout]
    bodies: bool
    """Whether it runs in a control flow body, whose tensors the reference may not expose."""
    tolerance: float = 0.0
    """Absolute tolerance, for external generators."""
    short: str = ""
    """The layer's short name, the same in all reports."""

    def rows_of(self, tensor: Tensor) -> Sequence[int]:
        return self.rows.get(tensor.id, range(row_count(tensor.shape)))


@dataclass(frozen=True)
class Judged:
    """Subject of a comparison: a firmware and the model that it implements."""

    path: str
    firmware: Firmware
    settings: Settings
    prepared: PreparedGraph
    graph: Graph
    """The planned graph."""
    model: Source
    works: Sequence[TracedLayer]
    apart: Sequence[external.ExternalPart] = ()
    """Regions of external generators that need not be bit-exact."""

    @property
    def source(self) -> Graph:
        """The model graph as read."""
        return self.prepared.source


def compared(
    judged: Judged,
    inputs: int | None,
    given: Sequence[Case] | None = None,
    *,
    seed: int,
    compiler: str | None,
    emulator: str | None,
    board: str | BoardEntry | None = None,
    sanitize: bool = False,
    say: Say = silent,
) -> VerifyResult:
    """Runs the firmware on the first `inputs` given cases, or on generated ones, and compares all tensors with the
    reference."""
    if judged.firmware.not_run:
        return _compared_without_running(judged, chosen_cases(judged.graph, inputs, given, seed, judged.source))
    before = _runs_before_a_window(judged)
    cases = chosen_cases(judged.graph, inputs, given, seed, judged.source, before)
    answer, name, wanted = oracle(judged)
    magnitudes = reference.magnitudes(judged.graph)
    judge, done = Judge(), counted(say, "compared inputs")
    seen: set[int] = set()
    alone = set(judged.graph.outputs) - {tensor.id for work in judged.works for tensor in work.tensors}
    with (
        temporary_folder() as folder,
        bench(judged.firmware, folder, compiler=compiler, emulator=emulator, board=board, sanitize=sanitize) as on,
    ):
        for i, (case, shown) in enumerate(zip(cases, _executed(on, judged, cases), strict=True)):
            expected, sizes = answer(case), magnitudes(case)
            if judged.apart:
                expected, wanted = _followed(judged, case, shown), _itself
            if expected is not None:
                seen |= _compare(judge, judged, i, shown, expected, sizes, wanted)
            done(i + 1, len(cases))
        facts = on.facts
    return replace(
        judge.result(judged.path, judged.firmware.target.name, len(seen) + len(alone), name, len(cases) - before),
        interruptions=() if facts is None else facts.interruptions,
    )


def _followed(judged: Judged, case: Case, shown: _Shown) -> Mapping[int, Array]:
    """Expected values, computed from the actual outputs of external regions."""
    works = {work.place: work for work in judged.works}

    def given(part: external.ExternalPart) -> dict[int, Array]:
        tensors = works[part.place].tensors
        flat = np.frombuffer(shown.layers[part.place], tensors[0].dtype.numpy)
        return {t.id: values.reshape(t.shape) for t, values in zip(tensors, _parts(flat, tensors), strict=True)}

    return external.followed(judged.graph, judged.apart, case, given)[0]


def _compared_without_running(judged: Judged, cases: Sequence[Case]) -> VerifyResult:
    """Compares the results that external generators report for their layers, if the model cannot be run here."""
    if any(part.is_run for part in judged.apart):
        raise MoteError(
            "one of its layers is judged by running it, another one cannot be run here",
            remedy="verify them one by one, with one --backend each",
        )
    graph, judge = judged.graph, Judge()
    works = [work for work in judged.works if work.place in {part.place for part in judged.apart}]
    subject = replace(judged, works=works)
    for i, case in enumerate(cases):
        expected, known = external.followed(graph, judged.apart, case, lambda part: {})
        layers = {work.place: b"".join(known[t.id].tobytes() for t in work.tensors) for work in works}
        shown = _Shown(layers, [known[t].tobytes() for t in graph.outputs])
        _compare(judge, subject, i, shown, expected, reference.magnitudes(graph)(case), _itself)
    layers_not_run = ", ".join(judged.firmware.not_run)
    name = f"numpy (not run here: layer {layers_not_run}, as its generator says; no other layer was run)"
    return judge.result(judged.path, judged.firmware.target.name, len(works), name, len(cases))


def chosen_cases(
    graph: Graph,
    inputs: int | None,
    given: Sequence[Case] | None,
    seed: int,
    source: Graph | None = None,
    before: int = 0,
) -> Sequence[Case]:
    """The first `inputs` given cases (default all); if none are given, generated ones plus `before` more."""
    check_at_least("seed", seed, 0)
    if inputs is not None:
        check_at_least("inputs", inputs, 1)
    if given is None:
        return stimuli(graph, (USUAL if inputs is None else inputs) + before, seed, source)
    chosen = given if inputs is None else given[:inputs]
    if len(chosen) <= before:
        raise MoteError(
            f"{len(chosen)} inputs are no whole window of the stream, which takes {before + 1}",
            where="option data",
            remedy="give more of them",
        )
    return chosen


@dataclass(frozen=True)
class _Shown:
    """Traced layers and outputs of one inference."""

    layers: Mapping[int, bytes]
    outputs: Sequence[bytes]


def _executed(on: Bench, judged: Judged, cases: Sequence[Case]) -> Iterator[_Shown]:
    """Runs and traces all inferences, in as many runs as memory requires; a stateful model needs a single run."""
    graph = judged.graph
    nbytes = sum(tensor.nbytes for work in judged.works for tensor in work.tensors)
    most = len(cases) if graph.states else max(1, MOST_SHOWN // max(nbytes, 1))
    for first in range(0, len(cases), most):
        raw = [[case[t].tobytes() for t in graph.inputs] for case in cases[first : first + most]]
        run = on.execute(Mode.DUMP, raw)
        yield from map(_Shown, run.dumps, run.outputs)


def _compare(
    judge: Judge,
    judged: Judged,
    case: int,
    shown: _Shown,
    expected: Mapping[int, Array],
    sizes: Mapping[int, float],
    wanted: Wanted,
) -> set[int]:
    """Compares a traced inference with expected values; returns the layers that were compared."""
    graph, by_name = judged.graph, judged.model.format != Format.TFLITE
    near = {tensor.id: work.tolerance for work in judged.works for tensor in work.tensors}
    seen = set()
    for t, raw_output in zip(graph.outputs, shown.outputs, strict=True):
        tensor = graph.tensors[t]
        want = wanted(expected, tensor).reshape(-1)
        got = np.frombuffer(raw_output, tensor.dtype.numpy)
        judge.compare(tensor, "", "output", case, got, want, sizes.get(t, 0.0), near.get(t, 0.0))
    for work in judged.works:
        data = shown.layers.get(work.place, b"")
        with _sent(work, data):
            parts = _parts(np.frombuffer(data, work.tensors[0].dtype.numpy), work.tensors)
        for tensor, part in zip(work.tensors, parts, strict=True):
            rows = list(work.rows_of(tensor))
            if tensor.inner or ((work.bodies or by_name) and tensor.source not in expected):
                continue
            seen.add(work.place)
            want = wanted(expected, tensor).reshape(row_count(tensor.shape), -1)[rows]
            layout = work.layouts[tensor.id]
            with _sent(work, data):
                got = layout.load(part, (len(rows), *tensor.shape[-2:]) if layout != NHWC else want.shape)
            size = sizes.get(tensor.id, 0.0)
            got = got.reshape(want.shape)
            judge.compare(tensor, work.number, work.kind, case, got, want, size, work.tolerance, work.short)
    return seen


@contextmanager
def _sent(work: TracedLayer, data: bytes) -> Iterator[None]:
    """Context manager: reports a trace of wrong size as an error of its layer."""
    try:
        yield
    except ValueError:
        raise MoteError(
            f"its trace has {len(data):,} bytes, which are not those of its tensors",
            where=f"layer {work.number} {work.kind}",
            remedy="build the firmware anew with this version of Mote",
        ) from None


@dataclass
class Judge:
    """Collects mismatches and the largest difference over many tensor comparisons."""

    mismatches: list[Mismatch] = field(default_factory=list)
    worst: float = 0.0
    share: float = 0.0
    steps: int = 0

    def compare(
        self,
        tensor: Tensor,
        number: str,
        op: str,
        case: int,
        got: Array,
        want: Array,
        magnitude: float,
        tolerance: float = 0.0,
        short: str = "",
    ) -> None:
        diff, bad = compare(got, want, magnitude)
        allowed = max(allowed_difference(want, magnitude), tolerance)
        if tolerance:
            bad = int(np.count_nonzero(np.abs(got.astype(np.float64) - want.astype(np.float64)) > allowed))
        self.worst = max(self.worst, diff)
        self.share = max(self.share, diff / allowed if allowed else 0.0)
        self.steps = max(self.steps, int(diff) if tensor.dtype.integer else 0)
        if bad:
            self.mismatches.append(Mismatch(tensor.id, tensor.name, number, op, case, bad, diff, allowed, short))

    def result(self, path: str, target: str, tensors: int, reference: str, inputs: int) -> VerifyResult:
        return VerifyResult(
            model=path,
            target=target,
            passed=not self.mismatches,
            exact=not self.mismatches and self.worst == 0,
            tensors=tensors,
            mismatches=self.mismatches,
            max_abs_diff=self.worst,
            max_share=self.share,
            max_steps=self.steps,
            reference=reference,
            inputs=inputs,
        )


def _parts(flat: Array, tensors: list[Tensor]) -> list[Array]:
    """Splits the trace of an operator into its tensors."""
    return np.split(flat, np.cumsum([t.size for t in tensors])[:-1]) if len(tensors) > 1 else [flat]


def _runs_before_a_window(judged: Judged) -> int:
    """Number of streaming inferences before the first full window."""
    if judged.settings.stream is None:
        return 0
    axis = code_axis(judged.source.tensors[judged.source.inputs[0]], judged.settings.stream)
    size, fresh = (g.tensors[g.inputs[0]].shape[axis] for g in (judged.source, judged.graph))
    return -(-size // fresh) - 1


def _of_source(values: Mapping[int, Array], tensor: Tensor) -> Array:
    return tensor.part(values[tensor.source])


def _itself(values: Mapping[int, Array], tensor: Tensor) -> Array:
    return values[tensor.id]


def oracle(judged: Judged) -> tuple[reference.Reference, str, Wanted]:
    """The reference of a compiled model (a function of the planned graph's inputs), its name, and the mapping of its
    values to the planned graph's tensors. Preprocessing and post-processing are defined by Mote's NumPy
    implementation."""
    settings = judged.settings
    if settings.numerics == "half":
        return reference.numpy(judged.graph), f"numpy (half precision: {_half_error(judged)})", _itself
    if settings.causal:
        return reference.numpy(judged.graph), "numpy (causal stream)", _itself
    answer, name = _of_model(judged)
    front = judged.prepared.front
    taken = front.graph.outputs if front else judged.graph.inputs

    def of_model(case: Case) -> Mapping[int, Array] | None:
        return answer(source_inputs(judged.source, judged.graph, case, taken))

    whole: reference.Reference = of_model
    if front is not None:
        whole, name = reference.behind(front.graph, of_model), f"NumPy preprocessing, then {name}"
    back = judged.prepared.back
    if back is not None:
        whole, name = reference.before(back.graph, whole, judged.graph), f"{name}, then NumPy post-processing"
    return whole, name, _of_source


def _of_model(judged: Judged) -> tuple[reference.Reference, str]:
    """The reference of the model in its file, and its name."""
    settings = judged.settings
    if isinstance(settings.train, Learner):
        answer, name = reference.numpy(judged.prepared.learning), "numpy (a learner is behind the model's layers)"
    elif judged.model.format != Format.TFLITE:
        with naming(judged.path):
            answer, name = runtime(judged.model, judged.source)
    elif reference.micro_only(judged.source):
        answer, name = _micro(judged)
    elif settings.numerics == "tflm":
        answer, name = reference.numpy(_with_numerics(judged)), "numpy (TFLite Micro numerics)"
    elif mistakes := _mistakes(judged.source):
        answer, name = reference.numpy(judged.source), f"numpy ({mistakes})"
    elif reference.litert_installed():
        answer, name = _litert(judged)
    else:
        answer, name = reference.numpy(judged.source), "numpy"
    if settings.stream is not None:
        tensor = judged.source.tensors[judged.source.inputs[0]]
        axis = code_axis(tensor, settings.stream)
        answer, name = reference.windowed(answer, axis, tensor.shape[axis]), f"{name} on every window"
    return answer, name


def _half_error(judged: Judged) -> str:
    """Describes the error of half-precision outputs against float32 on generated inputs."""
    graph, source = judged.graph, judged.source
    most = share = 0.0
    for case in stimuli(graph, HALF_INPUTS, source=source):
        made = graph.evaluate(case)
        real = source.evaluate(source_inputs(source, graph, case, graph.inputs))
        for t in graph.outputs:
            want = _of_source(real, graph.tensors[t]).astype(np.float64)
            off = float(np.abs(made[t] - want.reshape(made[t].shape)).max(initial=0.0))
            reach = float(want.max(initial=0.0) - want.min(initial=0.0))
            most, share = max(most, off), max(share, off / reach if reach else 0.0)
    return f"outputs are within {most:.3g} of float32's, {share:.2%} of their range"


def _litert(judged: Judged) -> tuple[reference.Reference, str]:
    """LiteRT's reference kernels, or Mote's reference for a file that LiteRT rejects."""
    try:
        litert = reference.litert_of(judged.model, judged.source)
    except reference.RefusedError as error:
        return reference.numpy(judged.source), f"numpy ({error.reason})"
    return reference.meaningful(litert, judged.source), "LiteRT BUILTIN_REF"


def _micro(judged: Judged) -> tuple[reference.Reference, str]:
    """TFLite Micro, if installed, for a model that LiteRT cannot run."""
    tflm, source = _with_numerics(judged), judged.source
    followed = judged.settings.numerics == "tflm"
    if not followed and tflm.ops != source.ops:
        why = "LiteRT does not know all layers, TFLite Micro has other numerics"
    elif missing := reference.micro_missing():
        why = missing
    else:
        try:
            return reference.micro(judged.model.data, source), "TFLite Micro"
        except MoteError:
            why = "TFLite Micro does not run the model"
    return reference.numpy(tflm if followed else source), f"numpy ({why})"


def _mistakes(source: Graph) -> str:
    """Reasons to use Mote's reference instead of LiteRT's reference kernels, which compute some operators wrongly or
    lack them."""
    return ", ".join(dict.fromkeys(reason for op in source.ops if (reason := op.misjudged(source))))


def _with_numerics(judged: Judged) -> Graph:
    return simplify_control.everywhere(tflm_numerics.run)(judged.source)


def source_inputs(source: Graph, graph: Graph, case: Mapping[int, Array], taken: Sequence[int]) -> dict[int, Array]:
    """Converts inputs of the compiled model (tensors `taken`) to inputs of the source model: with `--io int8` the file
    takes floats, which its QUANTIZE turns into the same int8 values."""
    inputs = {}
    for before, after in zip(source.inputs, taken, strict=True):
        value = case[after]
        if before != after:
            t = graph.tensors[after]
            value = ((value.astype(np.float32) - np.float32(t.zero_point)) * np.float32(t.scale)).astype(np.float32)
        inputs[before] = value
    return inputs
