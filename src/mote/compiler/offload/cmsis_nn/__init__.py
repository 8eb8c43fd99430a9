"""The backend `cmsis-nn`: operators computed by functions of Arm's CMSIS-NN, from the user's copy of its sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.cmsis_nn.calls import CALLERS
from mote.compiler.offload.cmsis_nn.costs import CALL, cycles, linked
from mote.compiler.offload.cmsis_nn.files import (
    HEADER,
    INCLUDE,
    ONCE,
    OWN,
    checkout,
    contents,
    foreign,
    once_files,
    sources,
)
from mote.compiler.offload.cmsis_nn.sizes import MVE
from mote.compiler.offload.contract import Artifact
from mote.compiler.offload.library.generator import LibraryGenerator
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op


class CmsisNN(LibraryGenerator):
    """Computes single operators, each by one function of CMSIS-NN, with the results of LiteRT."""

    name = "cmsis-nn"
    about = "Arm's CMSIS-NN, from the sources in CMSIS_NN_PATH"
    operators = CALLERS
    remedy = (
        "set CMSIS_NN_PATH to a checkout of CMSIS-NN or to an unpacked pack ARM.CMSIS-NN, or CMSIS_PACK_ROOT to the"
        " folder of packs that has one"
    )

    def checkout(self) -> Path:
        return checkout()

    def serves(self, target: Target) -> bool:
        """Supports cores of the family with Helium (Cortex-M), and the host for tests."""
        return MVE in target.core.features or target.is_host

    def contents(self, target: Target) -> str:
        return contents(self.checkout())

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        call = CALLERS[type(region)](graph, region, target)
        if isinstance(call, Refusal):
            return call
        root = self.checkout()
        library = sources(root)
        if absent := [name for name in call.functions if not library.has(name)]:
            return Refusal(f"the CMSIS-NN in {root} has no {absent[0]}")
        own = once_files(root, call.functions) if call.once else {}
        return Artifact(
            calls=(replace(call.invocation, returns_status=True),),
            cost=self.estimate(graph, region, target),
            header=HEADER,
            blobs=call.blobs,
            files={**OWN, **own},
            sources=() if call.once else tuple(map(str, library.closure(*call.functions))),
            includes=(str(root / INCLUDE),),
            library=foreign(root),
            prefix=ONCE,
            scratch=call.scratch,
            code=CALL,
            linked=linked(call, target),
        )

    def estimate(self, graph: Graph, op: Op, target: Target) -> float:
        """Approximate cycles of an operator."""
        return cycles(graph, op, target)
