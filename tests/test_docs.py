"""Docs that can be held against the code."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

import compare
import lock
import quotes
import summaries
from mote.frontends.tflite import control, variables
from mote.frontends.tflite.ops import CUSTOM_PARSERS, PARSERS
from mote.hardware import targets
from tests.helpers.support import emulated
from tests.test_words import PARAPHRASE

ROOT = Path(__file__).parents[1]
CORE = "cortex-m4"
SOURCES = {".py", ".txt"}
MODULE = re.compile(r"python3? -m ([a-z]+(?:\.\w+)*)")
FOLDERS = ("src", "tests", "benchmarks", "models", "examples")


def test_operators_are_documented() -> None:
    page, _ = (ROOT / "docs" / "models" / "operators.md").read_text().split("## Kernels")
    rows = re.findall(r"^\| ([A-Z0-9_, ]+) \|", page, re.MULTILINE)
    differ = {name for row in rows for name in row.split(", ")} ^ {*PARSERS, *variables.OPERANDS, *control.OPERATORS}
    assert not differ, f"docs/models/operators.md: a row for each of {sorted(differ)}, or none"
    custom = re.findall(r"^\| (`[\w`, -]+`) \|", page, re.MULTILINE)
    differ = {name.strip("`") for row in custom for name in row.split(", ")} ^ set(CUSTOM_PARSERS)
    assert not differ, f"docs/models/operators.md: a row with {sorted(f'`{name}`' for name in differ)}, or none"


REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
AT_THE_ROOT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "models/README.md")


def docs() -> list[Path]:
    return sorted((ROOT / "docs").rglob("*.md"))


def pages() -> list[Path]:
    """All that people read, but for the changelog."""
    return [*(ROOT / name for name in AT_THE_ROOT), *docs()]


def links(page: Path) -> list[str]:
    """The paths that a page links to, without those on the web."""
    return re.findall(r"\]\(\s*(?!http)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))


def test_links_in_docs_lead_somewhere() -> None:
    for page in pages():
        for link in links(page):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_readme_is_a_page_of_the_package_index() -> None:
    """At most 120 lines, and links that work outside of the repository, to files that are in it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert not links(ROOT / "README.md")
    defined = dict(re.findall(r"^\[([^]]+)\]: (\S+)$", text, re.MULTILINE))
    raw = REPOSITORY.replace("//github.com/", "//raw.githubusercontent.com/") + "/main/"
    paths = {name: url.removeprefix(f"{REPOSITORY}/blob/main/").removeprefix(raw) for name, url in defined.items()}
    assert not [path for path in paths.values() if not (ROOT / path).is_file()]
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    used = {label or words for words, label in re.findall(r"\[([^][]+)\](?:\[([^][]+)\])?(?!:)", prose)}
    assert {name.lower() for name in used} == set(defined)


def test_the_picture_is_that_of_the_results() -> None:
    drawn = summaries.picture(compare.read_results())
    assert summaries.PICTURE.read_text(encoding="utf-8") == drawn, "python benchmarks/summaries.py"
    assert ElementTree.fromstring(drawn).tag.endswith("svg")


def test_errors_of_the_troubleshooting_page_are_in_the_sources() -> None:
    """Each message, with anything in the place of `...`; texts that are split over lines are joined."""
    messages = re.findall(r"^### (.+)$", page("start/troubleshooting.md"), re.MULTILINE)
    assert len(messages) > 30
    text = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    joined = re.sub(r"\"\s*\n\s*f?\"", "", text)
    for message in messages:
        parts = [re.escape(part.strip()) for part in message.split("...") if part.strip(" :'()")]
        assert re.search(r".{0,120}?".join(parts), joined), message


def test_links_to_headings_lead_somewhere() -> None:
    for page in pages():
        for link, heading in re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            target = page.parent / link if link else page
            assert heading in headings(target.read_text(encoding="utf-8")), f"{page.name}: {link}#{heading}"


def headings(text: str) -> set[str]:
    """The names by which headings are linked: lower case, hyphens for spaces, nothing but letters, digits and those."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}


def test_the_index_has_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in links(index) if link.endswith(".md")}
    assert sorted(page for page in listed if page.is_relative_to(index.parent)) == [p for p in docs() if p != index]


def test_the_index_of_a_section_has_its_pages() -> None:
    """Those that docs/README.md lists below it, wherever they are."""
    index = ROOT / "docs" / "README.md"
    section, linked = index, set()
    for line in index.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"\| \[\w+\]\((\w+/README\.md)\)", line):
            section = index.parent / heading[1]
            linked = {(section.parent / link).resolve() for link in links(section)}
        elif row := re.match(r"\| \[[^]]+\]\(([^)#]+)\) \|", line):
            assert (index.parent / row[1]).resolve() in linked, f"{section}: {row[1]}"
    assert section != index


def test_sources_that_pages_name_exist() -> None:
    """But for `mote_models.h`, which is generated, and `mote_key.h`, which users make."""
    sources = {f"/{path.relative_to(ROOT).as_posix()}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")}
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"`(?:mote/)?([\w./-]+\.py|mote_(?!models|key\b)\w+\.h)`", text):
            assert any(path.endswith(f"/{name}") for path in sources), f"{page.name}: {name}"


def test_prose_is_wrapped() -> None:
    """Lines of code, output and tables have the length that they need."""
    for page in (page for page in pages() if page.name != "onnx-conformance.md"):
        prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        assert not [line for line in prose.splitlines() if len(line) > 120 and not line.startswith("|")], page.name


def test_pages_use_the_words_of_the_field() -> None:
    for page in [ROOT / "CHANGELOG.md", *pages()]:
        prose = re.sub(r"^ *```.*?^ *```$|`[^`]*`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        said = [found for found in PARAPHRASE.findall(" ".join(prose.split())) if found]
        assert not said, f"{page.name}: {said}; tests/test_words.py has the terms"


def test_pages_that_sources_name_exist() -> None:
    """Errors, help, comments and benchmarks name pages by their path from the root."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SOURCES]
    named = {(path, name) for path in files for name in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text("utf-8"))}
    assert named
    assert not [f"{path.name}: {name}" for path, name in named if not (ROOT / name).exists()]


def test_the_changelog_is_short_and_names_pages_that_are_there() -> None:
    """Two pages for a version; how it came to be is told elsewhere."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert all(len(version.splitlines()) <= 110 for version in text.split("\n## ")[1:]), "shorten it"
    assert not [name for name in re.findall(r"\bdocs/[\w/-]+\.md", text) if not (ROOT / name).exists()]


def test_the_glossary_has_few_terms_that_sources_use() -> None:
    terms = re.findall(r"^\| (?!term|---)([\w -]+) \|", page("start/glossary.md"), re.MULTILINE)
    assert 20 <= len(terms) <= 25
    assert terms == sorted(terms)
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert not [t for t in terms if not re.search(rf"\b{t.replace(' ', '[ _]')}s?\b", source, re.IGNORECASE)]


def test_variables_of_the_environment_are_documented() -> None:
    """Every variable that the sources read, by a literal or by a constant beside it, and no others."""
    variables = set()
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text("utf-8")
        for literal, name in re.findall(r"environ(?:ment)?(?:\.get\(|\.setdefault\(|\[)(?:\"(\w+)\"|([A-Z_]+))", text):
            variables |= {literal} if literal else set(re.findall(rf"^{name} = \"(\w+)\"", text, re.MULTILINE))
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", page("reference/environment.md"), re.MULTILINE))
    assert documented == variables | {"TMPDIR"}


def test_modules_that_are_run_exist() -> None:
    """`python -m NAME`, where a reader is: in the root of a clone."""
    texts = [*pages(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    named = {name for path in texts for name in MODULE.findall(path.read_text(encoding="utf-8"))}
    assert {"tests.fuzz", "tests.compiler.emit.image.damaged"} <= named
    assert not [name for name in sorted(named) if find_spec(name) is None]


def test_what_is_tried_is_told() -> None:
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package, reason="what is tried is counted in tests that need ONNX")
    tried = import_module("tried")
    assert tried.table() in (ROOT / "SECURITY.md").read_text(), "`make tried` prints the table"


def test_every_target_loads() -> None:
    assert {targets.load(name).name for name in targets.names()} == set(targets.names())


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("quote", list(quotes.quotes()), ids=str)
def test_docs_quote_what_commands_print(quote: quotes.Quote) -> None:
    emulated(CORE)
    if lock.compiler(CORE) != lock.load()["compilers"][CORE]:
        pytest.skip(f"the numbers in docs are those of {lock.load()['compilers'][CORE]}, this is {lock.compiler(CORE)}")
    found = quotes.printed(quote.command)
    assert _comparable(found) == _comparable(quote.said), quotes.UPDATE


def _comparable(text: str) -> str:
    """Emulators of any version count the same, and computers have any speed and sums of floats in any order."""
    for pattern in (
        r"(?<=qemu )[0-9.]+",
        r"(?<=ONNX Runtime )[0-9.]+",
        " *[0-9,]+ inputs a second",
        r"(?<=by more than )[0-9.e-]+",
    ):
        text = re.sub(pattern, "", text)
    return text


def test_the_readme_quotes_the_table_of_streams() -> None:
    """What a frame of the wake word takes, in thousands, and against the window of TFLite Micro."""
    row = re.search(
        r"\| SWW \| stream \| speed \|[^|]*\| ([\d,]+) \|[^|]*\|[^|]*\| ([\d,]+) \|", page("compile/streaming.md")
    )
    assert row is not None
    frame, window = (int(number.replace(",", "")) for number in row.groups())
    assert f"{frame / 1000:.0f} thousand instructions a frame" in " ".join((ROOT / "README.md").read_text().split())
    assert 48 < window / frame < 50, "the README says a forty-ninth"


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()
