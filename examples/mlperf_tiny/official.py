"""MLCommons' own runner on a device that is no USB device: a pseudo-terminal.

MLPERF_TINY_RUNNER=.../tiny/benchmark/runner python examples/mlperf_tiny/official.py PORT --data DATASETS --mode a

The runner is the user's copy, with the packages that it needs beside this Python: numpy, scikit-learn, matplotlib,
pyyaml, pyserial, pyusb. It finds devices by their USB identifiers; here it finds one, which is the port.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

VENDOR, PRODUCT = 0x1209, 0x0001
"""A USB identifier for tests, which no product has."""
SCRIPTS = {"a": "tests_accuracy.yaml", "p": "tests_performance.yaml"}
DEVICES = f"""\
- name: mote
  type: dut
  baud: 115200
  usb:
    {VENDOR:#06x}: {PRODUCT:#06x}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", help="the pseudo-terminal")
    parser.add_argument("--data", required=True, help="the folder that has kws01, ic01 and so on")
    parser.add_argument("--mode", choices=SCRIPTS, default="a", help="accuracy or performance")
    given = parser.parse_args()
    runner = Path(os.environ.get("MLPERF_TINY_RUNNER", "")).resolve()
    if not (runner / "main.py").is_file():
        print("error: MLPERF_TINY_RUNNER is not the folder of the runner, which has main.py", file=sys.stderr)
        return 1
    import usb.core
    from serial.tools import list_ports

    port = SimpleNamespace(device=given.port, vid=VENDOR, pid=PRODUCT, description="pseudo-terminal")
    list_ports.comports = lambda *_: [port]
    usb.core.find = lambda **_: []
    sys.path.insert(0, str(runner))
    with TemporaryDirectory() as folder:
        devices = Path(folder) / "devices.yaml"
        devices.write_text(DEVICES, encoding="utf-8")
        script = str(runner / SCRIPTS[given.mode])
        sys.argv = ["main.py", "-d", str(devices), "-t", script, "-s", given.data, "-m", given.mode]
        runpy.run_path(str(runner / "main.py"), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
