"""Models on boards that are reached like real ones: already there, flashed, loaded to RAM, or refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.deploy.boards.boards_file import BoardsFile, read_boards
from mote.deploy.boards.execution import board_execution
from mote.deploy.boards.facts import facts_of
from mote.deploy.boards.placing import built, connected, opened, target_of
from mote.hardware.toolchain import Mode
from tests.deploy.boards.emulated_board import board_model, emulated, inputs, needs, on_network, on_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="emulated boards need pseudo-terminals")
CORES = ["cortex-m4", pytest.param("rv32imc", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=CORES)
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A core, and the address of a serial port with a board that has the model."""
    core: str = request.param
    needs(core)
    elf = built(board_model(core), tmp_path_factory.mktemp("elf"), emulated=True)
    with on_terminal(elf, targets.load(core)) as path:
        yield core, f"serial:{path}"


def test_a_model_that_is_there_is_run(port: tuple[str, str], tmp_path: Path) -> None:
    core, address = port
    with opened(address, board_model(core), folder=tmp_path) as board:
        assert board.placed == "already there"
        assert facts_of(board).unit == "ticks"
        outputs = board_execution(board.session, Mode.PROFILE, inputs(1)).outputs
    assert outputs == emulated(core, Mode.DUMP, 1, tmp_path / "harness").outputs
    assert target_of(address).name == core


def test_compiler_flags_are_part_of_the_id() -> None:
    model = board_model("cortex-m4")
    ids = {replace(model, optimize=how).id for how in ("balanced", "speed", "O3", "O3-unroll")}
    assert len(ids) == 4
    assert len({replace(model, optimize=how).ids[-1] for how in ("balanced", "speed")}) == 1
    assert len(replace(model, optimize="O3").ids) == 1
    assert replace(model, flags=("-I/elsewhere",)).id == model.id != replace(model, flags=("-fno-gcse",)).id


def test_another_model_is_loaded_to_ram(port: tuple[str, str], tmp_path: Path) -> None:
    core, address = port
    model = board_model(core, "size")
    assert model.id != board_model(core).id
    with opened(address, model, folder=tmp_path) as board:
        assert board.placed.startswith("loaded to RAM at 0x")
        first = board_execution(board.session, Mode.DUMP, inputs(1), stateful=False)
        board.session.restart()
        again = board_execution(board.session, Mode.DUMP, inputs(1), stateful=False)
        steps = board_execution(board.session, Mode.PROFILE, inputs(1)).steps
    wanted = emulated(core, Mode.DUMP, 1, tmp_path / "harness", "size")
    assert first == again == wanted
    assert steps is not None and len(steps[0]) == model.works and all(steps[0])


def test_a_model_that_does_not_fit_is_refused(port: tuple[str, str], tmp_path: Path) -> None:
    core, address = port
    model = board_model(core, "size")
    head = "int harness_run(void) {"
    assert head in model.glue
    larger = model.glue.replace(head, f"static volatile char large[1 << 20];\n{head} large[0] = 1;")
    with (
        pytest.raises(MoteError, match="bytes of RAM, and the agent's scratch memory has 262,144") as error,
        opened(address, replace(model, glue=larger), folder=tmp_path),
    ):
        pass
    assert "boards.toml" in error.value.remedy


def test_a_board_is_flashed(tmp_path: Path) -> None:
    """The ELF file is replaced by a command of boards.toml, and the board starts with it."""
    needs("cortex-m4")
    target = targets.load("cortex-m4")
    elf = built(board_model("cortex-m4"), tmp_path / "before", emulated=True)
    model = board_model("cortex-m4", "size")
    with on_network(elf, target) as port:
        boards = tmp_path / "boards.toml"
        boards.write_text(
            f'[boards.desk]\naddress = "tcp:127.0.0.1:{port}"\ntarget = "cortex-m4"\n'
            f'[boards.desk.flash]\ncommand = ["cp", "{{elf}}", "{elf}"]\n',
            encoding="utf-8",
        )
        with pytest.MonkeyPatch.context() as patch:
            from mote.deploy.boards import placing

            patch.setattr(placing, "built", lambda *given, **_: built(*given, emulated=True))
            with opened("desk", model, folder=tmp_path / "after", boards=read_boards(boards)) as board:
                assert board.placed == "flashed by cp"
                assert board.identity.model == model.id
                outputs = board_execution(board.session, Mode.MEASURE, inputs(2)).outputs
    assert outputs == emulated("cortex-m4", Mode.DUMP, 2, tmp_path / "harness", "size").outputs


@pytest.mark.parametrize(
    ("command", "message"),
    [("false {elf}", "ended with status 1: it said nothing"), ("no-such-tool {elf}", "cannot be run")],
)
def test_a_flash_command_that_fails_is_an_error(tmp_path: Path, command: str, message: str) -> None:
    from mote.deploy.boards.placing import write_firmware

    needs("cortex-m4")
    elf = built(board_model("cortex-m4"), tmp_path, emulated=True)
    boards = tmp_path / "boards.toml"
    boards.write_text(f'[boards.a]\naddress = "tcp:a:1"\nflash = {{command = "{command}"}}', encoding="utf-8")
    with pytest.raises(MoteError, match=message):
        write_firmware(read_boards(boards).board("a"), elf, targets.load("cortex-m4"))


@pytest.mark.parametrize(("part", "has"), [("rp2040", True), ("samd51", False), ("stm32l4r5", False)])
def test_uf2_files_do_not_overwrite_boot_loaders(tmp_path: Path, part: str, has: bool) -> None:
    from mote.deploy.boards.placing import write_firmware

    needs("cortex-m4")
    elf = built(board_model("cortex-m4"), tmp_path, emulated=True)
    boards = tmp_path / "boards.toml"
    boards.write_text("[boards.a]\naddress = 'tcp:a:1'\nflash = {command = 'true {uf2}'}", encoding="utf-8")
    entry = read_boards(boards).board("a")
    if has:
        assert write_firmware(entry, elf, targets.load(part)) == "flashed by true"
    else:
        with pytest.raises(MoteError, match=r"cannot be flashed by a \.uf2 file"):
            write_firmware(entry, elf, targets.load(part))


@pytest.mark.parametrize("name", ["{folder}/part.toml", "../part.toml", "part.toml", "", "host\0"])
def test_a_device_names_no_file_of_the_host(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device states the name of a bundled target, or its statement is refused."""
    from mote.deploy.boards import placing

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for folder in (tmp_path, tmp_path / "here"):
        (folder / "part.toml").write_text('extends = "cortex-m4"\n', encoding="utf-8")
    stated = name.format(folder=tmp_path)

    @contextmanager
    def stating(entry: object) -> Iterator[object]:
        yield SimpleNamespace(identity=SimpleNamespace(target=stated))

    monkeypatch.setattr(placing, "connected", stating)
    with pytest.raises(MoteError, match="which is no target that is known here"):
        target_of("tcp:localhost:1", BoardsFile())


def test_emulated_boards_need_a_model() -> None:
    with pytest.raises(MoteError, match="starts with a model only"), connected("qemu:cortex-m4", boards=BoardsFile()):
        pass


def test_a_line_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(MoteError, match="cannot be opened"),
        opened(f"serial:{tmp_path}/tty", board_model("cortex-m4"), folder=tmp_path),
    ):
        pass
