"""External generators: what they claim is planned, checked, emitted as C, built with its own files, run and judged."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.base.files import fill
from mote.bench.execute.stimuli import stimuli
from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.backends import GENERATORS
from mote.compiler.offload.contract import SCRATCH, Artifact, Blob, Generator, Invocation, Judgement, Offloaded, Pointer
from mote.compiler.offload.foreign import ForeignLibrary
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.plan import Plan
from mote.compiler.several import compile_shared
from mote.frontends.tflite.writer import Writer
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Region, joined
from mote.ir.graph.tensor import Array
from mote.ui.api.register import load_plugins
from tests.compiler.lower.executor import execute
from tests.helpers.support import needs_litert

PAGE = Path(__file__).parents[3] / "docs" / "develop" / "external-generators.md"
SHAPE = (1, 3, 5, 7)
HEADER = """\
#ifndef DIAMOND_H
#define DIAMOND_H
#include <stdint.h>
int diamond_init(void);
void diamond(const int32_t *factors, const int32_t *x, const int32_t *y, int32_t *sum, int32_t *last, int32_t *work);
#endif
"""
SOURCE = """\
#include <diamond.h>
#include "diamond_size.h"

static int ready;

int diamond_init(void) {
    ready = 1;
    return 0;
}

void diamond(const int32_t *factors, const int32_t *x, const int32_t *y, int32_t *sum, int32_t *last, int32_t *work) {
    const uintptr_t wrong = ((uintptr_t)x | (uintptr_t)y | (uintptr_t)sum | (uintptr_t)last | (uintptr_t)work) % 16 +
                            (uintptr_t)factors % 32;
    if (!ready || wrong != 0) {
        return;
    }
    for (int32_t i = 0; i < DIAMOND_SIZE; i++) {
        work[i] = (int32_t)((uint32_t)x[i] + (uint32_t)y[i]);
    }
    for (int32_t i = 0; i < DIAMOND_SIZE; i++) {
        sum[i] = work[i];
        const uint32_t right = (uint32_t)work[i] - (uint32_t)factors[i % DIAMOND_CHANNELS];
        last[i] = (int32_t)((uint32_t)work[i] * (uint32_t)x[i] + right) ^ DIAMOND_OFF;
    }
}
"""


def model() -> bytes:
    """A diamond of int32 operators between others; what its first operator makes is read behind it as well."""
    w = Writer("diamond")
    x, y = (w.input(name, SHAPE, "int32") for name in "xy")
    given = w.tensor("given", SHAPE, "int32")
    w.op("ADD", [x, w.const("one", np.array([1], np.int32))], [given])
    made = [w.tensor(name, SHAPE, "int32") for name in ("sum", "left", "right", "last", "behind")]
    total, left, right, last, behind = made
    w.op("ADD", [given, y], [total])
    w.op("MUL", [total, given], [left])
    w.op("SUB", [total, w.const("factors", np.arange(7, dtype=np.int32) * 3)], [right])
    w.op("ADD", [left, right], [last])
    w.op("SUB", [last, total], [behind])
    w.output(behind, last)
    return w.finish()


class Diamond(Generator):
    """Computes the diamond with C files outside of the project."""

    name = "diamond"

    def __init__(self, folder: Path, off: int = 0, **changes: Any) -> None:
        self.folder, self.off, self.changes = folder, off, changes

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        for number, op in enumerate(graph.ops):
            if [o.kind for o in graph.ops[number : number + 4]] == ["ADD", "MUL", "SUB", "ADD"] and op.inputs[1:]:
                yield joined(graph, graph.ops[number : number + 4])

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        assert isinstance(region, Region)
        x, y = region.ops[0].inputs
        total, last = region.outputs
        (factors,) = (t.data for t in map(graph.tensors.__getitem__, region.ops[2].inputs) if t.data is not None)
        size = graph.tensors[total].size
        (self.folder / "include").mkdir(exist_ok=True)
        (self.folder / "include" / "diamond.h").write_text(HEADER, encoding="utf-8")
        (self.folder / "diamond.c").write_text(SOURCE, encoding="utf-8")
        sizes = {"SIZE": size, "CHANNELS": factors.size, "OFF": self.off}
        artifact = Artifact(
            calls=(Invocation("diamond", (*map(Pointer, ("factors", x, y, total, last)), Pointer(SCRATCH))),),
            cost=2.0 * size,
            header="diamond.h",
            blobs=(Blob("factors", factors.reshape(-1), alignment=32),),
            files={"diamond_size.h": "".join(f"#define DIAMOND_{name} {n}\n" for name, n in sizes.items())},
            sources=(str(self.folder / "diamond.c"),),
            includes=(str(self.folder / "include"),),
            init="diamond_init",
            scratch=4 * size,
            alignment=16,
        )
        return replace(artifact, **self.changes)

    def reference(self, region: Op, graph: Graph, values: Sequence[Array | None]) -> list[Array]:
        first, last = region.evaluate(graph, values)
        return [first, last ^ np.int32(self.off)]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a generator's files, with a space in its name; its registration ends with the test."""
    found = tmp_path / "a folder"
    found.mkdir()
    before = dict(GENERATORS)
    yield found
    GENERATORS.clear()
    GENERATORS.update(before)


def compiled(generator: Generator, **options: Any) -> Compiled:
    mote.register_generator(generator)
    return mote.compile(model(), backend=generator.name, **options)


def offloaded(plan: Plan) -> Offloaded:
    (kernel,) = {step.kernel for step in plan.steps if isinstance(step.kernel, Offloaded)}
    return kernel


def test_a_region_with_two_outputs(folder: Path, tmp_path: Path) -> None:
    """Planned, checked and executed in NumPy; built by make with the host's compiler, and bit-exact."""
    found = compiled(Diamond(folder))
    plan, graph = found.plan, found.plan.graph
    (step,) = (step for step in plan.steps if len(step.ops) > 1)
    kernel = offloaded(plan)
    assert len(plan.op(step).outputs) == 2 and kernel.constants == 28
    assert plan.choices[step.ops][0].cost == 210 and plan.choices[step.ops][0].kernel == "diamond"
    assert all(plan.place[t].offset % 16 == 0 for t in (*graph.inputs[1:], *plan.op(step).outputs))
    assert Plan.from_json(plan.to_json()) == plan
    case = stimuli(graph, 1)[0]
    expected = graph.evaluate(case)
    assert all(np.array_equal(value, expected[t]) for t, value in execute(plan, case).items())

    project = found.project
    assert project.external == (str(folder / "diamond.c"),) and project.includes == (str(folder / "include"),)
    assert "diamond_init() != 0" in project.files["model.c"] and "MOTE_ALIGN(32)" in project.files["model_constants.h"]
    assert f'"{folder}/diamond.c"' in project.files["CMakeLists.txt"]
    fill(tmp_path / "project", project.files)
    subprocess.run(["make", "-s", "test"], cwd=tmp_path / "project", check=True, capture_output=True)

    result = mote.verify(found, inputs=3, sanitize=True)
    assert result.exact and result.tensors == 3
    assert mote.verify(compiled(Diamond(folder), red_zones=True), inputs=2).exact
    assert not mote.verify(compiled(Diamond(folder, off=1)), inputs=1).passed


def test_an_image_refuses_it(folder: Path) -> None:
    mote.register_generator(Diamond(folder))
    with pytest.raises(MoteError, match="'diamond' computes it with C of its own, which no image holds"):
        mote.pack(model(), backend=["diamond"])
    assert mote.pack(model()).data


def test_by_cost_and_by_pin(folder: Path) -> None:
    """A region that costs more than kernels of the core is not taken, unless a pin asks for it."""
    dear = Diamond(folder, cost=1e9)
    assert not any(isinstance(step.kernel, Offloaded) for step in compiled(dear).plan.steps)
    assert offloaded(compiled(dear, kernels={"2": "diamond"}).plan).name == "diamond"
    for optimize in ("speed", "size"):
        assert offloaded(compiled(Diamond(folder), optimize=optimize).plan).price.cost == 210


def test_memories(folder: Path) -> None:
    """Tensors of a region lie where its generator reaches them; the checker sees when they do not."""
    names = [m.name for m in targets.load("stm32h743").choice("ram")]
    plan = compiled(Diamond(folder, memories=(names[1],)), target="stm32h743").plan
    (step,) = (step for step in plan.steps if len(step.ops) > 1)
    touched = [plan.place[t] for t in (*plan.op(step).inputs, *plan.op(step).outputs) if t in plan.place]
    assert {plan.memories[b.memory].name for b in touched} == {names[1]}
    assert plan.memories[step.scratch_memory].name == names[1]
    kernel = replace(step.kernel, needs=replace(step.kernel.needs, memories=(names[0],)))
    with pytest.raises(PlanError, match="cannot reach"):
        check(replace(plan, steps=tuple(replace(s, kernel=kernel) if s is step else s for s in plan.steps)))
    kernel = replace(step.kernel, needs=replace(step.kernel.needs, tensor_alignment=4096))
    with pytest.raises(PlanError, match="not aligned to 4096"):
        check(replace(plan, steps=tuple(replace(s, kernel=kernel) if s is step else s for s in plan.steps)))
    with pytest.raises(MoteError, match="wants memory nowhere"):
        compiled(Diamond(folder, memories=("nowhere",)), target="stm32h743")


def test_judged_by_tolerance(folder: Path) -> None:
    """Layers behind it are compared with what the reference makes of what it gave."""
    near = {"judgement": Judgement.TOLERANCE, "tolerance": 2.0}
    result = mote.verify(compiled(Diamond(folder, off=2, **near)), inputs=2)
    assert result.passed and not result.exact and result.max_abs_diff == 2
    assert not mote.verify(compiled(Diamond(folder, off=3, **near)), inputs=1).passed


def test_instances_have_the_alignment_that_it_wants(folder: Path) -> None:
    """An instance is aligned wherever it lies, since a member of it is."""
    made = compiled(Diamond(folder), instances=True)
    assert "memory MOTE_ALIGN(16);" in made.project.files[f"{made.name}.h"]
    assert mote.verify(made, inputs=2).passed


def test_judged_by_its_own_reference(folder: Path) -> None:
    """Nothing is run: the files need not even exist."""
    own = {"judgement": Judgement.REFERENCE, "sources": (), "includes": ()}
    found = compiled(Diamond(folder, **own))
    result = mote.verify(found, inputs=2)
    assert result.exact and "not run here: layer 1+2+3+4" in result.reference
    assert not mote.verify(compiled(Diamond(folder, off=1, **own)), inputs=1).passed
    with pytest.raises(MoteError, match=re.escape("layer 1+2+3+4 is not run here")):
        mote.run(found)


LIBRARY = ForeignLibrary("Near", "https://example.org", "NEAR_PATH", "/nowhere", "near.h", (".",))
HERE = replace(LIBRARY, folder=str(Path(__file__).parent), header=Path(__file__).name)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"calls": ()}, "calls nothing"),
        ({"blobs": ()}, "points to 'factors', which is no tensor of the region and none of its blobs"),
        ({"calls": (Invocation("f; g"),)}, "'f; g', which is no name in C"),
        ({"calls": (Invocation("f"),)}, "never gives the address of output"),
        ({"alignment": 12}, "alignment of 12"),
        ({"files": {"../x.c": ""}}, "'../x.c', which is not a plain name"),
        ({"sources": ("/nowhere/x.c",)}, "'/nowhere/x.c', which is not there"),
        ({"library": LIBRARY}, "the library Near in /nowhere, which has no near.h"),
        ({"library": HERE}, "which is not in the library's folder"),
        ({"prefix": "mote_"}, "has the prefix 'mote_'"),
        ({"prefix": "a.b_"}, "has the prefix 'a.b_', which is no name in C that ends in an underscore"),
        ({"linked": {"f": -1}}, "states -1 bytes of code"),
        ({"cost": float("nan")}, "costs nan"),
    ],
)
def test_bad_artifacts(folder: Path, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(MoteError, match=re.escape(why)) as error:
        compiled(Diamond(folder, **changes))
    assert "generator 'diamond', layer" in str(error.value)


def test_an_arena_of_the_caller(folder: Path) -> None:
    """It is as much aligned as the tensors in it, and init checks that; and so is one that models share."""
    made = compiled(Diamond(folder), caller_arena=True)
    assert "(uintptr_t)arena % 16 != 0" in made.project.files["model.c"]
    assert "aligned to 16)" in made.project.files["model.h"]
    assert mote.verify(made, inputs=1).exact
    paths = [folder / name for name in ("one.tflite", "two.tflite")]
    for path in paths:
        path.write_bytes(model())
    both = compile_shared(paths, backend="diamond")
    assert "mote_arena MOTE_ALIGN(16)" in both.project.files["mote_models.c"]


def test_other_refusals(folder: Path) -> None:
    with pytest.raises(MoteError, match=r"there is no backend 'diamant'\n  help: did you mean: diamond\?"):
        compiled(Diamond(folder))
        mote.compile(model(), backend=["diamant"])
    with pytest.raises(MoteError, match=r"the file model\.h of an external generator is another file"):
        compiled(Diamond(folder, files={"model.h": ""}))

    class Apart(Diamond):
        def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
            return [joined(graph, (*graph.ops[1:3], graph.ops[4]))]

    with pytest.raises(MoteError, match="the region that it claims is not convex"):
        compiled(Apart(folder))

    class Refusing(Diamond):
        def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
            return Refusal("too small")

    assert not any(isinstance(step.kernel, Offloaded) for step in compiled(Refusing(folder)).plan.steps)


class Either(Diamond):
    """Builds alternatives of the diamond."""

    def __init__(self, folder: Path, *alternatives: dict[str, Any]) -> None:
        super().__init__(folder)
        self.alternatives = alternatives

    def build(self, region: Op, graph: Graph, target: Target) -> Sequence[Artifact]:
        artifact = super().build(region, graph, target)
        assert isinstance(artifact, Artifact)
        return [replace(artifact, **changes) for changes in self.alternatives]


def test_alternatives_of_a_region(folder: Path) -> None:
    """The cheaper one is taken where its working memory fits; a pin takes the other."""
    fast = {"variant": "fast", "cost": 100.0, "scratch": 4000}
    both = Either(folder, fast, {"variant": "small", "cost": 300.0})
    large = compiled(both, optimize="speed")
    assert offloaded(large.plan).variant == "diamond[variant=fast]"
    small = compiled(both, ram=large.plan.ram - 3000)
    assert offloaded(small.plan).variant == "diamond[variant=small]" and small.plan.ram <= large.plan.ram - 3000
    assert mote.verify(small, inputs=1).exact
    for text, variant in (("diamond[variant=small]", "small"), ("diamond", "fast")):
        assert offloaded(compiled(both, kernels={"2": text}, optimize="speed").plan).artifact.variant == variant


@pytest.mark.parametrize(
    ("alternatives", "why"),
    [
        ([], "it builds nothing"),
        ([{}, {}], "alternatives without names of their own"),
        ([{"variant": "a b"}], "variants called a b"),
    ],
)
def test_bad_alternatives(folder: Path, alternatives: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(MoteError, match=why):
        compiled(Either(folder, *alternatives))


@needs_litert
def test_the_example_of_the_page(folder: Path, tmp_path: Path) -> None:
    """The plugin of the documentation, as it stands there."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "two_tables.py").write_text(code, encoding="utf-8")
    load_plugins([str(tmp_path / "two_tables.py")])
    w = Writer("functions")
    x = w.input("x", (300,), "int8", 0.05, 3)
    first, second = w.tensor("first", (300,), "int8", 1 / 256, -128), w.tensor("second", (300,), "int8", 0.04, -5)
    w.op("LOGISTIC", [x], [first])
    w.op("LEAKY_RELU", [x], [second], alpha=0.3)
    w.output(first, second)
    found = mote.compile(w.finish(), backend=["two_tables"])
    assert [step.kernel.name for step in found.plan.steps] == ["two_tables"]
    assert found.project.sources == ("model.c", "two_tables.c")
    assert mote.verify(found, inputs=8).exact
