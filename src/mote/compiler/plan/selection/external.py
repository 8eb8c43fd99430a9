"""Kernels of external generators for the operators of a graph, in addition to those of the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mote.compiler.kernels.contract import NHWC, Call, Knob, Knobs, Layout, Packed
from mote.compiler.offload.contract import VARIANT, Offload, Offloaded
from mote.compiler.plan.plan import Step
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers


def with_external(inner: Candidates, offload: Offload | None, omitted: frozenset[Packed] = frozenset()) -> Candidates:
    """The candidates of a graph, extended by kernels of external generators except `omitted` ones."""
    return ExternalCandidates(inner, offload, omitted) if offload is not None and offload.generators else inner


class ExternalCandidates(Candidates):
    """Adds the artifacts of external generators to other candidates; not in control flow bodies, which run on the
    core."""

    def __init__(self, inner: Candidates, offload: Offload, omitted: frozenset[Packed] = frozenset()) -> None:
        super().__init__(inner.graph)
        self.inner, self.offload, self.omitted = inner, offload, omitted
        offered = {ops: [k for k in ks if k not in omitted] for ops, ks in offload.kernels(inner.graph).items()}
        self.artifacts: Mapping[Numbers, Sequence[Offloaded]] = {ops: ks for ops, ks in offered.items() if ks}

    def of(self, graph: Graph) -> Candidates:
        return ExternalCandidates(self.inner.of(graph), self.offload, self.omitted)

    def regions(self, how: Lowering) -> list[Numbers]:
        return list(dict.fromkeys((*self.inner.regions(how), *self.external_regions())))

    def external_regions(self) -> list[Numbers]:
        return [ops for ops in self.artifacts if len(ops) > 1]

    def with_knobs(self, ops: Numbers, how: Lowering, knobs: Knobs, named: str) -> list[Packed]:
        alternatives = [k for k in self.all_kernels(ops, how) if isinstance(k, Offloaded) and k.knobs == knobs]
        return [*alternatives, *(self.inner.with_knobs(ops, how, knobs, named) if self._is_known(ops, how) else ())]

    def knobs(self, ops: Numbers, how: Lowering) -> dict[str, Mapping[str, tuple[Knob, ...]]]:
        own: dict[str, Mapping[str, tuple[Knob, ...]]] = {}
        for kernel in self.artifacts.get(ops, ()):
            if kernel.artifact.variant and kernel.entry.call is not Call.ADDS:
                own[kernel.family] = {VARIANT: (*own.get(kernel.family, {}).get(VARIANT, ()), kernel.artifact.variant)}
        return own | (self.inner.knobs(ops, how) if self._is_known(ops, how) else {})

    def all_kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        plain = how.reads == NHWC == how.writes
        own = [k for k in self._fitting(ops, how) if plain and k.entry.call is not Call.ADDS]
        return [*own, *(self.inner.all_kernels(ops, how) if self._is_known(ops, how) else ())]

    def accumulating(self, ops: Numbers, how: Lowering) -> Packed | None:
        if self._is_known(ops, how):
            return self.inner.accumulating(ops, how)
        return next((k for k in self._fitting(ops, how) if k.entry.call is Call.ADDS), None)

    def ring_kernel(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self.inner.ring_kernel(ops, how) if self._is_known(ops, how) else None

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        return self.inner.wanted_layouts(ops, how) if self._is_known(ops, how) else []

    def refusal(self, ops: Numbers, kernel: str) -> str:
        names = [generator.name for generator in self.offload.generators]
        if kernel not in names:
            return self.inner.refusal(ops, kernel)
        reasons = [
            d.why for d in self.offload.built(self.graph).declined if d.generator == kernel and set(ops) <= set(d.ops)
        ]
        return f"{kernel}: {'; '.join(dict.fromkeys(reasons)) or 'it does not claim this layer'}"

    def _fitting(self, ops: Numbers, how: Lowering) -> Sequence[Offloaded]:
        """The artifacts of operators; for a model image only those that can be stored in it, or all if there are none,
        so that an error names them."""
        own = self.artifacts.get(ops, ())
        held = [k for k in own if k.artifact.image is not None]
        return held if how.fixed is not None and held else own

    def _is_known(self, ops: Numbers, how: Lowering) -> bool:
        """Whether the inner candidates may have a kernel for operators."""
        return len(ops) == 1 or ops in self.inner.regions(how)


class PlannedCandidates(ExternalCandidates):
    """Adds the artifacts that a plan contains to other candidates."""

    def __init__(self, inner: Candidates, steps: Iterable[Step]) -> None:
        Candidates.__init__(self, inner.graph)
        self.inner = inner
        self.artifacts = {step.ops: [step.kernel] for step in steps if isinstance(step.kernel, Offloaded)}

    def of(self, graph: Graph) -> Candidates:
        return self.inner.of(graph)
