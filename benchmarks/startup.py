"""How long `import mote` and compiling each bundled model take (without the C compiler). Times are noisy: look at
the order of magnitude.

    python benchmarks/startup.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

MODELS = Path(__file__).parents[1] / "models"
RUNS = 5


def best(code: str) -> float:
    """The fastest of a few runs of `code` in a fresh interpreter, less the interpreter's own start."""

    def once(text: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", text], check=True)
        return time.perf_counter() - start

    return min(once(code) for _ in range(RUNS)) - min(once("") for _ in range(RUNS))


def main() -> None:
    print(f"import mote:           {best('import mote'):.3f} s")
    print(f"import mote.compiler.line:  {best('import mote.compiler.line'):.3f} s")
    for path in sorted(MODELS.glob("*.tflite")):
        seconds = best(f"import mote; mote.compile({str(path)!r}, target='cortex-m4')")
        print(f"compile {path.name}: {seconds:.3f} s")


if __name__ == "__main__":
    main()
