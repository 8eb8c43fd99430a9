"""Guards can fail: each test that reads the sources or the docs finds a violation that is planted in a small tree.

A guard passes on the tree, and fails on the same tree with the planted files. A guard that is in neither `PLANTED` nor
`NOT_PLANTED` is one too few: say what it forbids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import getmembers, isfunction
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement

from mote.ui.cli.usage import UsageError
from tests import test_architecture, test_dependencies, test_docs, test_docs_commands, test_words
from tests.compiler import test_bare_python
from tests.conftest import COLLECTED
from tests.numerics import test_same_everywhere
from tests.test_architecture import ROOMS, WINGS

ROOT = Path(__file__).parents[1]
Files = Mapping[str, str | Path]
"""Texts by their path in a tree; a path instead of a text is linked."""
SRC = "src/mote/"
PAGES, PYTHON = "docs/start", "python -m"
"""Apart from what follows, so that other guards do not take what is planted for theirs."""


@dataclass(frozen=True)
class Plant:
    """A violation of what a guard holds."""

    guard: Callable[..., None]
    planted: Files
    """Files that break the rule; without any, the arguments do."""
    tree: Files = field(default_factory=dict)
    """Files that are there before, and break no rule."""
    arguments: tuple[Any, ...] = ()
    """Arguments of the guard."""

    def __str__(self) -> str:
        name = self.guard.__name__.removeprefix("test_")
        return "-".join([name, *(argument for argument in self.arguments if isinstance(argument, str))])


def real(path: str, old: str = "", new: str = "") -> str:
    """The text of a file of this repository, with an edit."""
    text = (ROOT / path).read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old!r} any more"
    return text.replace(old, new, 1) if old else text


RUN = "`python -m tests.fuzz`, `python -m tests.compiler.emit.image.damaged`"
"""Modules that pages say how to run."""
SKELETON: Files = {
    **{f"{SRC}{room}/__init__.py": "\n" for room in ROOMS},
    f"{SRC}compiler/kernels/primitives/mote_compiler.h": '__asm volatile("" ::: "memory");\n',
    f"{SRC}ir/ops/add.py": '"""Adds."""\n\n\nclass Add:\n    """A sum."""\n',
    f"{SRC}compiler/emit/mote_later.h": "\n",
    f"{SRC}base/integers.py": "COUNTS = np.bincount([1])\n",
    "docs/develop/architecture.md": real("docs/develop/architecture.md"),
}
"""Rooms with next to nothing in them."""

READMES: Files = {f"{SRC}{wing}/README.md": real(f"src/mote/{wing}/README.md") for wing in WINGS} | {
    f"{SRC}{wing}/{name}{'any' if name.endswith('/') else ''}": "\n"
    for wing in WINGS
    for name in re.findall(r"`([\w/]+(?:/|\.py))`", real(f"src/mote/{wing}/README.md"))
}
"""What the wings say of themselves, and the files that they name."""
ANSWERS: Files = {
    path if path.startswith("tests/") else SRC + path: f"{name} = 1\n"
    for path, name in test_architecture.ANSWER.findall(real("docs/develop/architecture.md"))
}
"""The files that answer the questions of newcomers."""


def source(guard: Callable[..., None], path: str, text: str, *arguments: Any) -> Plant:
    """A file among the rooms."""
    return Plant(guard, {SRC + path: text}, SKELETON, arguments)


def page(guard: Callable[..., None], path: str, text: str, **tree: str | Path) -> Plant:
    """A page among a few of docs; `tree` names other files, with a slash for each double underscore."""
    few: Files = {
        **dict.fromkeys(test_docs.AT_THE_ROOT, "# A page\n\nText.\n"),
        "CHANGELOG.md": "# Changelog\n",
        "docs/README.md": "# Docs\n\n| [start](start/README.md): begin | |\n|---|---|\n| [a.md](start/a.md) | a |\n",
        "docs/start/README.md": "[a](a.md)\n",
        f"{PAGES}/a.md": f"# A\n\nSee `code.py`, {RUN}.\n",
        "src/code.py": f'"""See {PAGES}/a.md."""\n',
        **{name.replace("__", "/"): text for name, text in tree.items()},
    }
    return Plant(guard, {path: text}, few)


UNBOUND = Requirement("numpy")
LINKED = ("docs", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE")
"""What the README links to."""
RAISED = "".join(f"### error {number} is raised\n" for number in range(31))
"""A page of errors, and as many as its guard wants at least."""
TERMS = "".join(f"| t{letter} |\n" for letter in "abcdefghijklmnopqrst")
"""A glossary, and as many terms as its guard wants at least."""
REQUEST = SimpleNamespace(config=SimpleNamespace(args=["tests"], stash={COLLECTED: set()}))
"""Stands for pytest's request; the tree is its root."""

PLANTED = (
    source(test_words.test_words, "ir/ops/planted.py", 'X = 1\n"""Those of somebody."""\n', "beginnings"),
    source(test_words.test_words, "ir/ops/planted.py", '"""A layer is told of it."""\n', "paraphrases"),
    source(test_words.test_words, "ir/ops/planted.py", "def f(found):\n    return found\n", "returned found"),
    source(test_words.test_class_names, "compiler/plan/planted.py", 'class Add:\n    """Another."""\n'),
    source(test_words.test_names, "compiler/plan/planted.py", "found = 1\n", "compiler/plan"),
    Plant(
        test_architecture.test_no_two_files_import_one_another,
        {
            f"{SRC}ir/ops/one.py": "from mote.ir.ops.other import A\n",
            f"{SRC}ir/ops/other.py": "import mote.ir.ops.one\n",
        },
        SKELETON,
    ),
    source(
        test_architecture.test_rooms_do_not_know_what_comes_after_them,
        "ir/ops/planted.py",
        "from mote.ui.cli import main\n",
    ),
    source(
        test_architecture.test_c_files_include_what_comes_before_them,
        "compiler/kernels/portable/mote_a.h",
        '#include "mote_later.h"\n',
    ),
    source(test_architecture.test_every_wing_and_room_has_its_place, "attic/__init__.py", "\n"),
    Plant(
        test_architecture.test_every_wing_says_what_lives_there,
        {f"{SRC}ir/README.md": real("src/mote/ir/README.md", "`ops/`", "operators")},
        {**SKELETON, **READMES},
    ),
    Plant(
        test_architecture.test_questions_of_newcomers_are_answered_in_three_clicks,
        {"docs/develop/architecture.md": real("docs/develop/architecture.md", "| `Conv2D` |", "| `Conv9D` |")},
        {**SKELETON, **ANSWERS},
    ),
    source(test_architecture.test_the_python_api_is_thin, "ui/api/planted.py", "\n" * 1000),
    Plant(
        test_architecture.test_a_room_of_many_files_has_folders,
        {f"{SRC}compiler/plan/planted{number}.py": "\n" for number in range(16)},
        SKELETON,
    ),
    Plant(
        test_architecture.test_the_picture_of_the_rooms_is_true,
        {"docs/develop/architecture.md": real("docs/develop/architecture.md", "| `ui/cli/` |", "| `attic/` |")},
        SKELETON,
    ),
    Plant(
        test_architecture.test_modules_beside_the_wings_are_doors,
        {f"{SRC}planted.py": "\n"},
        {f"{SRC}{name}.py": "\n" for name in ("__init__", "__main__", "quantize", "search", "targets", "version")},
    ),
    source(test_architecture.test_imports_are_absolute, "compiler/plan/planted.py", "from . import add\n"),
    source(test_architecture.test_imports_by_string_know_the_rooms, "ir/ops/planted.py", 'DOOR = "mote.ui.cli.main"\n'),
    source(
        test_architecture.test_imports_stand_at_the_top,
        "compiler/plan/planted.py",
        "def f():\n    from mote.ir.ops.add import Add\n    return Add\n",
    ),
    Plant(
        test_architecture.test_every_test_file_is_collected,
        {"tests/test_planted.py": "def test_nothing(): ...\n", "tests/__init__.py": "\n"},
        {**SKELETON, "tests/__init__.py": "\n"},
        (REQUEST,),
    ),
    source(
        test_architecture.test_portable_kernels_know_no_instruction_set,
        "compiler/kernels/portable/mote_planted.h",
        "#ifdef MOTE_DSP\n#endif\n",
    ),
    Plant(
        test_docs.test_operators_are_documented,
        {"docs/models/operators.md": real("docs/models/operators.md", "| ADD", "| NADD")},
        {"docs/models/operators.md": real("docs/models/operators.md")},
    ),
    page(test_docs.test_links_in_docs_lead_somewhere, f"{PAGES}/a.md", "[b](b.md)\n"),
    Plant(
        test_docs.test_the_readme_is_a_page_of_the_package_index,
        {"README.md": real("README.md") + "\n[relative](docs/README.md)\n"},
        {"README.md": real("README.md"), **{name: ROOT / name for name in LINKED}},
    ),
    page(test_docs.test_links_to_headings_lead_somewhere, f"{PAGES}/a.md", "[b](README.md#nowhere)\n"),
    page(test_docs.test_the_index_has_every_page, f"{PAGES}/b.md", "# B\n"),
    page(test_docs.test_the_index_of_a_section_has_its_pages, "docs/start/README.md", "Nothing.\n"),
    page(test_docs.test_sources_that_pages_name_exist, f"{PAGES}/a.md", "`other_code.py`\n"),
    page(test_docs.test_prose_is_wrapped, f"{PAGES}/a.md", "word " * 30 + "\n"),
    page(test_docs.test_pages_use_the_words_of_the_field, f"{PAGES}/a.md", "Layers are told\nof it.\n"),
    page(test_docs.test_pages_that_sources_name_exist, "src/planted.py", f'"""See {PAGES}/b.md."""\n'),
    page(test_docs.test_the_changelog_is_short_and_names_pages_that_are_there, "CHANGELOG.md", f"{PAGES}/b.md\n"),
    page(
        test_docs.test_the_changelog_is_short_and_names_pages_that_are_there,
        "CHANGELOG.md",
        "# Changelog\n\n## 0.1.0\n" + "- A line.\n" * 120,
    ),
    page(
        test_docs.test_modules_that_are_run_exist,
        f"{PAGES}/b.md",
        f"{RUN}, `{PYTHON} planted`\n",
    ),
    Plant(
        test_docs.test_errors_of_the_troubleshooting_page_are_in_the_sources,
        {"docs/start/troubleshooting.md": f"{RAISED}### nobody raises this\n"},
        {"docs/start/troubleshooting.md": RAISED, "src/code.py": RAISED},
    ),
    Plant(
        test_docs.test_the_glossary_has_few_terms_that_sources_use,
        {"docs/start/glossary.md": f"{TERMS}| zz |\n"},
        {"docs/start/glossary.md": TERMS, "src/code.py": TERMS},
    ),
    Plant(
        test_docs.test_variables_of_the_environment_are_documented,
        {"src/planted.py": 'environ.get("MOTE_PLANTED")\n'},
        {
            "src/code.py": 'environ["MOTE_CODE"]\n',
            "docs/reference/environment.md": "| `MOTE_CODE` | |\n| `TMPDIR` | |\n",
        },
    ),
    Plant(
        test_docs.test_the_readme_quotes_the_table_of_streams,
        {"README.md": real("README.md", "thousand instructions a frame", "million instructions a frame")},
        {"README.md": real("README.md"), "docs": ROOT / "docs"},
    ),
    page(test_docs_commands.test_commands_in_sentences_are_understood, f"{PAGES}/a.md", "`mote plan --kernels`\n"),
    Plant(test_docs_commands.test_commands_are_understood, {}, arguments=("page", "targets --planted")),
    Plant(
        test_dependencies.test_every_dependency_has_bounds_and_is_locked_within, {}, arguments=(Requirement("numpy"),)
    ),
    Plant(
        test_dependencies.test_optional_packages_are_not_needed_to_collect,
        {"tests/test_planted.py": "import pytest\nimport torch\n\ndef test_nothing(): ...\n"},
        {"tests/__init__.py": "", "tests/test_a.py": 'import pytest\n\ntorch = pytest.importorskip("torch")\n'},
    ),
    Plant(
        test_dependencies.test_optional_packages_are_not_needed_to_collect,
        {"tests/test_planted.py": "from tests.test_a import helper\n"},
        {"tests/__init__.py": "", "tests/test_a.py": 'import pytest\n\ntorch = pytest.importorskip("torch")\n'},
    ),
    Plant(
        test_dependencies.test_optional_packages_are_not_needed_to_collect,
        {"tests/test_planted.py": "import pytest\nfrom mote.optimize.train import loop\n"},
        {"tests/__init__.py": "", f"{SRC}optimize/train/loop.py": "import torch\n", f"{SRC}__init__.py": ""},
    ),
    source(
        test_bare_python.test_modules_that_may_be_missing_are_imported_in_one_place,
        "compiler/plan/planted.py",
        "import fcntl\n",
    ),
    source(
        test_same_everywhere.test_integers_have_a_type_wherever_they_are_made,
        "compiler/plan/planted.py",
        "X = np.arange(3)\n",
    ),
)


GUARDS = (test_words, test_architecture, test_docs, test_docs_commands, test_dependencies)
"""Files of tests that are guards, but for those of `NOT_PLANTED`."""
NOT_PLANTED = {
    **dict.fromkeys(
        ("test_rules", "test_rules_find_what_is_planted", "test_vague_names_are_found"),
        "plants violations itself",
    ),
    **dict.fromkeys(
        (
            "test_commands_run",
            "test_docs_quote_what_commands_print",
            "test_every_target_loads",
            "test_the_compiler_needs_no_workbench",
        ),
        "runs Mote",
    ),
    **dict.fromkeys(
        (
            "test_tools_are_installed_with_a_word_before",
            "test_tools_are_not_installed_against_the_users_will",
            "test_without_a_package_manager_the_tests_go_on",
        ),
        "runs a script",
    ),
    **dict.fromkeys(
        ("test_the_picture_is_that_of_the_results", "test_what_is_tried_is_told", "test_quick_pages_are_pages"),
        "compares two values that are at hand",
    ),
    "test_the_lock_is_for_every_platform": "matches each line with one expression",
    "test_the_bare_install_is_small": "measures what is installed",
}
"""Tests of these files without a planted violation, and why."""


def grow(files: Files, tree: Path) -> None:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, Path):
            path.symlink_to(text)
        else:
            path.write_text(text, encoding="utf-8")


def forget(module: ModuleType) -> None:
    """What a module of tests has read of another tree."""
    for _, member in getmembers(module, lambda member: hasattr(member, "cache_clear")):
        member.cache_clear()


@pytest.fixture
def tree(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the module of a guard takes for the repository."""
    module = import_module(request.getfixturevalue("plant").guard.__module__)
    for name, place in {"ROOT": tmp_path, "TOP": tmp_path / SRC, "SOURCES": tmp_path / SRC}.items():
        if isinstance(getattr(module, name, None), Path):
            monkeypatch.setattr(module, name, place)
    monkeypatch.setattr(REQUEST.config, "rootpath", tmp_path, raising=False)
    forget(module)
    request.addfinalizer(lambda: forget(module))
    return tmp_path


@pytest.mark.parametrize("plant", PLANTED, ids=str)
def test_guards_find_what_is_planted(plant: Plant, tree: Path) -> None:
    module = import_module(plant.guard.__module__)
    grow(plant.tree, tree)
    if plant.planted:
        plant.guard(*plant.arguments)
        forget(module)
    grow(plant.planted, tree)
    with pytest.raises((AssertionError, UsageError)):
        plant.guard(*plant.arguments)


def test_every_guard_has_a_planted_violation() -> None:
    tests = {name for module in GUARDS for name, _ in getmembers(module, isfunction) if name.startswith("test_")}
    planted = {plant.guard.__name__ for plant in PLANTED}
    assert not tests - planted - NOT_PLANTED.keys(), "add what each of them forbids to PLANTED"
    assert not NOT_PLANTED.keys() - tests | NOT_PLANTED.keys() & planted
