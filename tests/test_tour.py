"""Pages for developers: each block of Python prints what the block behind it shows."""

from __future__ import annotations

import os
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.helpers.support import needs

ROOT = Path(__file__).parents[1]
PAGES = ("tour", "adding-a-pass", "adding-a-packager", "adding-a-front-end")
"""Pages of docs/develop whose blocks are run, those of a page one after another."""
BLOCKS = re.compile(r"^( *)```python\n(.*?)^ *```\n\n *```\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
UPDATE = "MOTE_UPDATE_SNAPSHOTS"


def page(name: str) -> Path:
    return ROOT / "docs" / "develop" / f"{name}.md"


def printed(text: str) -> str:
    """The page with what its blocks print."""
    variables: dict[str, object] = {}

    def run(block: re.Match[str]) -> str:
        said = StringIO()
        with redirect_stdout(said):
            exec(compile(dedent(block[2]), "page", "exec"), variables)
        before = text[block.start() : block.start(3)]
        return before + indent(said.getvalue(), block[1]) + text[block.end(3) : block.end()]

    return BLOCKS.sub(run, text)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_print_what_the_page_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("cc")
    monkeypatch.chdir(ROOT)
    text = page(name).read_text(encoding="utf-8")
    found = printed(text)
    if os.environ.get(UPDATE):
        page(name).write_text(found, encoding="utf-8")
    else:
        assert found == text, f"{UPDATE}=1 pytest {Path(__file__).name} writes what blocks print"


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_run(name: str) -> None:
    text = page(name).read_text(encoding="utf-8")
    assert text.count("```python") == len(BLOCKS.findall(text)) > 1


def test_a_wrong_block_is_found() -> None:
    block = "```python\n{code}```\n\n```\n{shown}```\n"
    first, second = (
        block.format(code="x = 1\nprint(x)\n", shown="2\n"),
        block.format(code="print(x + 1)\n", shown="3\n"),
    )
    text = first + "\n" + indent(second, "    ")
    assert printed(text) == text.replace("2", "1").replace("3", "2")
