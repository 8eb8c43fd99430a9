"""`run`, `verify`, `profile`, `evaluate` and `explore` on a board: an emulated one, which most tests share."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.base.files import fill
from mote.bench.measure.profiler import costs
from mote.compiler.compiled import Compiled
from mote.deploy.agent.firmware import AgentOptions, runtime_settings
from mote.deploy.boards import execution, facts, placing
from mote.deploy.boards.emulated import EmulatedLine
from mote.deploy.boards.placing import BoardModel, OpenBoard
from mote.deploy.boards.pool import board_pool
from mote.deploy.boards.session import BoardSession
from mote.deploy.firmware.agent import linked_runtime_agent
from mote.hardware import toolchain
from mote.hardware.targets import Target
from mote.hardware.toolchain import Compiler, Execution, emulators
from mote.optimize.search import explorer
from mote.ui.cli import main
from tests.helpers.network import Net
from tests.helpers.support import emulated, needs_litert

BOARD = "qemu:cortex-m4"
CALIBRATION = 0.03
"""How far the agent's counts of a layer of a few hundred instructions may be from the harness's."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    emulated("cortex-m4")
    net = Net(1)
    x = net.conv(net.input(1, 8, 8, 3), 4, kernel=(3, 3))
    path = tmp_path_factory.mktemp("board") / "small.tflite"
    path.write_bytes(net.finish(net.fully_connected(net.flat(x), 5)))
    return str(path)


@pytest.fixture(scope="module")
def compiled(model: str) -> Compiled:
    return mote.compile(model, target="cortex-m4")


@pytest.fixture(scope="class")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every firmware is started once."""
    started: dict[bytes, OpenBoard] = {}
    real = placing.opened

    with ExitStack() as leaving, pytest.MonkeyPatch.context() as patch:

        @contextmanager
        def opened(board: str, model: BoardModel, *, folder: Path, compiler: Compiler | None) -> Iterator[OpenBoard]:
            if model.id not in started:
                kept = tmp_path_factory.mktemp("firmware")
                started[model.id] = leaving.enter_context(real(board, model, folder=kept, compiler=compiler))
            yield started[model.id]

        patch.setattr(placing, "opened", opened)
        yield


def counting(patch: pytest.MonkeyPatch, unit: str, **others: str) -> None:
    """Let the board be one with another counter."""
    real = facts.facts_of
    patch.setattr(facts, "facts_of", lambda board: replace(real(board), unit=unit, **others))


@pytest.mark.usefixtures("shared")
class TestOneBoard:
    def test_run(self, compiled: Compiled) -> None:
        """The same outputs, layers and sizes as in an emulator, and the instructions of the board's counter."""
        there, here = mote.run(compiled, board=BOARD), mote.run(compiled)
        np.testing.assert_array_equal(*(next(iter(r.values.values())) for r in (there, here)))
        assert (there.ram.total, there.flash) == (here.ram.total, here.flash)
        assert there.instructions == pytest.approx(here.instructions, rel=CALIBRATION)
        for a, b in zip(there.layers, here.layers, strict=True):
            assert a.number == b.number and a.instructions == pytest.approx(b.instructions, rel=CALIBRATION)
        assert there.unit == "instructions" and there.seconds is None
        assert there.board is not None and there.board.name == BOARD and BOARD in there.emulator
        assert (there.ram.stack_measured or 0) > 0

    def test_several_inferences(self, compiled: Compiled) -> None:
        rng = np.random.default_rng(0)
        inputs = rng.integers(-128, 128, (3, 8, 8, 3)).astype(np.int8)
        there, here = mote.run(compiled, inputs, board=BOARD, layers=False), mote.run(compiled, inputs, layers=False)
        (name,) = here.values
        np.testing.assert_array_equal(there.values[name], here.values[name])
        assert len({n.instructions for n in there.inferences}) >= 1 and all(n.instructions for n in there.inferences)

    @needs_litert
    def test_verify(self, compiled: Compiled) -> None:
        assert mote.verify(compiled, 3, board=BOARD).exact

    @needs_litert
    def test_a_wrong_tensor_is_noticed(self, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
        real = execution.board_execution

        def damaged(*given: Any, **options: Any) -> Execution:
            run = real(*given, **options)
            tensor = run.dumps[0][0]
            run.dumps[0][0] = bytes([tensor[0] ^ 1]) + tensor[1:]
            return run

        monkeypatch.setattr(execution, "board_execution", damaged)
        result = mote.verify(compiled, 2, board=BOARD)
        assert not result.passed and [(m.number, m.input, m.differing) for m in result.mismatches] == [("0", 0, 1)]

    def test_profile(self, compiled: Compiled) -> None:
        """Measured beside modelled: instructions of an emulated board, with the error of each layer."""
        pytest.importorskip("capstone")
        result = mote.profile(compiled, board=BOARD)
        assert result.board is not None and result.board.runs == costs.RUNS and result.board.spread < 0.01
        alone = mote.profile(compiled)
        assert (result.cycles, result.instructions) == (alone.cycles, alone.instructions)
        for layer, modelled in zip(result.layers, alone.layers, strict=True):
            assert layer.measured and layer.error is not None and abs(layer.error) < CALIBRATION
            assert layer.error == pytest.approx((modelled.instructions or 0) / layer.measured - 1)
        assert result.board.error is not None and abs(result.board.error) < CALIBRATION
        assert result.board.mean_error == pytest.approx(np.mean([abs(x.error or 0) for x in result.layers]))
        assert json.loads(json.dumps(result.json()))["board"]["facts"]["name"] == BOARD
        assert "measured instructions" in result._repr_html_() and BOARD in result._repr_html_()

    def test_profile_without_a_model(self, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
        """A board that counts cycles needs no model of them; one that counts instructions says what is missing."""
        missing = MoteError("no model of cycles", remedy="install it")
        monkeypatch.setattr(costs, "no_model", lambda *given: missing)
        with pytest.raises(MoteError, match="no model of cycles"):
            mote.profile(compiled, board=BOARD)
        counting(monkeypatch, "cycles")
        result = mote.profile(compiled, board=BOARD)
        assert result.board is not None and result.cycles == result.board.total and result.instructions is None
        assert [x.cycles for x in result.layers] == [x.measured for x in result.layers]
        assert sum(x.share for x in result.layers) == pytest.approx(1, abs=0.2)
        assert "no model of cycles" in result.timing and result._repr_html_() and result.svg()

    def test_a_timer_that_counts_no_cycles(self, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
        """A port with a timer, on a device that does not state its clock: times, and no error of a model of cycles."""
        pytest.importorskip("capstone")
        counting(monkeypatch, "ticks")
        ran, result = mote.run(compiled, board=BOARD), mote.profile(compiled, board=BOARD)
        assert ran.unit == "ticks" and ran.board is not None and "ticks by a timer" in str(ran.board)
        assert ran.seconds == (ran.instructions or 0) / (ran.board.counter_hz or 1)
        assert result.board is not None and result.board.seconds == pytest.approx(ran.seconds, rel=0.01)
        assert result.board.error is None and all(x.measured and x.error is None for x in result.layers)

    def test_another_part(self, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cycles of one part are not compared with the model of another."""
        counting(monkeypatch, "cycles", target="stm32f407")
        with pytest.raises(MoteError, match="is a stm32f407, and the model of cycles is that of cortex-m4"):
            mote.profile(compiled, board=BOARD)

    def test_no_compiler(self, compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
        """A board that has the model needs none; sizes are then not known."""
        missing = MoteError("no C compiler for target 'cortex-m4' was found", remedy="install one")

        def absent(*given: object) -> None:
            raise missing

        monkeypatch.setattr(toolchain, "find_compiler", absent)
        result = mote.run(compiled, board=BOARD)
        assert result.instructions and all(x.instructions for x in result.layers)
        assert (result.compiler, result.flash.code, result.ram.static, result.ram.stack) == ("", None, None, None)
        with pytest.raises(MoteError, match="no C compiler"):
            mote.run(compiled, board=BOARD, compiler="gcc")

    @needs_litert
    def test_evaluate(self, compiled: Compiled) -> None:
        rng = np.random.default_rng(1)
        data = rng.integers(-128, 128, (12, 8, 8, 3)).astype(np.int8), rng.integers(0, 5, 12)
        result = mote.evaluate(compiled, data, board=BOARD)
        assert result.core is not None and result.core.score is not None
        assert (result.core.samples, result.core.equal) == (12, 12)
        assert result.core.score.value == result.score.value
        assert result.json()["core"]["score"]["value"] == result.score.value
        some = mote.evaluate(compiled, data, board=BOARD, samples=4).core
        assert some is not None and (some.samples, some.score) == (4, None)

    def test_a_point_of_explore(self, model: str) -> None:
        pytest.importorskip("capstone")
        settings = mote.Settings(mote.targets.load("cortex-m4"))
        source = mote.compile(model, target="cortex-m4").file
        with board_pool(BOARD) as boards:
            on_board, emulated_only = (
                explorer.measured(explorer.ExplorationTask(source, settings, True, None, None, BOARD, pool), "default")
                for pool in (boards, None)
            )
        assert BOARD in on_board.tools and on_board.cycles == emulated_only.cycles
        assert on_board.instructions == pytest.approx(emulated_only.instructions, rel=CALIBRATION)

    @pytest.mark.slow
    def test_an_image(self, model: str, tmp_path: Path) -> None:
        image = tmp_path / "small.mote"
        mote.pack(model, target="cortex-m4").write(image)
        loaded = mote.load_image(image, target="cortex-m4")
        there, here = mote.run(loaded, board=BOARD), mote.run(loaded)
        assert [x.sha256 for x in there.outputs] == [x.sha256 for x in here.outputs]
        assert mote.verify(loaded, 2, source=model, board=BOARD).exact

    @pytest.mark.quick_cases(1)
    @pytest.mark.parametrize("command", ["run", "profile", "verify"])
    def test_commands(self, model: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Without --target the model is compiled for the board's."""
        if command == "profile":
            pytest.importorskip("capstone")
        assert main([command, model, "--board", BOARD]) == 0
        said = capsys.readouterr().out
        assert "on cortex-m4" in said
        wanted = {"run": "a timer of the port", "profile": "model error:", "verify": "equal bit for bit"}
        assert wanted[command] in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--board", BOARD, "--target", "cortex-m7"], "use --target cortex-m4"),
        (["--board", BOARD, "--emulator", "qemu"], "a board runs the model itself"),
        (["--board", "serial:/dev/no-such-port", "--target", "cortex-m4"], "cannot be opened"),
        (["--board", "desk"], "is no name of a board"),
        (["--board", "qemu:avr"], "is no target"),
    ],
)
def test_boards_that_cannot_be(model: str, options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, *options]) == 1
    assert said in " ".join(capsys.readouterr().err.split())


def killed_while_it_runs(patch: pytest.MonkeyPatch) -> None:
    """The emulator is killed when the first inference begins."""
    real, once = execution.board_execution, [signal.SIGKILL]

    def vanishing(session: BoardSession, *given: Any, **options: Any) -> Execution:
        line = session.line
        assert session.identity and isinstance(line, EmulatedLine) and line.process_id
        if once:
            os.kill(line.process_id, once.pop())
        return real(session, *given, **options)

    patch.setattr(execution, "board_execution", vanishing)


def test_a_board_that_is_reset_begins_anew(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_while_it_runs(monkeypatch)
    there, here = mote.run(compiled, board=BOARD, layers=False), mote.run(compiled, layers=False)
    assert [x.sha256 for x in there.outputs] == [x.sha256 for x in here.outputs]


def test_a_board_that_vanishes(model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    killed_while_it_runs(monkeypatch)
    start, starts = EmulatedLine._start, []

    def once(self: EmulatedLine) -> None:
        starts.append(self)
        if len(starts) > 1:
            raise MoteError("does not come back", where="board")
        start(self)

    monkeypatch.setattr(EmulatedLine, "_start", once)
    assert main(["run", model, "--board", BOARD]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "board: does not come back" in said and "Traceback" not in said


@pytest.mark.slow
@needs_litert
def test_samples_on_two_boards(compiled: Compiled) -> None:
    """Each runs a part, and the answers are those of one."""
    rng = np.random.default_rng(1)
    data = rng.integers(-128, 128, (13, 8, 8, 3)).astype(np.int8), rng.integers(0, 5, 13)
    one, two = (mote.evaluate(compiled, data, board=board).core for board in (BOARD, f"2 x {BOARD}"))
    assert one is not None and two is not None and two.emulator == f"board 2 x {BOARD}"
    assert replace(two, emulator=one.emulator) == one and one.equal == 13


@pytest.mark.slow
@needs_litert
def test_an_image_is_loaded_by_the_agent(model: str, tmp_path: Path) -> None:
    """An agent with a runtime, behind a serial port, gets the image over the wire."""
    target = mote.targets.load("cortex-m4")
    library = mote.runtime([model], target=target, optimize="size", update=True)
    fill(tmp_path / "runtime", library.package.files)
    image = mote.pack(model, library.settings, runtime=library.manifest.fixed)
    image.write(tmp_path / "small.mote")
    elf = linked_runtime_agent(
        library.package.files,
        runtime_settings([8192], 1024),
        target,
        toolchain.find_compiler(target),
        tmp_path,
        optimize="size",
        options=AgentOptions(image=16_384),
        emulated=True,
    ).elf
    with serial_board(elf, target) as board:
        loaded = mote.load_image(tmp_path / "small.mote", target=target, runtime=tmp_path / "runtime")
        there, here = mote.run(loaded, board=board), mote.run(loaded)
        assert [x.sha256 for x in there.outputs] == [x.sha256 for x in here.outputs]
        assert there.board is not None and there.board.code.startswith("loaded as an image of")
        assert all(x.instructions for x in there.layers) and there.unit == "ticks" and there.seconds
        assert mote.verify(loaded, 2, source=model, board=board).exact


@contextmanager
def serial_board(elf: Path, target: Target) -> Iterator[str]:
    """The address of a serial port behind which firmware runs in QEMU."""
    command = emulators.command(elf, target, emulators.find_emulator(target, "qemu"), serial="pty")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            named = re.search(r"/dev/\S+", process.stdout.readline())
            assert named
            yield f"serial:{named[0]}"
        finally:
            process.kill()
