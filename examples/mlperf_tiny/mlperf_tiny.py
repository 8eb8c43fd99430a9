"""MLPerf Tiny's firmware with a model compiled by Mote: built, and behind a pseudo-terminal where it can be emulated.

python examples/mlperf_tiny/mlperf_tiny.py MODEL --task kws --target cortex-m4
python examples/mlperf_tiny/mlperf_tiny.py MODEL --task kws --target cortex-m4 --run accuracy --data FOLDER_OR_ZIP
python examples/mlperf_tiny/mlperf_tiny.py MODEL --task kws --target nucleo_l4r5zi -o build/kws
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import client
from firmware import SHIFT, Built, build, started
from tasks import TASKS, Task, listening

from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.compiler.package.adapters.sources import read_recording


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model file")
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--target", default="cortex-m4", help="host, a core, a file of boards/, or a .toml file")
    parser.add_argument("--board", default="", metavar="FILE.c", help="the functions of a board of yours")
    parser.add_argument("--energy", action="store_true", help="time stamps on a pin, for a power monitor")
    parser.add_argument(
        "--audio",
        nargs="?",
        const="",
        metavar="FILE.wav",
        help="task sww: the firmware takes samples of sound, of the board's microphone or of a recording",
    )
    parser.add_argument("--no-shrink", action="store_true", help="keep weights that cannot change a result")
    parser.add_argument("--run", choices=client.MODES, help="drive the firmware, and end")
    parser.add_argument("-o", "--output", metavar="DIR", help="keep the firmware and its sources there")
    client.arguments_of(parser)
    given = parser.parse_args()
    try:
        with ExitStack() as stack:
            folder = Path(given.output) if given.output else stack.enter_context(temporary_folder())
            task = chosen(given.task, given.audio)
            built = build(
                given.model,
                task,
                given.target,
                folder,
                energy=given.energy,
                board=given.board,
                shrink=not given.no_shrink,
                recording=given.audio or "",
                threshold=given.threshold,
            )
            show(built, given.output)
            if built.target.memories:
                return 0
            port = stack.enter_context(started(built))
            if given.run:
                threshold = given.threshold
                print(client.drive(port, given.run, given.data, given.limit, given.inferences, threshold=threshold))
            else:
                print(f"serial line: {port}\nEnd with Ctrl-C.", flush=True)
                wait()
    except MoteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def chosen(name: str, audio: str | None) -> Task:
    """The task; with `audio` the one that listens, to as many channels as the recording has."""
    if audio is None:
        return TASKS[name]
    if name != "sww":
        raise MoteError("only sww listens", where="option audio", remedy="use --task sww")
    return listening(read_recording(audio).channels if audio else 1)


def wait() -> None:
    """Until somebody ends this."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    ended.wait()


def show(built: Built, kept: str | None) -> None:
    """Says what was built."""
    if built.usage is not None:
        for name, (used, size) in built.usage.memories.items():
            print(f"{name}: {used:,} of {size:,} bytes ({used / size:.1%})")
        if built.usage.stack is not None:
            print(f"stack: at most {built.usage.stack.size:,} bytes")
    if kept:
        print(f"firmware: {built.elf}")
    if not built.target.memories and not built.target.is_host:
        print(f"emulated: {built.target.name} in QEMU, {1 << SHIFT} ns an instruction", flush=True)


if __name__ == "__main__":
    sys.exit(main())
