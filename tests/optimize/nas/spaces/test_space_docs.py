"""The tables of docs/improve/architecture-search.md are those of the code, and its examples are spaces."""

from __future__ import annotations

import re
from pathlib import Path

from mote.optimize.nas.spaces.blocks import BLOCKS, KEPT, REQUIRED
from mote.optimize.nas.spaces.layers import Shape
from mote.optimize.nas.spaces.options import STAGE_OPTIONS, OptionValue
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import builtin, builtin_names, read_space

PAGE = (Path(__file__).parents[4] / "docs" / "improve" / "architecture-search.md").read_text(encoding="utf-8")
SHAPES: dict[str, Shape] = {
    "image": (32, 32, 3),
    "spectrogram": (49, 40, 1),
    "series": (128, 1, 3),
    "table": (30,),
}


def between(mark: str) -> str:
    return PAGE.split(f"<!-- {mark} -->\n\n")[1].split(f"\n\n<!-- /{mark} -->")[0]


def blocks() -> str:
    """The table of blocks."""
    defaults: dict[OptionValue | None, str] = {KEPT: "kept", REQUIRED: "required"}
    lines = ["| block | layers | options and their defaults |", "|---|---|---|"]
    for name, block in BLOCKS.items():
        options = ", ".join(f"`{option}` ({defaults.get(v, str(v))})" for option, v in block.options.items())
        lines.append(f"| `{name}` | {block.about} | {options} |")
    return "\n".join(lines)


def spaces() -> str:
    """The table of spaces."""
    lines = ["| space | data | networks | MACs | weights | what |", "|---|---|--:|--:|--:|---|"]
    for name in builtin_names():
        space = builtin(name)
        shape = SHAPES[space.kinds[0]]
        ends = [space.network(choice, shape, 10) for choice in (space.smallest(), space.largest())]
        macs, weights = (
            " to ".join(f"{getattr(network, which):,}" for network in ends) for which in ("macs", "parameters")
        )
        lines.append(f"| `{name}` | {', '.join(space.kinds)} | {space.size:.1e} | {macs} | {weights} | {space.about} |")
    return "\n".join(lines)


def test_the_table_of_blocks_is_that_of_the_code() -> None:
    assert between("blocks") == blocks()


def test_the_table_of_spaces_is_that_of_the_code() -> None:
    assert between("spaces") == spaces()


def test_the_table_of_options_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (a stage|each block) \|", PAGE, re.MULTILINE)
    wanted = {name: "each block" if option.each else "a stage" for name, option in STAGE_OPTIONS.items()}
    assert dict(rows) == {name: of for name, of in wanted.items() if name not in ("pool", "hidden")}


def test_the_examples_are_one_space(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    section = PAGE.split("\n## Spaces\n")[1]
    path.write_text(section.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    written = read_space(path)
    names: dict[str, object] = {}
    exec(section.split("```python\n")[1].split("```")[0], names)
    made = names["space"]
    assert isinstance(made, SearchSpace)
    assert made.stem is not None
    assert written.stem is not None
    assert made.stem.values == written.stem.values
    assert {**made.stages[0].values, "precision": ()} == {**written.stages[0].values, "precision": ()}
