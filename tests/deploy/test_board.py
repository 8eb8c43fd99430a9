"""`mote.board` and `mote board`: lists, information, firmware and text of boards."""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path

import pytest

import mote
from mote.base.errors import MoteError
from mote.deploy.wire import links
from mote.deploy.wire.frames import Message
from mote.ui.cli import main
from tests.deploy.boards.emulated_board import DIGITS, board_model, built_elf, needs, on_network

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="emulated boards need pseudo-terminals")


@pytest.fixture(autouse=True)
def no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MOTE_BOARDS", raising=False)


def test_the_list_has_boards_of_the_file_and_emulated_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "boards.toml").write_text(
        "[boards.desk]\naddress = 'serial:/dev/no-such-tty'\ntarget = 'stm32l4r5'\n[pools]\nrack = '2 x qemu:virt'\n",
        encoding="utf-8",
    )
    assert main(["board", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    (desk,) = (board for board in listed["boards"] if board["name"] == "desk")
    assert (desk["target"], desk["state"], desk["origin"]) == ("stm32l4r5", "not connected", "boards.toml")
    emulated = {board["name"] for board in listed["boards"] if board["origin"] == "emulated"}
    assert {"qemu:cortex-m4", "qemu:rv32imc"} <= emulated
    assert main(["board", "list"]) == 0
    out = capsys.readouterr().out
    assert "desk" in out and "not connected" in out and "pool rack: 2 x qemu:virt" in out


def test_an_emulated_board_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    needs("cortex-m4")
    assert main(["board", "info", "qemu:cortex-m4", str(DIGITS), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["target"], said["input_bytes"], said["output_bytes"]) == ("cortex-m4", [64], [10])
    assert said["model"] == board_model("cortex-m4").id.hex()
    assert main(["board", "flash", "qemu:cortex-m4", str(DIGITS)]) == 0
    out = capsys.readouterr().out
    assert "built into the firmware of QEMU's mps2-an386" in out and said["model"] in out


def test_a_board_on_the_network_is_asked_and_its_text_logged(tmp_path: Path) -> None:
    needs("cortex-m4")
    with on_network(built_elf("cortex-m4", tmp_path / "elf"), board_model("cortex-m4").target) as port:
        info = mote.board("info", f"tcp:127.0.0.1:{port}")
        assert isinstance(info, mote.BoardInfo) and info.identity.model == board_model("cortex-m4").id
        assert info.scratch == 1 << 18 and info.memories[1] == (0x20000000, 4 << 20)


def test_the_log_has_the_text_without_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def talk() -> None:
            connection, _ = server.accept()
            connection.sendall(b"boot\r\n" + Message(0xA0, 1, b"data").framed + b"ready\n")
            connection.recv(1)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        (tmp_path / "boards.toml").write_text(
            f"[boards.desk]\naddress = 'tcp:127.0.0.1:{port}'\nlog = '{tmp_path}/desk.log'\n", encoding="utf-8"
        )
        assert main(["board", "log", "desk", "--seconds", "0.5"]) == 0
        thread.join(5)
    assert capsys.readouterr().out == "boot\nready\n"
    assert (tmp_path / "desk.log").read_text(encoding="utf-8") == "boot\nready\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("info", ""), "no board is named"),
        (("info", "desk"), "is no name of a board"),
        (("info", "qemu:cortex-m4"), "starts with a model only"),
        (("log", "qemu:cortex-m4"), "is emulated"),
        (("flash", "tcp:a:1"), "no model is named"),
        (("paint", "desk"), "'paint' is not known"),
    ],
)
def test_what_cannot_be_done_is_said(given: tuple[str, str], message: str) -> None:
    with pytest.raises(MoteError, match=message):
        mote.board(*given)


def test_a_board_without_a_tool_is_not_flashed() -> None:
    with pytest.raises(MoteError, match="nothing says how it is flashed"):
        mote.board("flash", "tcp:a:1", DIGITS, target="stm32l4r5")


def test_a_port_that_nobody_listens_on_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "OPENING_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert main(["board", "info", f"tcp:127.0.0.1:{port}"]) == 1
    assert "cannot be connected to" in capsys.readouterr().err
