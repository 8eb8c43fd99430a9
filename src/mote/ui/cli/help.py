"""Help: commands and options in groups, with examples and defaults. Nothing here imports a command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from mote.ui.cli.terminal import folded, width
from mote.version import __version__

COMMAND_GROUPS = {
    "start": ("inspect", "ops", "targets", "backends", "doctor", "cache", "completion"),
    "compile": ("compile", "plan", "explore", "convert"),
    "improve": ("search", "tune", "quantize", "prune", "shrink", "fit-threshold"),
    "measure": ("run", "profile", "fit-energy", "calibrate-target", "verify", "evaluate", "report"),
    "project": ("build", "check", "check-generator"),
    "deploy": (
        *("pack", "runtime", "dump", "disassemble", "sign", "verify-image", "delta", "ota", "agent", "board", "flash"),
        "cmake",
    ),
}
"""The groups of `mote --help`."""
OPTION_GROUPS = {
    "model": (
        *("model", "name", "generator", "layers", "models", "plugin", "quantize", "calibrate", "source", "runtime"),
        *("label_file", "elf", "entry", "against"),
    ),
    "image": ("image", "file", "old", "new", "model_version", "product", "strip", "sources"),
    "project": ("names", "project", "junit"),
    "target": ("target", "trust_target", "firmware"),
    "data": (
        *("profiles", "capture", "volts"),
        *("data", "data_steps", "input_names", "label_name", "samples", "test", "validate", "inputs", "seed"),
        *("sample", "worst", "metric", "event", "threshold", "random_calibration"),
        *("percentile", "false_positives", "false_alarms", "margin"),
    ),
    "plan": ("optimize", "layer", "points", "measure"),
    "preprocessing": (),
    "training on the device": ("keep", "train_epochs"),
    "streaming": (),
    "quantization": ("precision", "calibration", "equalize", "correct_biases", "rounding"),
    "pruning": ("kind", "macs", "flash", "cycles", "fine_tune", "augment", "device", "front"),
    "search": (
        *("around", "space", "task", "strategy", "teacher", "epochs", "finalists", "resume", "max_accuracy_drop"),
        *("precisions", "cheapest", "evaluations", "minutes", "trials", "costs", "journal", "workers", "scheduler"),
    ),
    "generated C": ("shared_arena", "run_together", "adapter", "source", "kernels", "flags", "update"),
    "device": (
        *("connect", "listen", "serial", "baud", "forever", "no_restart", "confirm", "wait", "timeout", "connections"),
        *("port", "probe", "dry_run", "yes", "production", "frame", "scratch", "image_ram", "arena"),
        *("emulated", "costs", "every", "states", "action", "boards", "seconds"),
    ),
    "key": ("key", "new_key", "keys"),
    "tools": ("compiler", "emulator", "board", "tool"),
    "output": (
        *("output", "force", "package", "metadata", "depfile", "c_array", "picture", "confusion_picture"),
        *("noise_picture", "purposes", "clear", "functions", "verify", "keywords"),
        *("format", "shell", "json", "wide", "help"),
    ),
}
"""The groups of a command's options, by what argparse calls them; options of a compilation say theirs in the table."""
OTHERS = "options"
"""The group of what is in none."""
DIGITS, FLOAT = "models/digits.tflite", "models/digits_float.tflite"
DIGITS_DATA = "--data models/digits_train.npz --test models/digits_test.npz"
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "inspect": (
        (DIGITS, "layers, shapes, quantization and MACs"),
        (f"{DIGITS} --wide", "with the names and scales of all layers"),
    ),
    "compile": (
        (f"{DIGITS} -t cortex-m4 -o build/digits", "C for any part with a Cortex-M4"),
        (f"{DIGITS} -t rp2040 --ram min -o build/digits", "the plan with the least RAM"),
        (f"{DIGITS} -t cortex-m4 --output elf -o build/digits", "firmware that an emulator runs, too"),
    ),
    "plan": (
        (f"{DIGITS} -t cortex-m4", "the kernel of each layer and the tensor arena"),
        (f"{DIGITS} -t cortex-m4 --layer 2", "all kernels of layer 2, and why one was chosen"),
        (f"{DIGITS} -t cortex-m4 --picture build/arena.svg", "a picture of the arena over time"),
    ),
    "explore": (
        (f"{DIGITS} -t cortex-m4", "plans from the least RAM to the fastest, measured"),
        (f"{DIGITS} -t cortex-m4 --no-measure --picture build/front.svg", "estimates and a picture"),
        (f"{DIGITS} -t esp32s3 --backend mote,esp-nn", "with another library's kernels, and without"),
    ),
    "convert": (("models/digits.onnx -o build/digits.tflite", "an ONNX model for TensorFlow Lite"),),
    "quantize": (
        (f"{FLOAT} --data models/digits_train.npz -o build/digits.tflite", "int8, calibrated"),
        (
            f"{FLOAT} --data models/digits_train.npz --precision int16 -o build/digits.tflite",
            "activations of 16 bits",
        ),
    ),
    "prune": (
        (f"{FLOAT} --data models/digits_train.npz --macs 50% -o build/half.tflite", "half of the MACs"),
        (
            f"{FLOAT} --data models/digits_train.npz --clusters --flash 90% -o build/small.tflite",
            "few distinct weights",
        ),
    ),
    "search": (
        (f"{DIGITS_DATA} -t stm32l4r5 --ram 8K --flash 32K -o build/best", "networks for a part, trained and tested"),
        (f"{DIGITS_DATA} -t cortex-m4 --latency 5ms --minutes 10 -o build/best --resume", "go on with a search"),
        (f"{DIGITS_DATA} -t rp2040 --space residual --space separable -o build/best", "spaces by name, or .toml files"),
    ),
    "tune": (
        (f"{DIGITS} -t stm32l4r5 --minutes 1 -o build/pins.toml", "kernels, places and flags with the fewest cycles"),
        (f"{DIGITS} -t cortex-m4 --trials 6 --costs build/costs.jsonl", "a few trials, costs for other models"),
    ),
    "shrink": ((DIGITS, "channels and layers that cannot change an output"),),
    "run": (
        (f"{DIGITS} -t cortex-m4", "instructions of each layer on an emulated core"),
        (f"{DIGITS} --data models/digits_samples.npz", "outputs for samples, on this computer"),
        (f"{DIGITS} --board qemu:cortex-m4", "on an emulated board; a real one is serial:/dev/ttyACM0"),
    ),
    "profile": (
        (f"{DIGITS} -t cortex-m4", "cycles of each layer"),
        (f"{DIGITS} -t stm32l4r5 --functions", "with wait states, time, energy and functions"),
        (f"{DIGITS} --board qemu:cortex-m4", "measured on a board beside the model, with its error"),
    ),
    "calibrate-target": (
        ("-t stm32l4r5 --board serial:/dev/ttyACM0 -o build/board.toml", "of a board that boards.toml can flash"),
        ("-t cortex-m4 --emulated stm32l4r5 -o build/part.toml", "tried out on an emulated part"),
    ),
    "fit-energy": (
        ("build/digits.json build/keywords.json -o build/part.toml", "of profiles with captures, all of one target"),
    ),
    "verify": (
        (DIGITS, "every tensor on this computer against LiteRT"),
        (f"{DIGITS} -t cortex-m4 --inputs 3", "the same on an emulated core"),
    ),
    "evaluate": (
        (f"{DIGITS} --data models/digits_test.npz", "accuracy, confusion, worst samples"),
        (f"{DIGITS} --data models/digits_test.npz --against {FLOAT}", "noise of each layer against the float model"),
    ),
    "fit-threshold": (
        (f"{DIGITS} --data models/digits_test.npz --event 3", "threshold of class 3 with the highest F1"),
        (
            f"{DIGITS} --data models/digits_test.npz --event 3 --false-positives 0.01",
            "fewest misses with 1% of false positives",
        ),
    ),
    "report": (
        (f"{DIGITS} -t cortex-m4 -o build/report.html", "one page for any browser"),
        (
            f"{DIGITS} -t cortex-m4 -t rp2040 --data models/digits_test.npz -o build/report.html",
            "two targets, and accuracy",
        ),
    ),
    "pack": (
        (f"{DIGITS} -t cortex-m4 -o build/digits.mote", "an image for the runtime"),
        (f"{DIGITS} -t cortex-m4 --model-version 2 -o build/digits.mote", "with a version, for updates"),
    ),
    "runtime": ((f"-t cortex-m4 --kernels {DIGITS} -o build/runtime", "the C library with the kernels of a model"),),
    "disassemble": (("build/model_vela.tflite", "commands of a model that Vela compiled, and the bytes they touch"),),
    "dump": (("build/digits.mote", "header, kernels and operators of an image"),),
    "sign": (
        ("--new-key build/device.pem", "a key, once"),
        ("build/digits.mote --key build/device.pem", "sign an image with it"),
    ),
    "verify-image": (("build/digits.mote --key build/device.pub", "is it signed with that key?"),),
    "delta": (("build/old.mote build/new.mote -o build/update.delta", "for devices that run the old image"),),
    "ota": (
        ("build/digits.mote --serial /dev/ttyACM0", "update a device on a serial port"),
        ("build/digits.mote --connect 192.168.1.20:8266 --confirm", "by TCP, and keep it if it runs"),
    ),
    "agent": (
        (f"{DIGITS} -t stm32l4r5 --package zephyr -o build/agent", "an application of Zephyr"),
        (f"{DIGITS} --package cmake -o build/agent", "a program for this computer"),
        ("--runtime minimal --image-ram 64K --arena 32K -t rp2040 --package arduino -o build/agent", "for images"),
    ),
    "board": (
        ("list", "boards of boards.toml, serial ports, emulated boards"),
        (f"info qemu:cortex-m4 {DIGITS}", "what the agent of an emulated board says"),
        ("flash desk build/digits.tflite", "firmware with the agent and a model, with the tool of boards.toml"),
        ("log serial:/dev/ttyACM0", "the text that a board sends"),
    ),
    "flash": (
        ("build/digits --dry-run", "only the command that would run"),
        ("build/digits/digits.uf2 -t rp2040 -y", "write it without asking"),
    ),
    "cmake": (("", "the folder for CMAKE_PREFIX_PATH"),),
    "ops": (("", "all operators"), ("CONV_2D ADD", "two of them"), ("--format onnx", "what is read of ONNX")),
    "targets": (("", "cores and parts"), ("--wide", "with features, flash and RAM")),
    "backends": (("", "all backends"), ("-t cortex-m55", "those for a target")),
    "check-generator": (
        ("lookup-tables", "a generator by its name, run on the host"),
        ("my_package:MyGenerator -t cortex-m4", "a class, with costs against measured cycles"),
    ),
    "doctor": (("", "tools that are here, and how to get the others"),),
    "cache": (("", "the folder, and what it holds"), ("--clear", "delete all of it")),
    "completion": (
        ("bash > build/mote.bash", "for bash, which reads it with `source`"),
        ("fish > ~/.config/fish/completions/mote.fish", "for fish"),
    ),
    "build": (("", "all models of mote.toml"), ("digits --force", "one of them, over files that were edited")),
    "check": (("", "budgets and accuracy of all models"), ("--junit build/checks.xml", "with a report for CI")),
}
"""Examples of each command: its options, and what they do. The tests parse all of them."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help with defaults, in lines that fit; examples are kept as they are written."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(width(), 100) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        plain = action.default in (None, "", False, argparse.SUPPRESS) or isinstance(action.default, list | tuple)
        said = plain or "default" in text or action.nargs == 0 or not action.option_strings
        return text if said else f"{text} (default: %(default)s)"


def arranged(options: argparse.ArgumentParser, command: str) -> None:
    """Put the options of a command that are in no group of their own into groups, and examples below them."""
    titles = {name: title for title, names in OPTION_GROUPS.items() for name in names}
    own = options._action_groups[2:]
    titles |= {a.dest: str(group.title) for group in own if group.title in OPTION_GROUPS for a in group._group_actions}
    apart = [group for group in own if group.title not in OPTION_GROUPS]
    elsewhere = {id(action) for group in apart for action in group._group_actions}
    groups = {title: argparse._ArgumentGroup(options, title) for title in (*OPTION_GROUPS, OTHERS)}
    for action in sorted(options._actions, key=lambda a: bool(a.option_strings)):
        if id(action) not in elsewhere:
            groups[titles.get(action.dest, OTHERS)]._group_actions.append(action)
    options._action_groups = [group for group in groups.values() if group._group_actions]
    options._action_groups[-1:-1] = apart
    options.usage = usage(options).replace("%", "%%")
    options.epilog = _examples(command)


def usage(options: argparse.ArgumentParser) -> str:
    """A line with what a command cannot do without."""
    alternatives = [group for group in options._mutually_exclusive_groups if group.required]
    inside = {id(action) for group in alternatives for action in group._group_actions}
    needed = [_named(action) for action in options._actions if action.required and action.option_strings]
    needed += [f"({' | '.join(map(_named, group._group_actions))})" for group in alternatives]
    given = [_positional(a) for a in options._actions if not a.option_strings and id(a) not in inside]
    line = " ".join([f"usage: {options.prog}", *given, *needed, "[options]"])
    return "\n".join(folded(line, min(width(), 100) - 2, 11)).removeprefix("usage: ")


def _named(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar)
    name = min(action.option_strings, key=len)
    return name if action.nargs == 0 else f"{name} {action.metavar or action.dest.upper()}"


def _positional(action: argparse.Action) -> str:
    name = str(action.metavar or "|".join(map(str, action.choices or (action.dest.upper(),))))
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name)


def _examples(command: str) -> str:
    lines = ["examples:"]
    for given, what in EXAMPLES.get(command, ()):
        lines += [f"  mote {command} {given}".rstrip(), f"      {what}"]
    return "\n".join(lines) if len(lines) > 1 else ""


def overview(commands: Mapping[str, str]) -> str:
    """The help of `mote`: all commands in groups, each with its line."""
    grouped = {name for names in COMMAND_GROUPS.values() for name in names}
    groups = {**COMMAND_GROUPS, "more": tuple(name for name in commands if name not in grouped)}
    column = _column(commands)
    listed = ["\n".join(_group(title, names, commands, column)) for title, names in groups.items() if names]
    about = "Compile trained neural networks to small, fast, bit-exact C for microcontrollers."
    options = "\n".join(_group("options", tuple(OPTIONS), OPTIONS, column))
    return "\n\n".join(["\n".join(folded(about, min(width(), 100) - 2, 0)), *listed, options, EPILOG])


EPILOG = "`mote COMMAND --help` explains a command, with examples."
OPTIONS = {"-h, --help": "print this", "--version": "print the version"}
"""The options of `mote` itself."""


def _column(commands: Mapping[str, str]) -> int:
    """The columns of the longest name and of the gap behind it."""
    return max(map(len, commands)) + 2


def _group(title: str, names: tuple[str, ...], lines: Mapping[str, str], column: int) -> Iterator[str]:
    yield f"{title}:"
    for name in names:
        if name in lines:
            yield from folded(f"  {name.ljust(column)}{lines[name]}", min(width(), 100) - 2, 2 + column)


def welcome() -> str:
    """A few commands to try, for `mote` alone."""
    tries = {
        "mote inspect MODEL": "what is in it",
        "mote compile MODEL -t cortex-m4 -o DIR": "C for a Cortex-M4",
        "mote run MODEL -t cortex-m4": "the cost of each layer, emulated",
        "mote report MODEL -t cortex-m4 -o FILE.html": "all of it as a page",
        "mote doctor": "the tools that are here",
    }
    widest = max(map(len, tries))
    lines = [f"  {command.ljust(widest)}  {what}" for command, what in tries.items()]
    return "\n".join(
        [
            f"mote {__version__}: trained neural networks as small, fast, bit-exact C.",
            "",
            "Try it, with a .tflite, .onnx, .pt2 or .keras file:",
            *lines,
            "",
            "`mote --help` lists all commands, `mote COMMAND --help` explains one.",
        ]
    )
