"""Options of the commands that take samples, and the data that they name."""

from __future__ import annotations

import argparse

from mote.compiler.subject import model_steps
from mote.frontends.data.dataset import Dataset, are_files, dataset
from mote.frontends.features.pipeline import Preprocessing


def add_data(parser: argparse.ArgumentParser, *, required: bool = False, choose: bool = True) -> None:
    """Samples of the user's; `choose`: with the options that choose among arrays."""
    parser.set_defaults(input_names="", label_name="")
    parser.add_argument(
        "--data",
        metavar="DATA",
        required=required,
        help="samples: a .npz, .npy or .csv file, a folder or .zip of images or WAV files with one folder per"
        " class, or one long .wav file (docs/improve/data.md)",
    )
    parser.add_argument(
        "--preprocess",
        dest="data_steps",
        metavar="STEPS",
        help="preprocessing of each sample, for example resize=96x96,scale=1/255, or your own file.py:function",
    )
    if choose:
        parser.add_argument(
            "--inputs",
            dest="input_names",
            default="",
            metavar="NAMES",
            help="comma-separated names of the arrays or columns that are inputs (default: all but the labels)",
        )
        parser.add_argument(
            "--labels",
            dest="label_name",
            default="",
            metavar="NAME",
            help="name of the array or column of labels (default: the one called y, labels or target); for"
            " folders the class names in order; for a .wav file the JSON file of its events",
        )


def data_of(
    arguments: argparse.Namespace,
    data: str | None = None,
    *,
    steps: Preprocessing | None = None,
    labelled: bool = False,
    several: bool = True,
) -> Dataset:
    """The samples that the options name, or other ones (`data`) that are read in the same way, behind other
    preprocessing where `steps` are given; `labelled` and `several` refuse as `dataset` does. Without preprocessing
    steps those in the metadata of the model's file are applied to sounds and images."""
    path = arguments.data if data is None else data
    stated = arguments.data_steps if steps is None else steps
    if stated is None and are_files(path):
        stated = model_steps(arguments.model) or None
    return dataset(
        path,
        inputs=arguments.input_names,
        labels=arguments.label_name,
        preprocess=stated,
        labelled=labelled,
        several=several,
    )
