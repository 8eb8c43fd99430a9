"""Examples with a page that quotes what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers.support import emulated

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(example: str, *arguments: str) -> str:
    """The output of an example that ends well."""
    emulated("cortex-m4")
    program = [sys.executable, EXAMPLES / example / f"{example}.py", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def quoted(example: str, arguments: str) -> str:
    """The output that the page of an example quotes for some arguments."""
    page = (EXAMPLES / example / "README.md").read_text(encoding="utf-8")
    return page.split(f"$ python examples/{example}/{example}.py {arguments}\n")[1].split("```")[0]
