"""Hook of MkDocs: the page on `mote report` shows the report of a bundled model, which is made with the site.

`MOTE_SITE_TARGET=host` in front of the command makes one that needs neither a cross compiler nor an emulator."""

from __future__ import annotations

import os
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import mote

MODELS = Path(__file__).parents[2] / "models"
TARGET = os.environ.get("MOTE_SITE_TARGET", "cortex-m4")
PAGE = "measure/report.md"
REPORT = "measure/digits-report.html"
BEFORE = "## Try it\n"
SHOWN = f"""## A report

That of the bundled digits on {TARGET}, as it is; [alone](digits-report.html) it has the whole window.

<iframe src="digits-report.html" title="Report of the bundled digits" loading="lazy"
style="width: 100%; height: 80vh; border: 1px solid var(--md-default-fg-color--lightest)"></iframe>

"""


def on_files(files: Files, config: MkDocsConfig) -> None:
    data = MODELS / "digits_test.npz" if TARGET != "host" else None
    made = mote.report(MODELS / "digits.tflite", target=TARGET, data=data)
    files.append(File.generated(config, REPORT, content=made.html))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri != PAGE:
        return markdown
    before, heading, after = markdown.partition(BEFORE)
    assert heading, f"{PAGE} has no heading {BEFORE.strip()}"
    return f"{before}{SHOWN}{BEFORE}{after}"
