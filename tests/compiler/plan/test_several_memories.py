"""Several memories: the hottest in the fastest, nothing in two places, and the same results on an emulated core."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import mlperf_tiny
from mote.base.errors import BudgetError, MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.measure.runner import bench
from mote.bench.pictures.memory import traffic_lines
from mote.compiler.checks.budgets import check_budgets
from mote.compiler.fitting.code_size import code_size
from mote.compiler.line import compile
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.memory.several_memories import spread
from mote.compiler.plan.memory.traffic import in_one, traffic
from mote.compiler.plan.planner import plan_one_memory
from mote.compiler.plan.prepared import Memo
from mote.compiler.plan.selection.candidates import candidates_of
from mote.compiler.plan.selection.estimate import estimate
from mote.hardware import toolchain
from mote.hardware.targets import Memory
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.elf import extents
from tests.helpers.support import emulated, needs_litert, soaked

DIGITS, KEYWORDS = (Path(__file__).parents[3] / "models" / f"{name}.tflite" for name in ("digits", "keywords"))
WAYS = {"usual": {}, "rows": {"least_ram": True}, "caller": {"caller_arena": True, "ram": 30_000}}


@cache
def generated(name: str) -> bytes:
    return mlperf_tiny.build(name)


def board(folder: Path, dtcm: str = "2K", sram: str = "64K", flash: str = "36K", qspi: str = "128K") -> str:
    """A Cortex-M7 with little of everything that is fast; one section has a name of the user's."""
    path = folder / "tiny.toml"
    memories = [("flash", "flash", flash, ""), ("qspi", "flash", qspi, 'wait = 8\nsection = ".external"\n')]
    memories += [("sram", "ram", sram, "wait = 1\n"), ("dtcm", "ram", dtcm, "")]
    path.write_text(
        'extends = "cortex-m7"\n'
        + "".join(f'[[memory]]\nname = "{n}"\nkind = "{k}"\nsize = "{s}"\n{more}' for n, k, s, more in memories)
    )
    return str(path)


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["kws", "ic"])
def test_exact_on_a_core_with_sizes_as_planned(name: str, way: str, tmp_path: Path) -> None:
    emulated("cortex-m7")
    compiled = compile(generated(name), target=board(tmp_path), **WAYS[way])
    plan, flash = compiled.plan, compiled.project.flash
    assert [m.name for m in plan.memories] == ["dtcm", "sram"] and all(plan.arenas) and all(flash.values())
    assert verify(compiled, 2).passed
    with TemporaryDirectory() as folder:
        elf = bench(compiled, Path(folder)).elf(Mode.MEASURE)
        linked = toolchain.sizes(elf, compiled.settings.target)
    assert linked is not None
    for memory, nbytes in zip(plan.memories, plan.arenas, strict=True):
        assert linked.memories[memory.name] == (0 if compiled.settings.caller_arena else -(-nbytes // 8) * 8)
        assert nbytes <= memory.size
    assert {n: linked.memories[n] for n in flash} == pytest.approx(flash, abs=3)
    assert linked.constants > sum(flash.values()), "parameters and tables are where the linker puts them"


def test_whole_arena_in_the_fastest_memory_that_holds_it(tmp_path: Path) -> None:
    compiled = compile(DIGITS, target=board(tmp_path, dtcm="2K"))
    assert [m.name for m in compiled.plan.memories] == ["dtcm"]
    assert compiled.plan.arena <= 2 << 10
    assert '} digits_memory MOTE_SECTION(".bss.mote_dtcm");' in compiled.project.files["digits.c"]
    assert "mote_status digits_init(void);" in compiled.project.files["digits.h"]


@pytest.mark.slow
def test_the_hottest_is_in_the_fastest_memory(tmp_path: Path) -> None:
    """What inner loops read: the working memory of convolutions, and the weights of the layers with most pixels."""
    compiled = compile(generated("ic"), target=board(tmp_path))
    scratch = [(s.kernel.needs.scratch or 0, s.scratch_memory) for s in compiled.plan.steps if s.scratch is not None]
    assert {memory for nbytes, memory in scratch if nbytes <= 2048} == {0}
    assert {memory for nbytes, memory in scratch if nbytes > 2048} == {1}, "what is too large for it is elsewhere"
    text = compiled.project.files[f"{compiled.name}_constants.h"]
    (first,) = [line for line in text.splitlines() if f" {compiled.name}_0_" in line][:1]
    assert 'MOTE_SECTION(".rodata.mote_flash")' in first and 'MOTE_SECTION(".external")' in text


@pytest.mark.slow
def test_caller_gives_one_arena_for_each_memory(tmp_path: Path) -> None:
    header = compile(KEYWORDS, target=board(tmp_path), caller_arena=True).project.files["keywords.h"]
    assert (
        "mote_status keywords_init(void *arena_dtcm, size_t bytes_dtcm, void *arena_sram, size_t bytes_sram);" in header
    )
    for macro in (r"DTCM_BYTES \d+ /", r"SRAM_BYTES \d+ /", "BYTES KEYWORDS_ARENA_DTCM_BYTES"):
        assert re.search(f"#define KEYWORDS_ARENA_{macro}", header)


@pytest.mark.slow
def test_total_budget_holds_over_all_memories(tmp_path: Path) -> None:
    plan = compile(generated("ic"), target=board(tmp_path), ram=30_000).plan
    assert plan.ram <= 30_000 and len(plan.memories) == 2


@pytest.mark.slow
def test_a_plan_that_does_not_fit_the_parts_is_made_smaller(tmp_path: Path) -> None:
    """49 KB of tensors fit 52 KB of RAM, but not in these pieces."""
    plan = compile(generated("ic"), target=board(tmp_path, dtcm="12K", sram="40K")).plan
    assert plan.arenas[0] <= 12 << 10 and plan.arenas[1] <= 40 << 10 and not plan.layered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "sizes", "says"),
    [
        ("kws", {"dtcm": "512", "sram": "512"}, "more than the 1,024 that are there"),
        ("vww", {"dtcm": "20K", "sram": "20K", "flash": "1M"}, "sram would need .* more than are there"),
        ("kws", {"flash": "8K", "qspi": "8K"}, "bytes of qspi"),
    ],
    ids=["all", "one by one", "flash"],
)
def test_too_small_memories_are_named(model: str, sizes: dict[str, str], says: str, tmp_path: Path) -> None:
    """The second one has room for everything, but nowhere for the 27 KB of the input."""
    with pytest.raises(BudgetError, match=says):
        compile(generated(model), target=board(tmp_path, **sizes))


PSRAM = 'wait_states = {}\nread_bytes = 32\ndata_lines = 512\nholds = ["data"]\nsection = ".ext_ram.bss"\nwait = 1\n'


def with_psram(folder: Path, sram: str, waits: int = 100) -> str:
    """A Cortex-M7 with external RAM."""
    path = folder / "external.toml"
    memories = [("sram", sram, ""), ("psram", "8M", PSRAM.format(waits))]
    path.write_text(
        'extends = "cortex-m7"\n'
        + "".join(f'[[memory]]\nname = "{n}"\nkind = "ram"\nsize = "{s}"\n{more}' for n, s, more in memories)
    )
    return str(path)


@pytest.mark.slow
@needs_litert
def test_a_model_larger_than_fast_ram_is_exact_in_both(tmp_path: Path) -> None:
    """The slow part is at another address of the emulated board, and waits less than with everything there. Every layer
    reads its inputs and writes its output once; working memory is written and read."""
    emulated("cortex-m7")
    compiled = compile(DIGITS, target=with_psram(tmp_path, "768"), optimize="speed")
    plan, target = compiled.plan, compiled.settings.target
    assert [m.name for m in plan.memories] == ["sram", "psram"] and all(plan.arenas) and plan.layered
    assert verify(compiled, 1).passed
    with TemporaryDirectory() as folder:
        places = extents(bench(compiled, Path(folder)).elf(Mode.MEASURE))
    slow = target.core.boards["mps2-an500"].slow_ram
    assert slow is not None and places[".memory_psram"][0] == slow[0] > places[".memory_sram"][1]
    fast, late = traffic(plan)
    assert fast.waits == 0 < late.waits < in_one((fast, late), late.memory).waits
    assert any(f"{late.waits:,} cycles" in text for text in traffic_lines(plan))
    ops = [plan.op(step) for step in plan.steps]
    ports = [t for op in ops for t in (*(t for _, t in op.computed(plan.graph)), op.outputs[0])]
    work = sum(2 * (step.kernel.needs.scratch or 0) for step in plan.steps if step.scratch is not None)
    work += sum(2 * step.kernel.needs.sums for step in plan.steps)
    assert fast.accessed + late.accessed == sum(plan.graph.tensors[t].nbytes for t in ports) + work


def test_waits_decide_between_the_memories(tmp_path: Path) -> None:
    """Where slow RAM is dear, a plan of more work that fits the fast one is taken."""
    cheap, dear = (compile(DIGITS, target=with_psram(tmp_path, "1K", waits)).plan for waits in (10, 10_000))
    assert [m.name for m in cheap.memories] == ["sram", "psram"] and [m.name for m in dear.memories] == ["sram"]
    assert estimate(dear.goal.costs, dear) > estimate(cheap.goal.costs, cheap)


def test_ram_of_each_memory() -> None:
    plan = compile(DIGITS, target="esp32p4", ram="sram=500,psram=64K").plan
    assert {m.name: m.size for m in plan.memories} == {"sram": 500, "psram": 64 << 10}
    assert compile(DIGITS, target="esp32p4", ram={"sram": 0}).plan.memories[0].name == "psram"
    for ram, says in (("sram=", "NAME=BYTES"), ("sram=1K,sram=2K", "NAME=BYTES"), ("sram=x", "not a size")):
        with pytest.raises(MoteError, match=says):
            compile(DIGITS, target="esp32p4", ram=ram)


@needs_litert
@pytest.mark.parametrize("name", soaked(["digits", "keywords", "digits_float"], ["digits_float"]))
def test_exact_on_an_esp32p4(name: str) -> None:
    """Also float32, in the registers of its FPU."""
    compiled = compile(DIGITS.with_name(f"{name}.tflite"), target=emulated("esp32p4"), ram="sram=500")
    assert len(compiled.plan.memories) == 2 and verify(compiled, 1).passed
    assert 'MOTE_ZEROS_IN(".ext_ram.bss")' in compiled.project.files[f"{name}.c"]


def test_a_core_without_compiler_and_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code size is an estimate, with the reason; running says where the compiler comes from."""
    compiled = compile(DIGITS, target="esp32s3", ram="sram=500")
    assert code_size(compiled).estimated and len(compiled.plan.memories) == 2
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MoteError, match="ESP-IDF"):
        toolchain.find_compiler(compiled.settings.target)


def test_code_is_in_the_fastest_flash(tmp_path: Path) -> None:
    """There is room for it, unless the constants need it."""
    roomy, tight = (compile(DIGITS, target=board(tmp_path, flash="18K", qspi=qspi)) for qspi in ("40K", "1K"))
    assert roomy.project.flash["flash"] <= 2 << 10 < tight.project.flash["flash"] <= 18 << 10
    check_budgets(roomy, code=16 << 10)
    with pytest.raises(BudgetError, match="bytes of flash"):
        check_budgets(tight, code=16 << 10)


def test_checker_knows_the_memories() -> None:
    """Equal offsets of different memories are different bytes; a buffer in the wrong memory is refused."""
    whole = compile(DIGITS, target="cortex-m7", optimize="speed").plan
    layers = plan_one_memory(Memo(candidates_of(whole.graph)), whole.how, whole.goal)
    plan = spread(layers, [Memory("fast", "ram", whole.ram // 2), Memory("slow", "ram", whole.ram)])
    check(plan)
    refused = 0
    for i, b in enumerate(plan.buffers):
        moved = replace(b, memory=1 - b.memory)
        try:
            check(replace(plan, buffers=(*plan.buffers[:i], moved, *plan.buffers[i + 1 :])))
        except PlanError:
            refused += 1
    assert refused > len(plan.buffers) // 2
    with pytest.raises(PlanError, match="more than fast has"):
        check(replace(plan, memories=(replace(plan.memories[0], size=100), plan.memories[1])))


def test_one_memory_of_a_kind_changes_nothing(tmp_path: Path) -> None:
    one = compile(DIGITS, target="stm32l4r5").project.files
    assert not any("MOTE_SECTION" in text for text in one.values())
