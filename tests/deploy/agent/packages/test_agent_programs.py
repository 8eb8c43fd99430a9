"""Agents of packages run on this computer: the program of the CMake project over TCP and a pseudo-terminal, those of
ecosystems over standard input and output, with headers of their systems (`api/`) written from the documentation."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import pytest

from mote.bench.measuring import run as run_model
from mote.bench.verifying import verify
from mote.compiler.line import compile
from mote.compiler.package.make import WARNINGS
from mote.compiler.packer import pack
from mote.deploy.agents import AgentProject, agent
from mote.deploy.delivery import sign
from tests.compiler.package.ecosystems import DIGITS, ROOT, run
from tests.deploy.agent.packages import host
from tests.deploy.agent.packages.host import OK, Host, over
from tests.helpers.support import needs

API = Path(__file__).parent / "api"
STRICT = (*WARNINGS.split(), "-Werror")
SCRATCH = 4096


@pytest.fixture(scope="module")
def expected() -> list[tuple[bytes, bytes]]:
    """Inputs and the reference's outputs."""
    runs = compile(DIGITS).project.example.runs[:2]
    return [(r.inputs[0].tobytes(), r.outputs[0].tobytes()) for r in runs if r.outputs is not None]


def made(package: str, folder: Path) -> AgentProject:
    project = agent(DIGITS, package=package, scratch=0 if package == "esp-idf" else SCRATCH)
    project.write(folder)
    return project


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent of the CMake project."""
    needs("cc", "cmake")
    folder = tmp_path_factory.mktemp("cmake")
    made("cmake", folder)
    run("cmake", "-S", ".", "-B", "build", "-DCMAKE_C_FLAGS=-Werror", cwd=folder)
    run("cmake", "--build", "build", cwd=folder)
    return folder / "build" / "agent"


@pytest.fixture
def listening(program: Path) -> Iterator[int]:
    """The port of a running agent."""
    with subprocess.Popen([program, "--tcp", "0"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        kind, name, port = running.stdout.readline().strip().split(":")
        assert (kind, name) == ("tcp", "127.0.0.1")
        yield int(port)
        running.kill()


def connected(port: int) -> tuple[socket.socket, Host]:
    line = socket.create_connection(("127.0.0.1", port))
    return line, over(line.fileno(), line.fileno())


def test_an_inference_over_tcp(listening: int, expected: list[tuple[bytes, bytes]]) -> None:
    line, asks = connected(listening)
    with line:
        who = asks.identify()
        assert who.protocol == 1 and who.target == "host" and who.inputs == who.outputs == 1
        assert who.counter_hz == 10**9 and any(who.model) and not any(who.runtime)
        for given, wanted in expected:
            assert asks.run(given, len(wanted)) == wanted
        status, data = asks.ask(host.READ, host.place(host.CYCLES) + (8 * who.steps).to_bytes(4, "little"))
        assert status == OK and all(ns > 0 for ns in struct.unpack(f"<{who.steps}Q", data))


def test_a_program_is_a_board_of_commands(listening: int, expected: list[tuple[bytes, bytes]]) -> None:
    """Outputs, every tensor and the cycles of each step, over the session that commands use."""
    board = f"tcp:127.0.0.1:{listening}"
    result = run_model(DIGITS, board=board)
    (output,) = result.values.values()
    assert output.tobytes() == expected[0][1] and result.ram.stack_measured is None
    assert verify(DIGITS, inputs=1, board=board).exact


@pytest.mark.slow
def test_the_example_measures_a_program(listening: int) -> None:
    """Its twin on an emulated core is in tests/examples."""
    example = ROOT / "examples" / "board" / "board.py"
    said = run(sys.executable, example, f"tcp:127.0.0.1:{listening}", cwd=ROOT)
    assert "every tensor equals the reference's." in said and "output 7_softmax: " in said


def test_a_stopped_model_survives_its_host(listening: int, expected: list[tuple[bytes, bytes]]) -> None:
    """The host goes away in the middle of an inference; the next one begins its own."""
    given, wanted = expected[0]
    line, asks = connected(listening)
    with line:
        asks.identify()
        asks.ask(host.WRITE, host.place(host.INPUT) + given)
        status, data = asks.ask(host.RUN, struct.pack("<2I", 1, 1))
        assert status == host.STOPPED and struct.unpack_from("<I", data)[0] >= 1
    line, asks = connected(listening)
    with line:
        asks.session = 8
        assert asks.ask(host.RUN, struct.pack("<2I", 1, host.NO_STOP))[0] == host.NO_SESSION
        asks.identify()
        assert asks.run(given, len(wanted)) == wanted


def test_a_restart_ends_the_session(listening: int, expected: list[tuple[bytes, bytes]]) -> None:
    line, asks = connected(listening)
    with line:
        boots = asks.identify().boots
        assert asks.ask(host.RESTART) == (OK, b"")
        assert asks.ask(host.RUN, struct.pack("<2I", 0, host.NO_STOP))[0] == host.NO_SESSION
        assert asks.identify().boots != boots
        assert asks.run(expected[0][0], len(expected[0][1])) == expected[0][1]


def test_code_in_the_scratch_memory_is_called(listening: int, tmp_path: Path) -> None:
    from elftools.elf.elffile import ELFFile

    (tmp_path / "code.c").write_text("unsigned code(unsigned x, const void *s) { (void)s; return 3u * x + 1u; }\n")
    run("cc", "-O2", "-c", "code.c", cwd=tmp_path)
    with (tmp_path / "code.o").open("rb") as file:
        text = ELFFile(file).get_section_by_name(".text").data()
    line, asks = connected(listening)
    with line:
        asks.identify()
        status, region = asks.ask(host.REGION, host.place(host.SCRATCH)[:4])
        assert status == OK and struct.unpack("<2I", region)[1] == SCRATCH
        assert asks.ask(host.WRITE, host.place(host.SCRATCH, offset=64) + text) == (OK, b"")
        status, data = asks.ask(host.CALL, struct.pack("<2I", 64, 14))
        assert status == OK and struct.unpack("<IQ", data)[0] == 43


def test_a_pseudo_terminal_is_a_serial_port(program: Path, expected: list[tuple[bytes, bytes]]) -> None:
    with subprocess.Popen([program, "--pty"], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        kind, _, path = running.stdout.readline().strip().partition(":")
        assert kind == "serial"
        for session in (1, 2):  # it stays when the host closes it
            line = os.open(path, os.O_RDWR | os.O_NOCTTY)
            asks = over(line, line)
            asks.session = session
            assert asks.identify().target == "host"
            assert asks.run(expected[1][0], len(expected[1][1])) == expected[1][1]
            os.close(line)
        running.kill()


@pytest.fixture(scope="module")
def loading(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An agent that runs images which are signed, and the private key."""
    needs("cc")
    pytest.importorskip("cryptography")
    folder = tmp_path_factory.mktemp("runtime")
    sign(new_key=folder / "key.pem", passphrase="")
    agent(runtime=[DIGITS], keys=[folder / "key.pub.pem"]).write(folder / "project")
    sources = (*(folder / "project" / "src").glob("*.c"), folder / "project" / "posix" / "mote_port.c")
    flags = ("-std=c99", "-fwrapv", *STRICT, "-DMOTE_PORT_OWN_SCRATCH", f"-I{folder}/project/src")
    run("cc", *flags, *sources, "-o", "agent", cwd=folder)
    return folder / "agent", folder / "key.pem"


def test_images_are_loaded_if_they_are_signed(
    loading: tuple[Path, Path], tmp_path: Path, expected: list[tuple[bytes, bytes]]
) -> None:
    program, key = loading
    pack(DIGITS, runtime=program.parent / "project").write(tmp_path / "digits.mote")
    unsigned = (tmp_path / "digits.mote").read_bytes()
    sign(tmp_path / "digits.mote", key=key, passphrase="")
    signed = (tmp_path / "digits.mote").read_bytes()
    with subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        asks = over(running.stdout.fileno(), running.stdin.fileno())
        who = asks.identify()
        assert any(who.runtime) and not any(who.model) and who.outputs == 0 and host.LOAD in who.requests
        damaged = signed[:400] + bytes([signed[400] ^ 1]) + signed[401:]
        for image in (unsigned, damaged):
            assert loaded(asks, image) == host.REFUSED
            assert asks.ask(host.RUN, struct.pack("<2I", 1, host.NO_STOP))[0] == host.NO_MODEL
        assert loaded(asks, signed) == OK
        for given, wanted in expected:
            assert asks.run(given, len(wanted)) == wanted
        status, data = asks.ask(host.RUN, struct.pack("<2I", 1, 2))
        assert status == host.STOPPED and struct.unpack_from("<I", data)[0] >= 2
        running.kill()


def loaded(asks: Host, image: bytes) -> int:
    """Loads an image; the status."""
    for at in range(0, len(image), 256):
        assert asks.ask(host.WRITE, host.place(host.IMAGE, offset=at) + image[at : at + 256]) == (OK, b"")
    return asks.ask(host.LOAD, struct.pack("<2I", len(image), crc32(image)))[0]


def zephyr(folder: Path) -> Sequence[str | Path]:
    sources = [path for path in (folder / "src").glob("*.c") if path.name != "mote_rtt.c"]
    return ("cc", "-std=gnu99", *STRICT, f"-I{API}/zephyr", f"-I{API}/common", "-Isrc", *sources)


def esp_idf(folder: Path) -> Sequence[str | Path]:
    own = folder / "components" / "mote_agent" / "src"
    sources = (*own.glob("*.c"), *(folder / "main").glob("*.c"), API / "esp-idf" / "start.c")
    return ("cc", "-std=gnu99", *STRICT, f"-I{API}/esp-idf", f"-I{API}/common", f"-I{own}", "-Imain", *sources)


def arduino(folder: Path) -> Sequence[str | Path]:
    for source in (folder / "src").glob("*.c"):
        run("cc", "-std=gnu11", *STRICT, "-Isrc", "-c", source, cwd=folder)
    sketch = folder / "examples" / "mote_agent" / "mote_agent.ino"
    include = ("-DARDUINO=10819", f"-I{API}/arduino", f"-I{API}/common", "-Isrc")
    cpp = ("-x", "c++", "src/mote_port.cpp", sketch, API / "arduino" / "start.cpp", "-x", "none")
    return ("g++", "-std=gnu++11", *STRICT, *include, *cpp, *folder.glob("*.o"))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("package", "build"), [("zephyr", zephyr), ("esp-idf", esp_idf), ("arduino", arduino)])
def test_the_agent_of_an_ecosystem_answers(
    package: str, build: object, tmp_path: Path, expected: list[tuple[bytes, bytes]]
) -> None:
    needs("cc", "g++")
    project = made(package, tmp_path)
    run(*build(tmp_path), "-o", "agent", cwd=tmp_path)  # type: ignore[operator]
    with subprocess.Popen([tmp_path / "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        asks = over(running.stdout.fileno(), running.stdin.fileno())
        who = asks.identify()
        assert who.model.hex() == project.id and who.clock_hz == who.counter_hz * (who.clock_hz > 0)
        for given, wanted in expected:
            assert asks.run(given, len(wanted)) == wanted
        running.kill()


@pytest.mark.slow
def test_the_agent_runs_on_zephyr(tmp_path: Path) -> None:
    """With the user's own Zephyr, on its emulated Cortex-M3; the smaller twin is the run on the host. The toolchain is
    the one that Zephyr's variables name, modules are those of the west workspace or of ZEPHYR_MODULES."""
    if "ZEPHYR_BASE" not in os.environ:
        pytest.skip("ZEPHYR_BASE does not name a Zephyr tree")
    needs("cmake", "ninja", "qemu-system-arm")
    agent(DIGITS, package="zephyr", target="cortex-m3").write(tmp_path / "app")
    modules = [f"-DZEPHYR_MODULES={os.environ['ZEPHYR_MODULES']}"] if "ZEPHYR_MODULES" in os.environ else []
    run("cmake", "-GNinja", "-S", "app", "-B", "build", "-DBOARD=mps2/an385", *modules, cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        serial = f"tcp:127.0.0.1:{server.getsockname()[1]}"
        machine = ("-M", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", serial, "-kernel")
        with subprocess.Popen(["qemu-system-arm", *machine, tmp_path / "build/zephyr/zephyr.elf"]) as running:
            line, _ = server.accept()
            with line:
                asks = over(line.fileno(), line.fileno())
                time.sleep(2)
                boots = asks.identify().boots
                first = compile(DIGITS, target="cortex-m3").project.example.runs[0]
                assert first.outputs is not None
                wanted = first.outputs[0].tobytes()
                assert asks.run(first.inputs[0].tobytes(), len(wanted)) == wanted
                status, data = asks.ask(host.RUN, struct.pack("<2I", 1 | host.MEASURE_STACK, host.NO_STOP))
                assert status == OK and 0 < struct.unpack_from("<4I", data)[3] < 8192
                assert asks.ask(host.RESTART) == (OK, b"")
                time.sleep(2)
                assert asks.identify().boots == boots + 1
            running.kill()


PROBE = """\
#include <stdio.h>
#include <string.h>

#include "mote_rtt.h"

typedef struct { const char *name; uint8_t *buffer; uint32_t bytes; volatile uint32_t put, got; uint32_t flags; } ring;
typedef struct { char mark[16]; int32_t ups, downs; ring up, down; } block;
extern block _SEGGER_RTT;

int main(void) {
    const uint8_t message[5] = {1, 2, 3, 4, 5};
    block *rtt = &_SEGGER_RTT;
    mote_rtt_start();
    if (strcmp(rtt->mark, "SEGGER RTT") != 0 || rtt->ups != 1 || rtt->downs != 1) return 1;
    for (unsigned turn = 0; turn < 20; turn++) { /* the rings wrap: 8 bytes each */
        if (mote_rtt_read() != -1) return 2;
        mote_rtt_write(message, 5);
        for (unsigned i = 0; i < 5; i++, rtt->up.got = (rtt->up.got + 1) % rtt->up.bytes)
            if (rtt->up.buffer[rtt->up.got] != message[i]) return 3;
        if (rtt->up.got != rtt->up.put) return 4;
        for (unsigned i = 0; i < 7; i++, rtt->down.put = (rtt->down.put + 1) % rtt->down.bytes)
            rtt->down.buffer[rtt->down.put] = (uint8_t)(turn + i);
        for (unsigned i = 0; i < 7; i++)
            if (mote_rtt_read() != (int)(uint8_t)(turn + i)) return 5;
    }
    return 0;
}
"""


def test_a_probe_finds_the_rings(tmp_path: Path) -> None:
    needs("cc")
    ports = ROOT / "src" / "mote" / "deploy" / "agent" / "packages" / "ports" / "rtt"
    (tmp_path / "probe.c").write_text(PROBE)
    flags = (*STRICT, "-std=c99", "-DMOTE_RTT_BYTES=8u", f"-I{ports}")
    run("cc", *flags, ports / "mote_rtt.c", "probe.c", "-o", "probe", cwd=tmp_path)
    run("./probe", cwd=tmp_path)
    run("cc", "-std=c99", "-c", ports / "mote_rtt.c", cwd=tmp_path)
    assert b"SEGGER RTT" not in (tmp_path / "mote_rtt.o").read_bytes(), "a probe would find the mark where it is not"
