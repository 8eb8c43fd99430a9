"""`example/main.c`: a program that runs the model on a few inputs and prints the classes.

The text of the program is the same for every ecosystem except for its `Console`. The example and the self-test each
have a `main` and are in folders of their own, so that all C files next to the model can be compiled together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mote.compiler.emit.c.c import BLANK, CFunction, Compound, Definition, Noted, Statement, Text, loop, printed, when
from mote.compiler.emit.c.model.conversions import is_ranked, labelled
from mote.compiler.emit.c.model.handle import called
from mote.compiler.emit.c.model.ports import CPort, caller_arenas, init_call, inputs, outputs
from mote.compiler.emit.c.options import ProjectOptions, banner
from mote.compiler.emit.c.programs.golden import GoldenRun
from mote.compiler.emit.c.values import CTYPES, literals, quoted, wrap
from mote.compiler.emit.licence import SPDX
from mote.compiler.plan.plan import Plan
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

EXAMPLE = "example/main.c"
SELFTEST = "selftest/selftest.c"
MOST_RUNS = 3
MOST_BYTES = 12 << 10
"""Maximum bytes of example inputs after the first one, which is always included."""
THOUSANDTHS = 1000
MOST_FLOAT = 2e6
"""Largest float that the example prints with its digits."""

PRINTING = Text("""\
static void print_number(long value) {
    char digits[24];
    size_t at = sizeof digits - 1;
    unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;
    digits[at] = '\\0';
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    print(digits + at);
}
""")

PRINTING_FLOATS = Text(f"""\
static void print_float(float value) {{
    if (!(value > -{MOST_FLOAT:.0f}.0f && value < {MOST_FLOAT:.0f}.0f)) {{
        print("out of range");
        return;
    }}
    const long thousandths = (long)(value * {THOUSANDTHS}.0f + (value < 0.0f ? -0.5f : 0.5f));
    const long rest = thousandths < 0 ? -thousandths : thousandths;
    print(thousandths < 0 ? "-" : "");
    print_number(rest / {THOUSANDTHS});
    print(".");
    print_number(rest / 100 % 10);
    print_number(rest / 10 % 10);
    print_number(rest % 10);
}}
""")


@dataclass(frozen=True)
class Console:
    """How an example prints and starts: the part that differs between ecosystems."""

    head: str
    """The includes of the ecosystem."""
    print: str
    """The statement that prints the string `text`."""
    entry: str
    """The entry function of the program, which calls `int example(void)`."""


HOSTED = Console("#include <stdio.h>", "fputs(text, stdout);", "int main(void) { return example(); }")


@dataclass(frozen=True)
class Example:
    """An example program, and the lines that it prints."""

    includes: tuple[str, ...]
    """Headers of the project that the program includes."""
    body: str
    """C that defines `static int example(void)`, which prints with `static void print(const char *text)`."""
    lines: tuple[str, ...]
    """The lines that the program prints, computed by the reference."""
    runs: tuple[ExampleRun, ...] = ()
    """Inputs and outputs of each run; only for the example of a single model."""
    given: str = "a few inputs"
    """The inputs of the program in words, for a comment."""

    def program(self, console: Console = HOSTED) -> str:
        """The program in an ecosystem, for users to edit."""
        headers = "\n".join(f'#include "{file}"' for file in self.includes)
        return f"""\
/* {SPDX} */
/* Runs the model on {self.given} and prints the classes. Yours to edit: an edited file is kept when the project is
 * generated again. */
{console.head}
#include <stddef.h>
#include <string.h>

{headers}

static void print(const char *text) {{ {console.print} }}

{self.body}
{console.entry}
"""


@dataclass(frozen=True)
class Calls:
    """How a program calls a model, as C expressions: by the functions of generated C, or by those of the runtime."""

    name: str
    init: str
    run: str
    push: Callable[[CPort], str]
    """The call that pushes all rows of `_array(port)[run]`."""
    data: Callable[[CPort], str]
    """The address of the data of an input or output."""
    storage: tuple[str, ...] = ()
    """Definitions of memory before the function."""
    top1: Callable[[CPort], str] | None = None
    """The call that returns the index of the best class, for outputs with scores."""
    label: Callable[[CPort], str] | None = None
    """The function that returns the name of a class, for outputs with labels."""


def compiled_calls(plan: Plan, options: ProjectOptions) -> Calls:
    """How a program calls a compiled model."""
    named = {port.labels: f"{options.name}_{function}" for function, port in labelled(outputs(plan, options)).items()}
    return Calls(
        options.name,
        init_call(plan, options),
        called(options, "run"),
        lambda port: called(options, "push", f"{_array(port)}[run]", f"{port.macro}_ROWS"),
        lambda port: port.call,
        tuple(caller_arenas(plan, options)),
        lambda port: called(options, f"top1{port.suffix}"),
        lambda port: named[port.labels],
    )


@dataclass(frozen=True)
class ExampleRun:
    """Inputs of one run of the example, and the reference's outputs; None while a stream warms up."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...] | None


def inputs_file(name: str) -> str:
    """File name of the header with the example's inputs."""
    return f"example/{name}_inputs.h"


def samples(plan: Plan, golden: Sequence[GoldenRun]) -> list[ExampleRun]:
    """Runs of the example: the first inferences of the self-test, as many as are small, including the warm-up of a
    stream."""
    graph = plan.graph
    waiting = max(graph.warm_up - 1, 0)
    nbytes = sum(graph.tensors[t].nbytes for t in graph.inputs)
    count = max(1, min(MOST_RUNS + waiting, waiting + 1 + MOST_BYTES // max(nbytes, 1)))
    runs = [
        ExampleRun(
            tuple(run.values[t] for t in graph.inputs),
            None if i < waiting else tuple(run.values[t] for t in graph.outputs),
        )
        for i, run in enumerate(golden[:count])
    ]
    zeros = tuple(np.zeros(graph.tensors[t].shape, graph.tensors[t].dtype.numpy) for t in graph.inputs)
    return runs or [ExampleRun(zeros, None)]


def example(plan: Plan, options: ProjectOptions, given: Sequence[ExampleRun]) -> Example:
    """The example of a compiled model, with inputs in the header `inputs_file`."""
    return calling_example(plan, options, given, compiled_calls(plan, options), (f"{options.name}.h",))


def calling_example(
    plan: Plan, options: ProjectOptions, given: Sequence[ExampleRun], calls: Calls, headers: Sequence[str]
) -> Example:
    """The example of a model that is called by `calls`."""
    body = [*map(Text, calls.storage), *([BLANK] if calls.storage else []), *printing([(plan, options)])]
    main = CFunction("static int example(void)", _inferences(plan, options, calls))
    includes = (*headers, f"{options.name}_inputs.h")
    lines = (line for run, sample in enumerate(given) for line in _lines(plan, options, run, sample))
    return Example(includes, printed([*body, main]), tuple(lines), tuple(given))


def shared_example(models: Sequence[tuple[Plan, ProjectOptions]], examples: Sequence[Example]) -> Example:
    """The example of several models in one project, which run on inputs of their own."""
    functions = [
        CFunction(f"static int run_{own.name}(void)", _inferences(plan, own, compiled_calls(plan, own)))
        for plan, own in models
    ]
    calls = " || ".join(f"run_{own.name}() != 0" for _, own in models)
    main = CFunction("static int example(void)", [f"return {calls}"])
    return Example(
        tuple(file for e in examples for file in e.includes),
        printed([*printing(models), *functions, main]),
        tuple(line for e in examples for line in e.lines),
    )


def joint_example(
    models: Sequence[tuple[Plan, ProjectOptions]], folder: ProjectOptions, given: Sequence[Sequence[ExampleRun]]
) -> Example:
    """The example of several models that run on one input, in the header `inputs_file`. `given`: the runs of each
    model, equally many."""
    name, ports = folder.name, inputs(models[0][0], folder)
    copies = (f"memcpy({p.call}, {_array(p)}[run], sizeof {_array(p)}[run])" for p in ports)
    body: list[Statement] = [*(Noted(copy, "your data here") for copy in copies), f"(void){name}_run()"]
    for plan, own in models:
        done = when(f"{own.name}_status() == MOTE_OK", *results(plan, own, compiled_calls(plan, own)))
        wait = [f'print("{own.name} ")', "print_number(run)", 'print(": waiting\\n")']
        waiting = [Compound(f"else if ({own.name}_status() == MOTE_WAITING)", wait)] if plan.graph.warm_up else []
        body += [done, *waiting, Compound("else", [f'print("{own.name}: run failed\\n")', "return 1"])]
    begin = when(f"{name}_init() != MOTE_OK", f'print("{name}: init failed\\n")', "return 1")
    runs = loop("long", "run", f"{name.upper()}_EXAMPLE_RUNS", *body)
    lines = (
        line
        for run, samples in enumerate(zip(*given, strict=True))
        for (plan, own), sample in zip(models, samples, strict=True)
        for line in _lines(plan, own, run, sample)
    )
    main = CFunction("static int example(void)", [begin, runs, "return 0"])
    return Example((f"{name}.h", f"{name}_inputs.h"), printed([*printing(models), main]), tuple(lines))


def printing(models: Sequence[tuple[Plan, ProjectOptions]]) -> list[Definition]:
    """The C functions that print integers, and floats if a model has float outputs."""
    real = any(port.tensor.dtype.real for model in models for port in outputs(*model))
    return [PRINTING, *([PRINTING_FLOATS] if real else [])]


def inputs_text(plan: Plan, options: ProjectOptions, given: Sequence[ExampleRun]) -> str:
    """The text of the header with the inputs of the example."""
    about = banner(options, f"{options.name}_inputs.h: the inputs of the example.")
    arrays: list[Definition] = []
    for i, port in enumerate(inputs(plan, options)):
        values = np.stack([s.inputs[i].reshape(-1) for s in given])
        values = values.view(np.float32) if values.dtype == np.complex64 else values
        declared = f"static const {CTYPES[port.tensor.dtype].name} {_array(port)}[{len(given)}][{values.shape[1]}]"
        rows = "".join(f"    {{\n{wrap(literals(row))}\n    }},\n" for row in values)
        arrays.append(Text(f"{declared} = {{\n{rows}}};\n"))
    runs = f"#define {options.name.upper()}_EXAMPLE_RUNS {len(given)}\n"
    guard = f"{options.name.upper()}_INPUTS_H"
    opening = Text(f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n{runs}")
    return printed([about, BLANK, opening, *arrays, Text("#endif")])


def _array(port: CPort) -> str:
    """The name of the C array with the values of an input."""
    return port.function.replace("_input", "_inputs")


def _inferences(plan: Plan, options: ProjectOptions, calls: Calls) -> list[Statement]:
    """The body of a C function that runs a model on all inputs."""
    name = calls.name
    return [
        when(f"{calls.init} != MOTE_OK", f'print("{name}: init failed\\n")', "return 1"),
        loop("long", "run", f"{name.upper()}_EXAMPLE_RUNS", *_inference(plan, options, calls)),
        "return 0",
    ]


def _inference(plan: Plan, options: ProjectOptions, calls: Calls) -> list[Statement]:
    """The statements that run a model once and print its outputs."""
    name, ports = calls.name, inputs(plan, options)
    body: list[Statement]
    if plan.pushed:
        (port,) = ports
        body = [Noted(f"const mote_status status = {calls.push(port)}", "your rows here")]
    else:
        copies = (f"memcpy({calls.data(p)}, {_array(p)}[run], sizeof {_array(p)}[run])" for p in ports)
        body = [*(Noted(copy, "your data here") for copy in copies), f"const mote_status status = {calls.run}"]
    if plan.graph.warm_up:
        wait = [f'print("{name} ")', "print_number(run)", 'print(": waiting\\n")', "continue"]
        body.append(when("status == MOTE_WAITING", *wait))
    body.append(when("status != MOTE_OK", f'print("{name}: run failed\\n")', "return 1"))
    return [*body, *results(plan, options, calls)]


def results(plan: Plan, options: ProjectOptions, calls: Calls) -> list[Statement]:
    """The statements that print the outputs of a run."""
    name, body = calls.name, list[Statement]()
    writes = outputs(plan, options)
    for i, port in enumerate(writes):
        which = f" output {i}" if len(writes) > 1 else ""
        head = [f'print("{name} ")', "print_number(run)", f'print("{which}: ")']
        body += [*head, *_shown(port, calls), 'print("\\n")']
    return body


def is_class(port: CPort) -> bool:
    """Whether an output seems to have one score for each class, by its shape."""
    tensor = port.tensor
    return tensor.size > 1 and tensor.dtype != DType.COMPLEX64 and sum(n > 1 for n in tensor.shape) == 1


def class_labels(port: CPort) -> tuple[str, ...]:
    """The class names that are printed for an output; none if their number does not match."""
    return port.labels if is_ranked(port) and len(port.labels) == port.tensor.size else ()


def _shown(port: CPort, calls: Calls) -> list[Statement]:
    """The statements that print an output: its best class and score, or its first value."""
    data = calls.data(port)
    value = "print_float({})" if port.tensor.dtype.real else "print_number((long){})"
    if port.tensor.size == 0:
        return ['print("empty")']
    if not is_class(port):
        return ['print("value ")', value.format(f"{data}[0]")]
    best = f"best{port.suffix}"
    return [
        *_best(port, calls, best),
        'print("class ")',
        f"print_number((long){best})",
        *_label(port, calls, best),
        'print(", score ")',
        value.format(f"{data}[{best}]"),
    ]


def _best(port: CPort, calls: Calls, best: str) -> list[Statement]:
    """The statements that find the greatest element of an output."""
    if calls.top1 and is_ranked(port):
        return [f"const size_t {best} = {calls.top1(port)}"]
    data = calls.data(port)
    return [
        f"size_t {best} = 0",
        loop("size_t", "i", port.tensor.size, when(f"{data}[i] > {data}[{best}]", f"{best} = i")),
    ]


def _label(port: CPort, calls: Calls, best: str) -> list[Statement]:
    """The statements that print the name of a class, where classes have names."""
    labels = class_labels(port)
    if not labels:
        return []
    if calls.label:
        return ['print(" (")', f"print({calls.label(port)}({best}))", 'print(")")']
    names = ", ".join(f'"{quoted(label)}"' for label in labels)
    declared = f"static const char *const names{port.suffix}[] = {{{names}}}"
    return [declared, 'print(" (")', f"print(names{port.suffix}[{best}])", 'print(")")']


def _lines(plan: Plan, options: ProjectOptions, run: int, sample: ExampleRun) -> list[str]:
    """The lines that the example prints for a run, computed by the reference."""
    if sample.outputs is None:
        return [f"{options.name} {run}: waiting"]
    lines = []
    writes = outputs(plan, options)
    for i, (port, values) in enumerate(zip(writes, sample.outputs, strict=True)):
        which = f" output {i}" if len(writes) > 1 else ""
        lines.append(f"{options.name} {run}{which}: {_line(port, values.reshape(-1))}")
    return lines


def _line(port: CPort, values: Array) -> str:
    form = _float if port.tensor.dtype.real else lambda x: str(int(x))
    if port.tensor.size == 0:
        return "empty"
    if not is_class(port):
        return f"value {form(values[0])}"
    best = int(np.argmax(values))
    label = f" ({labels[best]})" if (labels := class_labels(port)) else ""
    return f"class {best}{label}, score {form(values[best])}"


def _float(value: np.generic) -> str:
    """A float as `print_float` prints it."""
    x = np.float32(value.real)
    if not -MOST_FLOAT < x < MOST_FLOAT:
        return "out of range"
    scaled = int(x * np.float32(THOUSANDTHS) + np.float32(-0.5 if x < 0 else 0.5))
    return f"{'-' if scaled < 0 else ''}{abs(scaled) // THOUSANDTHS}.{abs(scaled) % THOUSANDTHS:03d}"
