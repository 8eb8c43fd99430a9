"""How accurate quantized networks are: Mote's int8, int16 and int4 against LiteRT's quantizer and ONNX Runtime's.

    PYTHONPATH=src:models python benchmarks/accuracy.py [TASK ...] [--methods] [--json] [--write]

All of them are given the same float network, calibration data and test data. `.tflite` files are run by LiteRT's
reference kernels, which Mote's C is equal to, ONNX models by ONNX Runtime; on processors where its integer kernels
saturate, with graph optimizations off, which the row then says. `--methods` compares Mote's methods with one another
instead. `--write` puts the table of all tasks into docs/improve/accuracy.md. Tasks whose data is not in ../shared are
omitted.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from accuracy_tasks import TASKS, Task
from ai_edge import ai_edge
from mote.bench.metrics import noise
from mote.ir.graph.tensor import Array
from mote.optimize.compress.quantize.post_training import post_training
from onnx_quantizer import in_float, onnx_twin

PAGE = Path(__file__).parents[1] / "docs" / "improve" / "accuracy.md"
TABLES = ("quantizers", "methods")
FLOAT = "float32"
PLAIN = {"calibration": "min-max", "equalize": False, "correct_biases": False, "rounding": "nearest"}
METHODS: Mapping[str, Mapping[str, object]] = {
    "min-max": PLAIN,
    "percentile": PLAIN | {"calibration": "percentile"},
    "mse": PLAIN | {"calibration": "mse"},
    "entropy": PLAIN | {"calibration": "entropy"},
    "percentile + equalized": PLAIN | {"calibration": "percentile", "equalize": True},
    "percentile + biases": PLAIN | {"calibration": "percentile", "correct_biases": True},
    "percentile + biases + rounding": PLAIN
    | {"calibration": "percentile", "correct_biases": True, "rounding": "adaptive"},
    "all of it": {"calibration": "percentile", "equalize": True, "correct_biases": True, "rounding": "adaptive"},
}

Answers = Array
"""What a network gives for each sample, [samples, classes]."""


@dataclass(frozen=True)
class Row:
    """One quantizer on one task."""

    task: str
    quantizer: str
    samples: int
    correct: int | None
    """None where there are no labels."""
    agree: int
    """How many answers are those of the float network."""
    decibels: float | None
    """Signal to noise of what the network gives, against the float network; None for that one itself."""


def quantizers(task: Task) -> Iterator[tuple[str, Answers]]:
    """The float network, then what each quantizer makes of it."""
    exact = litert(task.model, task.test)
    yield FLOAT, exact
    for precision in ("int8", "int16", "int4"):
        yield (
            f"Mote {precision}",
            litert(post_training(task.model, task.calibration, precision=precision).data, task.test),
        )
    yield "ai-edge-quantizer int8", litert(ai_edge(task.model, task.calibration), task.test)
    yield "ai-edge-quantizer int16", litert(ai_edge(task.model, task.calibration, 16), task.test)
    twin, few = onnx_twin(task.graph), task.test[:32]
    assert np.allclose(twin.run(few), exact[:32], rtol=1e-3, atol=1e-3), "the ONNX model computes something else"
    how = "ONNX Runtime int8 (in float: its integers saturate here)" if in_float() else "ONNX Runtime int8"
    yield how, twin.quantized(task.calibration).run(task.test)


def methods(task: Task) -> Iterator[tuple[str, Answers]]:
    """The float network, then what each of Mote's methods makes of it."""
    yield FLOAT, litert(task.model, task.test)
    for precision in ("int8", "int4"):
        for name, options in METHODS.items():
            made = post_training(task.model, task.calibration, precision=precision, **options)  # type: ignore[arg-type]
            yield f"{precision}, {name}", litert(made.data, task.test)


def litert(model: bytes, samples: Array) -> Answers:
    """What LiteRT's reference kernels answer to each sample, as real numbers."""
    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
    answers = []
    for sample in samples:
        interpreter.set_tensor(given["index"], _stored(sample, given).reshape(given["shape"]))
        interpreter.invoke()
        answers.append(_real(interpreter.get_tensor(made["index"]), made).reshape(-1))
    return np.array(answers)


def _stored(values: Array, edge: Mapping[str, object]) -> Array:
    """Real numbers as an input takes them."""
    dtype, (scale, zero) = np.dtype(edge["dtype"]), edge["quantization"]
    if dtype == np.float32:
        return values
    limits = np.iinfo(dtype)
    return np.clip(np.round(values.astype(np.float64) / scale) + zero, limits.min, limits.max).astype(dtype)


def _real(values: Array, edge: Mapping[str, object]) -> Array:
    """What an output stands for."""
    scale, zero = edge["quantization"]
    return values if values.dtype == np.float32 else (values.astype(np.float64) - zero) * scale


def rows(task: Task, compared: Callable[[Task], Iterator[tuple[str, Answers]]]) -> Iterator[Row]:
    exact: Answers | None = None
    for name, answers in compared(task):
        exact = answers if exact is None else exact
        right = None if task.labels is None else int((answers.argmax(1) == task.labels).sum())
        agree = int((answers.argmax(1) == exact.argmax(1)).sum())
        yield Row(task.name, name, len(answers), right, agree, None if exact is answers else noise(exact, answers))


def table(found: Sequence[Row]) -> str:
    """As Markdown: a line for each quantizer, correct answers, those of the float network, and decibels."""
    lines = ["| task | quantizer | correct | as float | dB |", "|---|---|--:|--:|--:|"]
    for row in found:
        right = "" if row.correct is None else f"{row.correct} of {row.samples}"
        decibels = "" if row.decibels is None else f"{row.decibels:.1f}"
        lines.append(f"| {row.task} | {row.quantizer} | {right} | {row.agree} | {decibels} |")
    return "\n".join(lines)


def with_table(page: str, name: str, text: str) -> str:
    """A page with another table between the marks of that name."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    return marks.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tasks", nargs="*", metavar="TASK", help=f"some of {', '.join(TASKS)}; all unless named")
    p.add_argument("--methods", action="store_true", help="compare Mote's methods with one another")
    p.add_argument("--json", action="store_true", help="print JSON")
    p.add_argument("--write", action="store_true", help="put the table into docs/improve/accuracy.md")
    arguments = p.parse_args()
    found: list[Row] = []
    for name in arguments.tasks or TASKS:
        task = TASKS[name]()
        for row in rows(task, methods if arguments.methods else quantizers) if task else ():
            found.append(row)
            if not arguments.json:
                print(table([row]).split("\n")[-1], flush=True)
    if arguments.json:
        print(json.dumps([asdict(row) for row in found], indent=1))
    if arguments.write:
        name = TABLES[arguments.methods]
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), name, table(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
