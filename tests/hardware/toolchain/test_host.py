"""The fake model on this computer, also with sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Mode, builder
from tests.hardware.toolchain import fake_model as fake
from tests.hardware.toolchain.fake_builds import build, compiler_for, emulator_for, run


@pytest.fixture(autouse=True)
def _warnings_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the harness's own C, too."""
    monkeypatch.setattr(builder, "COMMON", (*builder.COMMON, "-Werror"))


@pytest.mark.parametrize("prefer", [None, "gcc", "clang"])
def test_host(tmp_path: Path, prefer: str | None) -> None:
    target = targets.load("host")
    elf = build(tmp_path, target, compiler_for(target, prefer), Mode.MEASURE)
    got = run(tmp_path, target, emulator_for(target), elf, Mode.MEASURE)
    fake.check_outputs(got.outputs)
    assert got.instructions is None and got.stack is None and toolchain.sizes(elf, target) is None


@pytest.mark.parametrize("prefer", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("for (volatile uint32_t i = 0; i < runs; i++) copied[i] = 1;", "(out of bounds|global-buffer-overflow)"),
        ("{ volatile uint32_t *volatile nowhere = 0; *nowhere = runs; }", "SEGV on unknown address 0x0000"),
    ],
    ids=["outside", "null"],
)
def test_host_sanitizers_find_a_bad_write(tmp_path: Path, fault: str, said: str, prefer: str) -> None:
    target = targets.load("host")
    bad = fake.MODEL.replace("runs++;", fault)
    project, sources, glue = fake.write(tmp_path, bad)
    elf = toolchain.build(
        project,
        sources,
        glue,
        target,
        compiler_for(target, prefer),
        mode=Mode.MEASURE,
        optimize="balanced",
        workdir=tmp_path,
        sanitize=True,
    )
    with pytest.raises(MoteError, match=rf"native: the model crashed(.|\n)*{said}"):
        toolchain.execute(elf, target, emulator_for(target), fake.INPUTS, workdir=tmp_path, mode=Mode.MEASURE)
