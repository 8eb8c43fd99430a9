"""Files and folders that a command line names for results."""

from __future__ import annotations

import argparse

from mote.base.files import check_place, is_archive

FOLDERS = {"compile", "agent", "runtime", "search"}
"""Commands whose `--output` is a folder or an archive."""
FILES = ("picture", "confusion_picture", "noise_picture", "depfile", "journal", "junit", "c_array")
"""Options of any command that name a file to write."""


def check_destinations(command: str, arguments: argparse.Namespace) -> None:
    """Refuse results that could not be written, before any work is done for them."""
    output = getattr(arguments, "output", None)
    in_folder = command in FOLDERS or getattr(arguments, "c_array", None) is True
    if output:
        check_place(output, folder=in_folder and not is_archive(output))
    for name in FILES:
        if isinstance(path := getattr(arguments, name, None), str):
            check_place(path)
