"""Options of the commands that compile a model, and the settings that they say."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from mote.base.deferred import deferred
from mote.base.option import RestrictedUse
from mote.compiler.package.packagers import PACKAGERS
from mote.compiler.settings import TABLE, Settings, make_settings
from mote.compiler.subject import model_steps
from mote.frontends.data.dataset import Dataset, are_files, dataset
from mote.frontends.reading import BESIDE_MODELS
from mote.optimize.compress.quantize.types.precision import Precision
from mote.ui.cli.common import add_json
from mote.ui.cli.options.model import add_model, add_row

if TYPE_CHECKING:
    from mote.deploy.boards import placing
else:
    placing = deferred("mote.deploy.boards.placing")

DEFAULT_TARGET = "host"
"""The target where none is named; of a command with `--board`, that of the board."""


def add_option(parser: argparse.ArgumentParser, name: str, **own: Any) -> None:
    """Add an option of the table, with what a command says of it itself."""
    add_row(parser, TABLE[name], **own)


def add_compile_options(
    parser: argparse.ArgumentParser,
    *,
    count: str | None = None,
    omitted: Collection[str] = (),
    use: RestrictedUse | None = None,
    calibrated: bool = False,
    targets: bool = False,
) -> None:
    """The model (or `count` of them) and how to compile it, for a command that does not have the `omitted` options, nor
    those that its `use` does not have; `calibrated`: `--data` is what a model is calibrated with, `targets`: for one
    target or several."""
    add_model(parser, count)
    parser.add_argument(
        "--quantize",
        choices=[x.value for x in Precision if x is not Precision.FLOAT32],
        default="",
        help="quantize a float model first, as `mote quantize` does",
    )
    parser.add_argument(
        *("--calibrate", "--data") if calibrated else ("--calibrate",),
        metavar="DATA",
        help="calibration data for --quantize: a few hundred typical inputs (docs/improve/data.md)",
    )
    several = {"nargs": "+", "action": "extend", "help": TABLE["target"].help.replace("a name", "names")}
    add_target(parser, **several if targets else {"default": DEFAULT_TARGET})
    elsewhere = {*BESIDE_MODELS, "target", "trust_target", "labels", *omitted}
    for row in TABLE.values():
        if row.name not in elsewhere and not row.only_python and use not in row.without:
            add_row(parser, row)
    add_json(parser)


def add_target(parser: argparse.ArgumentParser, **own: Any) -> None:
    """Add the target, and whether its file may say anything."""
    add_row(parser, TABLE["target"], "-t", **own)
    add_option(parser, "trust_target")


def add_package(parser: argparse.ArgumentParser) -> None:
    """Add the options for packages of ecosystems."""
    parser.add_argument(
        "--package",
        type=lambda text: [name.strip() for name in text.split(",")],
        default=[],
        metavar="NAME[,NAME]",
        help=f"package the library for ecosystems, each in a folder of its own where there are several:"
        f" {', '.join(PACKAGERS)} (default: a folder of C for make and CMake)",
    )
    add_metadata(parser)


def add_metadata(parser: argparse.ArgumentParser) -> None:
    """Add the option for metadata of packages."""
    parser.add_argument(
        "--metadata",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="metadata of packages: version, author, email, url, license, summary; repeatable",
    )


def settings(arguments: argparse.Namespace, **others: Any) -> Settings:
    """The options of the table that a command has, and others."""
    given = vars(arguments)
    options = {name: given[name] for name in TABLE if name in given}
    if "train_data" not in others and given.get("train_data") and are_files(given["train_data"]):
        options["train_data"] = _train_data(arguments)
    if given.get("board") and options["target"] == DEFAULT_TARGET:
        options["target"] = placing.board_target(given["board"])
    return make_settings(**options | others)


def _train_data(arguments: argparse.Namespace) -> Dataset:
    """Sounds or images to learn from, as the model takes them: behind the steps that are compiled before it, or those
    in the metadata of its file."""
    model = arguments.model[0] if isinstance(arguments.model, list) else arguments.model
    steps = getattr(arguments, "preprocess", "") or model_steps(model)
    return dataset(arguments.train_data, preprocess=steps or None, labelled=True)
