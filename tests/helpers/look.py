"""Look at a page: `python -m tests.helpers.look PAGE.html FOLDER` writes pictures of it, light and dark, wide and
narrow, and a PDF, and prints what the checks of accessibility and of overlapping text find."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

from tests.helpers.accessibility import accessibility
from tests.helpers.browser import Browser, Page, executable
from tests.helpers.overlaps import overlaps

WIDTHS = {"wide": 1280, "narrow": 320}


def findings(page: Page, *, keyboard: bool = True) -> list[str]:
    """Everything that is wrong with a page as it is shown now."""
    return [*accessibility(page, keyboard=keyboard), *overlaps(page), *page.errors, *page.requests]


def look(browser: Browser, path: Path, folder: Path) -> list[str]:
    """Write pictures of a page into a folder; findings, each with where it is seen."""
    seen: dict[str, list[str]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    with browser.open(path) as page:
        for (name, width), dark in product(WIDTHS.items(), (False, True)):
            page.resize(width)
            page.emulate(dark=dark)
            page.go(path)
            view = f"{name}-{'dark' if dark else 'light'}"
            page.screenshot(folder / f"{path.stem}-{view}.png")
            for finding in findings(page, keyboard=not dark):
                seen.setdefault(finding, []).append(view)
        page.emulate()
        page.pdf(folder / f"{path.stem}.pdf")
    return [f"{finding} [{', '.join(views)}]" for finding, views in seen.items()]


if __name__ == "__main__":
    if not (command := executable()):
        sys.exit("no browser is installed")
    with Browser(command) as started:
        print("\n".join(look(started, Path(sys.argv[1]), Path(sys.argv[2]))) or "nothing is wrong")
