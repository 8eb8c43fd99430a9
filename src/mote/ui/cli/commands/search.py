"""`mote search`: models for a task from its data alone, trained, quantized and within the limits of a target."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from shlex import join
from typing import Any

from mote.base.errors import MoteError
from mote.base.stopping import StoppedError
from mote.compiler.settings import make_settings
from mote.frontends.data.dataset import Dataset
from mote.frontends.features.pipeline import Preprocessing
from mote.optimize.nas.member import COLUMNS
from mote.optimize.nas.network_family import AUTO, STRATEGIES
from mote.optimize.nas.result import SearchResult
from mote.optimize.nas.searcher import EPOCHS, FINALISTS, SearchPlan, search
from mote.optimize.nas.tasks import KINDS
from mote.ui.cli.common import add_json, add_number, bold, fields_of, print_json, progress, show
from mote.ui.cli.options.compiling import add_option, add_target
from mote.ui.cli.options.drawing import add_picture, write_picture
from mote.ui.cli.options.sampling import add_data, data_of
from mote.ui.cli.options.tools import add_journal, add_workers
from mote.ui.cli.table import columns, drop, shorten

JOURNAL = "journal.jsonl"
"""The journal in the folder of a search."""
FIT = (shorten("choice", 24), drop("choice"), drop("uJ"), drop("validation"), drop("ms"))
"""Columns that a narrow terminal does without, the least important first."""


LIMITS = {
    "ram": "the most RAM (K and M suffixes; default: that of the target)",
    "flash": "the most flash, code included (default: that of the target)",
    "latency": "the longest inference (us, ms, s) at the part's clock",
    "cycles": "the longest inference in cycles",
}
"""Options of a compilation that limit candidates, and their lines of help here."""


def add(p: argparse.ArgumentParser) -> None:
    add_data(p, required=True)
    p.add_argument("--test", metavar="DATA", required=True, help="test data, which nothing is chosen by")
    p.add_argument(
        "--validate",
        metavar="DATA",
        help="data that candidates are compared by (default: a fifth of the training data is held out, or a tenth of"
        " much data)",
    )
    add_target(p, required=True, default=None, help="a name from `mote targets` or a .toml file")
    add_option(p, "optimize")
    for name, said in LIMITS.items():
        add_option(p, name, help=said)
    p.add_argument(
        "--from",
        dest="around",
        metavar="MODEL",
        help="search around a float model (ONNX, TensorFlow Lite, PyTorch, Keras): its widths, depth, kernels, sparsity"
        " and precisions, by distillation from it",
    )
    p.add_argument(
        "--space",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help="search space, by its name or as a .toml file (docs/improve/architecture-search.md); repeatable (default:"
        " the one for the task)",
    )
    p.add_argument("--task", choices=KINDS, default="", help="kind of the data (default: by the shape of samples)")
    p.add_argument(
        "--precision",
        default="",
        metavar="NAMES",
        help="precision of layers, or several to choose from, such as int8,int4: int8, int4 weights, int16 activations"
        " (default: as the space says; int8 where it says nothing)",
    )
    p.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default=AUTO,
        help="score candidates with weights of a supernet, or train each for some epochs and the better ones for more"
        " (halving); auto: supernet where networks of the space are near one another in size (default)",
    )
    p.add_argument(
        "--teacher",
        metavar="NAME|FILE",
        help="search space whose largest network is trained first, whatever its costs; all others learn from it"
        " (distillation)",
    )
    add_number(p, "--epochs", EPOCHS, "epochs that models are trained")
    p.add_argument("--trials", type=int, metavar="N", help="candidates to score (default: as the space needs)")
    add_number(p, "--finalists", FINALISTS, "candidates to train to the end")
    p.add_argument("--minutes", type=float, metavar="N", help="begin nothing new after so many minutes")
    add_number(p, "--seed", 0, "seed of splits, choices and weights")
    p.add_argument(
        "--augment",
        default="",
        metavar="STEPS",
        help="data augmentation: flip,shift=4,cutout=8 for images, time=4,stretch=0.1,mask=8x2 for series, noise=0.1;"
        " none (default: in time for spectrograms)",
    )
    p.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="device to train on")
    p.add_argument("-o", "--output", metavar="DIR", help="write models, C projects and the report to this folder")
    p.add_argument("--force", action="store_true", help="overwrite files of the folder that are not Mote's")
    p.add_argument("--resume", action="store_true", help="go on with the search that was interrupted in the folder")
    add_journal(p)
    add_workers(p)
    add_picture(p, "accuracy against costs")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    journal = _journal(arguments)
    named = ("target", "trust_target", "optimize", *LIMITS)
    settings = make_settings(**{name: getattr(arguments, name) for name in named})
    try:
        with progress("searching") as say:
            result = search(
                _data(arguments, arguments.data),
                settings,
                test=_data(arguments, arguments.test),
                validate=None if arguments.validate is None else _data(arguments, arguments.validate),
                around=arguments.around,
                **fields_of(SearchPlan, arguments) | {"journal": journal},
                say=say,
            )
    except StoppedError:
        if journal and not arguments.json:
            show(f"stopped; `{_again(arguments)}` goes on where it was")
        raise
    result = replace(result, options={**result.options, **_read(arguments)})
    if arguments.output:
        result.write(arguments.output, force=arguments.force)
    write_picture(arguments.picture, result.svg)
    print_json(result.json()) if arguments.json else print_text(result, arguments.output)
    return 0


def _data(arguments: argparse.Namespace, path: str) -> Dataset:
    """Data that is read as the options say."""
    return data_of(arguments, path, steps=arguments.data_steps or Preprocessing(), labelled=True)


def _read(arguments: argparse.Namespace) -> dict[str, Any]:
    """Options that say how files are read, for the commands of the report."""
    names = {"inputs": arguments.input_names, "labels": arguments.label_name, "trust-target": arguments.trust_target}
    return {"target": arguments.target, **{name: value for name, value in names.items() if value}}


def _journal(arguments: argparse.Namespace) -> str | None:
    """The journal: a file that is named, or one in the folder of the search, which begins anew unless resumed."""
    if arguments.journal or not arguments.output:
        if arguments.resume and not arguments.journal:
            raise MoteError("there is nothing to go on with", where="option resume", remedy="name the folder: -o DIR")
        return arguments.journal or None
    path = Path(arguments.output) / JOURNAL
    if arguments.resume and not path.parent.is_dir():
        raise MoteError("is not there: no search was interrupted", where=str(path.parent), remedy="omit --resume")
    if not arguments.resume:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(path)


def _again(arguments: argparse.Namespace) -> str:
    if arguments.journal:
        return join(["mote", "search", "--journal", arguments.journal, "..."])
    return join(["mote", "search", "-o", arguments.output, "--resume", "..."])


def print_text(result: SearchResult, output: str | None) -> None:
    show(bold(f"{result.data} for {result.target}") + f" ({result.task}, test {result.metric} on {result.test})")
    print(columns(COLUMNS, result, FIT))
    show(f"searched: {', '.join(result.families)}: {result.costed:,} choices planned, {result.trials:,} scored")
    show(f"spent:    {result.spent}, {result.epochs} epochs, seed {result.seed}")
    for note in result.notes:
        show(f"note:     {note}")
    if output:
        show(f"`{output}/report.html` shows the front; `{output}/NAME/c` is the C project of a model.")
