"""The glue of the agent for every kind of generated model: C99 and C++11 without a warning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mote.base.files import fill
from mote.compiler.emit.c.programs.agent import GLUE, agent_glue
from mote.compiler.line import compile
from mote.compiler.settings import make_settings
from mote.deploy.agent.sources import agent_files, model_id
from tests.helpers.support import needs

DIGITS = Path(__file__).parents[4] / "models" / "digits.tflite"
KINDS: dict[str, dict[str, object]] = {
    "plain": {},
    "pushed": {"input": "rows"},
    "caller arena": {"caller_arena": True},
    "instances": {"instances": True},
}
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fsyntax-only")


@pytest.mark.parametrize("kind", KINDS)
def test_it_compiles_without_a_warning(kind: str, tmp_path: Path) -> None:
    needs("gcc", "g++")
    compiled = compile(DIGITS, make_settings(target="host", **KINDS[kind]))  # type: ignore[arg-type]
    project = compiled.project
    identity = model_id(project.files)
    text = agent_glue(compiled.plan, project.options, identity)
    assert ", ".join(f"0x{byte:02x}" for byte in identity) in text
    fill(tmp_path, {**agent_files(), **project.files, GLUE: text})
    for command in (["gcc", "-std=c99"], ["g++", "-xc++", "-std=c++11"]):
        subprocess.run([*command, *WARNINGS, f"-I{tmp_path}", str(tmp_path / GLUE)], check=True)


def test_the_identity_is_that_of_the_model_alone() -> None:
    files = {"m.c": "a", "m.h": "b", "example/main.c": "c", "Makefile": "d"}
    same = {**files, "example/main.c": "x", "Makefile": "y", "selftest/main.c": "z"}
    assert model_id(files) == model_id(dict(reversed(same.items()))) and len(model_id(files)) == 16
    assert model_id(files) != model_id({**files, "m.h": "c"}) != model_id({"m.c": "ab", "m.h": ""})
