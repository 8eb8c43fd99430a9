"""Lint of the words in src: docstrings stand alone, field terms instead of paraphrases, no class name in two rooms.

`LEFT` is a ratchet: what each room still has. Lower a number whenever a change removes some; never raise one."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import mote
from tests.test_architecture import room_of

TOP = Path(mote.__file__).parent
BEGINNINGS = re.compile(r"The same|Those of|That of")
"""Docstrings that begin so need the docstring before them to be understood."""
PARAPHRASES = {
    "real number": "float",
    "is told": "callback, or name who passes what",
    "are told": "callback, or name who passes what",
    "leave it away": "omit it",
    "leave them away": "omit them",
    "stand for themselves": "unquantized",
    "one behind another": "contiguous",
    "mend": "patch",
    "mended": "patched",
}
"""Paraphrases, and what people in the field say instead."""
PARAPHRASE = re.compile(rf"\b(?:{'|'.join(PARAPHRASES)})s?\b")
LEFT: dict[str, dict[str, int]] = {
    "beginnings": {},
    "paraphrases": {
        "compiler/emit": 1,
        "bench/execute": 1,
    },
    "returned found": {},
}
"""How often each room still breaks each rule; rooms without a number break it nowhere."""
SHARED_NAMES = 0
"""How many public classes still have the name of a class of another room."""
NAMED = (
    "hardware/cores",
    "hardware/targets",
    "ir/graph",
    "ir/ops",
    "frontends/build",
    "frontends/data",
    "frontends/keras",
    "frontends/onnx",
    "frontends/sklearn",
    "frontends/tflite",
    "frontends/torch",
    "frontends/trees",
    "compiler/emit",
    "compiler/kernels",
    "compiler/lower",
    "compiler/passes",
    "compiler/plan",
    "deploy/agent",
    "deploy/update",
    "deploy/wire",
    "bench/evaluation",
    "bench/execute",
    "bench/measure",
    "bench/metrics",
    "bench/pictures",
    "optimize/compress",
    "optimize/search",
    "ui/api",
    "ui/cli",
    "ui/project",
    "ui/reporter",
)
"""Rooms where no variable, parameter, function or file is called `found`, and no docstring begins with "What"."""


CLASS = re.compile(r"^ *class ([A-Za-z]\w*)", re.MULTILINE)
DOCSTRING = "'\"'"
"""Stands for three quotation marks where strings are joined that are adjacent."""
SUSPECT = (*(DOCSTRING + words for words in BEGINNINGS.pattern.split("|")), *PARAPHRASES, "return found")
"""What the text of a file has that breaks a rule: most have nothing of it, and need not be parsed."""


def broken(text: str) -> Iterator[tuple[str, int, str]]:
    """Which rule is broken, in which line, and by which words."""
    joined = " ".join(re.sub(r'"\s*[fr]?"', "", text.replace('"""', DOCSTRING)).split())
    if not any(words in joined for words in SUSPECT):
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(ast.Constant(str(text))) if BEGINNINGS.match(text):
                yield "beginnings", node.lineno, text
            case ast.Constant(str(text)):
                for match in PARAPHRASE.finditer(" ".join(text.split())):
                    yield "paraphrases", node.lineno, match.group()
            case ast.Return(ast.Name("found")):
                yield "returned found", node.lineno, "return found"


PLANTED = {
    "beginnings": (
        'X = 1\n"""The same for Y."""\n',
        'def f() -> None:\n    """Those of somebody."""\n',
        'class A:\n    """That of\n    another."""\n',
    ),
    "paraphrases": ('"""A layer is told of it."""\n', 'X = "leave it" " away"\n'),
    "returned found": ("def f(found: int) -> int:\n    return found\n",),
}
"""Faults that each rule finds, in files that have nothing else."""


@pytest.mark.parametrize("rule", LEFT)
def test_rules_find_what_is_planted(rule: str) -> None:
    """The shortcut for files without a fault leaves none out."""
    for text in PLANTED[rule]:
        assert [found for found, _, _ in broken(text)] == [rule], text
    clean = 'X = "The same"\n"""The scale. Those of others differ."""\n# The same\n'
    assert not list(broken(clean))


def test_vague_names_are_found() -> None:
    for text in ("found = 1\n", "def f(found: int) -> None: ...\n", 'def f() -> None:\n    """What it is."""\n'):
        assert list(vague(text)), text


@cache
def places() -> dict[str, list[tuple[Path, int, str]]]:
    """Each rule, and where the source breaks it."""
    lines = defaultdict(list)
    for path in sorted(TOP.rglob("*.py")):
        for rule, line, text in broken(path.read_text(encoding="utf-8")):
            lines[rule].append((path.relative_to(TOP), line, text))
    return lines


@pytest.mark.parametrize("rule", LEFT)
def test_words(rule: str) -> None:
    rooms = defaultdict(list)
    for path, line, text in places()[rule]:
        rooms[room_of(path)].append(f"{path}:{line}: {text}")
    for room, lines in rooms.items():
        assert len(lines) <= LEFT[rule].get(room, 0), "\n".join(lines)


def test_class_names() -> None:
    rooms = defaultdict(set)
    for path in TOP.rglob("*.py"):
        for name in CLASS.findall(path.read_text(encoding="utf-8")):
            rooms[name].add(room_of(path.relative_to(TOP)))
    shared = {name: sorted(where) for name, where in rooms.items() if len(where) > 1}
    assert len(shared) <= SHARED_NAMES, shared


def vague(text: str) -> Iterator[int]:
    """Lines that bind the name `found`, or have a docstring that begins with "What"."""
    for node in ast.walk(ast.parse(text)) if "found" in text or '"""What' in text else ():
        match node:
            case (
                ast.Name("found", ast.Store()) | ast.arg("found") | ast.FunctionDef("found") | ast.MatchAs(name="found")
            ):
                yield node.lineno
            case ast.Expr(ast.Constant(str(text))) if text.startswith("What "):
                yield node.lineno


@pytest.mark.parametrize("room", NAMED)
def test_names(room: str) -> None:
    files = sorted((TOP / room).rglob("*.py"))
    lines = [f"{path}:{line}" for path in files for line in vague(path.read_text(encoding="utf-8"))]
    assert not lines, "\n".join(lines)
    assert not [path for path in files if path.stem == "found"]


def test_rules() -> None:
    """Each rule finds what it forbids, also where a line break is inside."""
    source = '''
"""The same for rows."""
WIDTH = 3
"""Those of columns."""
def read(path):
    """Integers that
    stand for themselves."""
    found = 1
    if path:
        raise ValueError(f"{path} holds real numbers: leave it away")
    return found
'''
    counts = Counter(rule for rule, _, _ in broken(source))
    assert counts == {"beginnings": 2, "paraphrases": 3, "returned found": 1}
    assert sorted(vague(source + '"""What a file holds."""')) == [8, 12]
