"""The serial protocol of `examples/mlperf_tiny`, in C, with a task that counts and a clock that steps."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.files import fill
from mote.compiler.package.adapters.sources import Recording, recording_files, source_files
from tests.helpers.support import examples, needs

EXAMPLE = Path(__file__).parents[2] / "examples" / "mlperf_tiny"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
SANITIZED = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
INPUT_BYTES, COMMAND = 20, 40
CONFIG = f"""
#define MLPERF_MODEL "kws01"
#define MLPERF_PROFILE "profile"
#define MLPERF_INPUT_BYTES {INPUT_BYTES}
#define MLPERF_FLOATS 0
#define MLPERF_FLIP 0x80
#define MLPERF_COMMAND {COMMAND}
#define MLPERF_RECORDING 1
#define MLPERF_THRESHOLD 115
"""
TASK = """
#include <stdio.h>
#include "mlperf.h"
static const uint8_t *given;
static unsigned long runs;
int task_begin(void) { return 1; }
void task_load(const uint8_t *input) { given = input; runs = 0; }
int task_infer(void) { return ++runs < 1000; }
void task_results(void) { printf("m-results-[%lu,%d]\\n", runs, given ? given[0] ^ MLPERF_FLIP : -1); }
#if MLPERF_AUDIO
static size_t heard;
int task_hear(const int16_t *values, size_t count, int8_t *score) {
    *score = (int8_t)values[0];
    heard += count;
    return heard > 320;
}
void task_forget(void) { heard = 0; }
void task_activations(void) { printf("m-activations-[%lu]\\n", runs); }
#endif
"""
CLOCK = """
#include <stdio.h>
#include "mlperf.h"
static uint32_t now;
void board_begin(void) { }
int board_read(int wait) {
    if (!wait) { return BOARD_NOTHING; }
    const int c = getchar();
    return c == EOF ? BOARD_CLOSED : c;
}
uint32_t board_microseconds(void) { return now += 5u; }
void board_set(int pin, int high) { printf("%s%d\\n", high ? "+" : "-", pin); }
"""


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("protocol"))


def compiled(folder: Path, *, energy: int = 0, audio: int = 0) -> Path:
    """The protocol with a model that counts, on this computer, with sanitizers."""
    needs("cc")
    for name, text in {"config.h": CONFIG, "task.c": TASK, "clock.c": CLOCK}.items():
        (folder / name).write_text(text)
    sources = [str(EXAMPLE / "firmware" / name) for name in ("main.c", "protocol.c", "listen.c")]
    sources += sorted(str(path) for path in folder.glob("mote_*.c"))
    options = [
        *STRICT,
        *SANITIZED,
        f"-DMLPERF_ENERGY={energy}",
        f"-DMLPERF_AUDIO={audio}",
        "-I.",
        f"-I{EXAMPLE / 'firmware'}",
    ]
    subprocess.run(["cc", *options, *sources, "task.c", "clock.c", "-o", "protocol"], cwd=folder, check=True)
    return folder / "protocol"


def said(protocol: Path, text: bytes) -> list[str]:
    """The lines that the firmware answers after those of its start."""
    done = subprocess.run([protocol], input=text, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode(errors="replace").splitlines()
    assert lines[:4] == ["m-timestamp-mode-performance", "m-lap-us-5", "m-init-done", "m-ready"]
    return lines[4:]


def test_commands_and_their_answers(protocol: Path) -> None:
    data = "".join(f"{7 * n % 256:02x}" for n in range(INPUT_BYTES))
    asked = f"name%profile%timestamp%db load {INPUT_BYTES}%db {data[:30]}%db {data[30:]}ff%infer 3 2%results%"
    assert said(protocol, asked.encode()) == [
        *("m-name-dut-[mote]", "m-ready"),
        *("m-profile-[profile]", "m-model-[kws01]", "m-ready"),
        *("m-lap-us-10", "m-ready"),
        *(f"m-[Expecting {INPUT_BYTES} bytes]", "m-ready", "m-ready", "m-load-done", "m-ready"),
        *("m-warmup-start-2", "m-warmup-done", "m-infer-start-3", "m-lap-us-15", "m-lap-us-20", "m-infer-done"),
        *("m-results-[5,0]", "m-ready", "m-results-[5,0]", "m-ready"),
    ]
    lines = said(protocol, f"db load 10%db {data[:20]}%db print%db print 3 8%help%".encode())
    assert "m-buffer-00-07-0e-15-1c-23-2a-31" in lines and lines.count("m-buffer-38-3f") == 2
    listed = {line.split()[0] for line in lines[lines.index("profile") + 1 :] if line and line != "m-ready"}
    assert listed == {"help", "name", "profile", "timestamp", "db", "infer", "results"}


def test_energy_mode_stamps_the_time_on_a_pin(tmp_path: Path) -> None:
    asked = f"db load {INPUT_BYTES}%db {'00' * 18}%db 0000%infer 1 0%".encode()
    done = subprocess.run([compiled(tmp_path, energy=1)], input=asked, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert lines[:5] == ["m-timestamp-mode-energy", "-0", "+0", "m-init-done", "m-ready"] and lines.count("+0") == 3
    begin = lines.index("m-infer-start-1")
    assert lines[begin + 1 : begin + 6] == ["-0", "+0", "-0", "+0", "m-infer-done"]


def test_a_device_listens_between_commands(tmp_path: Path) -> None:
    """Blocks of 20 ms, of which the first one is too short for a frame: pins, detections, scores."""
    scores = [0, 5, 116, 115, -128]
    fill(tmp_path, recording_files(Recording(np.repeat(np.array(scores, np.int16), 320), 320)))
    fill(tmp_path, source_files(["memory"]))
    asked = b"stop%state%start%start%state%stop%state%extract_uart_stream%"
    lines = said(compiled(tmp_path, audio=1), asked)
    heard = ["+1", "-2", "+2", "-1", "+1", "-2", "+2", "-1", "+1", "-1", "+1", "-1"]  # the first frame, and that of 116
    assert lines == [
        *("m-ready", "m-state-[idle]", "m-input-[20]", "m-ready"),
        *("-0", "+0", "+1", "-1", "m-ready", "+1", "-1", *heard),
        *("e-[It listens already]", "m-ready", "m-state-[ended]", "m-input-[20]", "m-ready"),
        *("-0", "+0", "m-lost-[0]", "m-first-[640]", "target activations:", "[5, 116, 115, -128]", "m-ready"),
        *("m-state-[idle]", "m-input-[20]", "m-ready", "e-[The input has 0 bytes, and the model takes 20]", "m-ready"),
    ]


REFUSED = {
    "db": "db needs load, print",
    "db load": "from 1 to 20",
    "db load 0": "from 1 to 20",
    "db load 21": "from 1 to 20",
    "db load 99999999999999999999": "from 1 to 20",
    "db load -1": "from 1 to 20",
    "db 00": "db load must come before",
    "db 0": "digits is odd",
    "db load 2%db 0g": "hexadecimal digit at 1",
    "db print 21": "up to 20",
    "infer 0": "from 1",
    "infer x": "from 1",
    "infer 1 -1": "from 0",
    "infer 1": "The input has 0 bytes",
    "db load 19%db " + "00" * 18 + "%db 00%infer 1": "The input has 19 bytes",
    "db load 20%db " + "00" * 18 + "%db 0000%infer 5000": "The inference failed",
    "nonsense": "Unknown command: nonsense",
    "x" * (COMMAND + 1): f"more than {COMMAND} characters",
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_refused_has_a_reason(protocol: Path, command: str) -> None:
    *_, error, ready = said(protocol, f"{command}%".encode())
    assert error.startswith("e-[") and REFUSED[command] in error and ready == "m-ready"


WORDS = (
    "name",
    "db",
    "load",
    "print",
    "infer",
    "results",
    "help",
    "profile",
    "timestamp",
    "20",
    "3",
    "0",
    "4294967297",
)


@settings(max_examples=examples(60, 10), deadline=None)
@given(st.integers(0, 1 << 32))
def test_whatever_is_sent_is_answered(protocol: Path, seed: int) -> None:
    """One m-ready for each '%', without a fault; characters that are no command at all among them."""
    rng = random.Random(seed)

    def command() -> bytes:
        if rng.random() < 0.3:
            return bytes(rng.randrange(256) for _ in range(rng.choice((0, 1, 39, 40, 41, 300))))
        words = [rng.choice((*WORDS, rng.randbytes(rng.randrange(20)).hex())) for _ in range(rng.randrange(6))]
        return rng.choice((" ", "  ", "\r\n ")).join(words).encode()

    text = b"%".join(command() for _ in range(200)) + b"%name%"
    lines = said(protocol, text)
    assert sum(line.endswith("m-ready") for line in lines) == text.count(b"%")
    assert lines[-2:] == ["m-name-dut-[mote]", "m-ready"]


@settings(max_examples=examples(30, 5), deadline=None)
@given(st.binary(min_size=1, max_size=INPUT_BYTES), st.integers(1, 18))
def test_bytes_arrive_in_any_pieces(protocol: Path, data: bytes, piece: int) -> None:
    pieces = [f"db {data[at : at + piece].hex()}%" for at in range(0, len(data), piece)]
    lines = said(protocol, f"db load {len(data)}%{''.join(pieces)}db print%".encode())
    assert lines.count("m-load-done") == 1
    printed = [line.removeprefix("m-buffer-") for line in lines if line.startswith("m-buffer-")]
    assert bytes.fromhex("".join(printed).replace("-", "")) == data
