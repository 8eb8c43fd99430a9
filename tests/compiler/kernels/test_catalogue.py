"""The list of kernels: every entry has a name of its own and its C, and everything can be computed on any core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module

import pytest

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Kernel, Packed, Refusal, View
from mote.compiler.kernels.library import FOLDERS
from mote.frontends import tflite
from mote.hardware import targets
from mote.ir.graph import Op
from mote.ir.ops.control.control_flow import Control
from mote.ir.ops.control.custom import Custom
from mote.ir.ops.control.ethos_u import NpuStream
from mote.ir.ops.moves.constant import ConstantOutput
from tests.helpers.network import Net
from tests.helpers.offered import DSP, PORTABLE

HEADERS = [path.name for folder in FOLDERS for path in folder.iterdir() if path.name.endswith(".h")]


@cache
def operators() -> tuple[type[Op], ...]:
    """The operators that a plan can have: those that no other one refines, and those that kernels name. Constants are
    folded before, control flow is made of plans, not of kernels, and command streams run on an accelerator."""

    def below(kind: type[Op]) -> Iterator[type[Op]]:
        for other in kind.__subclasses__():
            yield other
            yield from below(other)

    named = {kernel.computes[0] for kernel in catalogue.KERNELS}
    every = (kind for kind in below(Op) if kind.__module__.startswith("mote.ir.ops."))
    usual = (kind for kind in every if kind not in (ConstantOutput, NpuStream) and not issubclass(kind, Control))
    return tuple(kind for kind in usual if kind in named or not kind.__subclasses__())


def kernels_of(operator: type[Op]) -> list[Kernel]:
    return [kernel for kernel in catalogue.KERNELS if issubclass(operator, kernel.computes[0])]


@pytest.mark.parametrize("operator", operators(), ids=lambda kind: kind.__name__)
def test_an_operator_has_a_portable_kernel_and_no_name_twice(operator: type[Op]) -> None:
    names = Counter((kernel.name, len(kernel.computes)) for kernel in kernels_of(operator))
    assert [name for name, n in names.items() if n > 1] == []
    assert any(not kernel.isa and kernel.call is None and not kernel.coded for kernel in kernels_of(operator))


def test_headers_exist_once() -> None:
    assert [name for name, n in Counter(HEADERS).items() if n > 1] == []
    for kernel in (k for k in catalogue.KERNELS if k.computes != (Custom,)):
        possible = [kernel.header] if kernel.header else [kernel.name, f"{kernel.name}_s8"]
        assert any(f"mote_{name}.h" in HEADERS for name in possible), kernel.name


def test_features_exist() -> None:
    assert {feature for kernel in catalogue.KERNELS for feature in kernel.isa} <= set(targets.features())


@pytest.mark.parametrize(
    ("isa", "features", "shown"),
    [
        ({"dsp"}, {"dsp", "mve"}, "x/armv7em"),
        ({"dsp", "dual"}, {"dsp", "dual"}, "x/armv7em"),
        ({"mve"}, {"dsp", "mve"}, "x/helium"),
        ({"fpu"}, {"dsp", "fpu"}, "x/vfp"),
        ({"p", "b"}, {"p", "b"}, "x/b+p"),
        ({"dsp"}, {"fpu"}, "x"),
        (set(), {"dsp"}, "x"),
    ],
)
def test_labels_name_the_instruction_set(isa: set[str], features: set[str], shown: str) -> None:
    assert catalogue.label(Packed("x", {}, isa=frozenset(isa)), frozenset(features)) == shown


def test_the_folders_of_labels() -> None:
    """A kernel that needs a feature lies in the folder that the feature stands for."""
    for isa, folder in catalogue.FOLDERS.items():
        module = import_module(f"mote.compiler.kernels.{folder}.kernels")
        assert all(isa in kernel.isa for kernel in module.KERNELS)


def test_what_is_beaten_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = []

    def watched(kernel: Kernel) -> Kernel:
        def pack(view: View) -> Packed | Refusal:
            packed.append(kernel.name)
            return kernel.pack(view)

        return replace(kernel, pack=pack)

    net = Net()
    z = net.op("MUL", [net.input(1, 4, 4, 8), net.input(1, 4, 4, 8)], quant=(0.06, 0))
    graph = tflite.parse(net.finish(z), "mul")
    monkeypatch.setattr(catalogue, "KERNELS", tuple(map(watched, catalogue.KERNELS)))
    for features, names in ((PORTABLE, ["mul"]), (DSP, ["mul4"])):
        found = catalogue.candidates(View(graph, tuple(graph.ops)), features)
        assert [k.family for k in found] == names
        assert [name for name in packed if name != "lut"] == names  # which refuses two computed operands
        packed.clear()
