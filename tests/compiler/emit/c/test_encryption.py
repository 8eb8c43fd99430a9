"""Constants encrypted in flash: the same results, nothing readable in the binary, no key anywhere, no nonce twice."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlperf_tiny
from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.host_library import HostModel
from mote.bench.execute.stimuli import stimuli
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.encryption import COUNTER, WeightCipher, plaintext, read_key
from mote.compiler.emit.c.model.opening import aes
from mote.compiler.kernels.contract import Sealed
from mote.compiler.line import compile
from mote.compiler.packer import pack
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.plan import Plan
from mote.ui.cli import main
from tests.compiler.emit.c.test_project import DIGITS, FLAGS, KEYWORDS, compiler_or_skip, run
from tests.helpers.flow import Flow
from tests.helpers.support import emulated, needs_litert, soaked

pytest.importorskip("cryptography", reason="cryptography is not installed")

KEY = bytes(range(7, 39))
OTHER = bytes(range(8, 24))


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "weights.key"
    path.write_bytes(KEY)
    return str(path)


@cache
def built(name: str) -> bytes:
    return mlperf_tiny.build(name)


def branches() -> bytes:
    """Layers inside of both bodies of a branch."""
    flow = Flow(5)
    x, flag = flow.input(1, 6, 6, 4), flow.flag(1)
    made = flow.choose(
        flag, [x], *(lambda f, g: [f.conv(g[0], 4, quant=f.quants[g[0]])] for _ in range(2)), [flow.like(x)]
    )
    return flow.finish(*made)


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("branches", {"instances": True}),
    ("digits", {"least_ram": True, "instances": True}),
    ("digits", {"caller_arena": True}),
    ("digits", {"input": "rows"}),
    ("digits", {"red_zones": True}),
    ("digits", {"single_file": True, "optimize": "size"}),
    ("digits_float", {}),
    ("keywords", {"least_ram": True}),
    ("keywords", {"stream": 1, "causal": True}),
    ("ad", {}),
    ("ic", {}),
    ("vww", {}),
]


@needs_litert
@pytest.mark.parametrize(("name", "options"), soaked(WAYS, WAYS[:1]))
def test_exact_in_every_way_of_memory(name: str, options: dict[str, Any], key: str) -> None:
    """By rows constants are decrypted again where something else was computed in between."""
    file = DIGITS.with_name(f"{name}.tflite")
    model: Any = file if file.exists() else branches() if name == "branches" else built(name)
    compiled = compile(model, encrypt=key, **options)
    assert verify(compiled, 1, sanitize=True).passed
    assert compiled.project.plain == 0 and compiled.plan.decrypted > 0


@needs_litert
@pytest.mark.parametrize("core", soaked(["cortex-m4", "rv32imc", "cortex-m55"], ["cortex-m4"]))
def test_exact_on_a_core(core: str, key: str) -> None:
    assert verify(compile(DIGITS, target=emulated(core), encrypt=key), 1).passed


@pytest.mark.slow
def test_a_batch_on_the_host_has_the_same_results(key: str) -> None:
    plain, sealed = compile(DIGITS), compile(DIGITS, encrypt=key)
    cases = list(stimuli(plain.plan.graph, 4))
    for a, b in zip(HostModel(plain).run(cases), HostModel(sealed).run(cases), strict=True):
        assert np.array_equal(a, b)


def constants(compiled: Compiled) -> list[Sealed]:
    return [s for _, (step, *_) in compiled.plan.works if (s := step.kernel.sealed) is not None]


def test_no_plaintext_and_no_key_in_the_binary(key: str, tmp_path: Path) -> None:
    """Every 12 bytes of what is decrypted are looked for; in the plain model some are there."""
    compiler_or_skip("gcc")
    sealed, plain = compile(DIGITS, encrypt=key), compile(DIGITS)
    pieces = {
        text[i : i + 12] for s in constants(sealed) for text in [plaintext(s)] for i in range(0, len(text) - 11, 4)
    }
    secret = [piece for piece in pieces if len(set(piece)) > 6]
    there = {}
    for name, compiled in (("sealed", sealed), ("plain", plain)):
        folder = tmp_path / name
        compiled.write(folder)
        run(["gcc", *FLAGS, "-O0", "-c", "digits.c", "-o", "digits.o"], folder)
        there[name] = (folder / "digits.o").read_bytes()
        assert not any(KEY in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert len(secret) > 200 and not any(piece in there["sealed"] for piece in secret)
    assert sum(piece in there["plain"] for piece in secret) > len(secret) // 2
    listed = ", ".join(map(str, KEY[:8]))
    assert not any(listed in text for text in sealed.project.files.values())
    assert KEY.hex() not in repr(sealed.project.options) and str(KEY) not in repr(sealed.project.options)


def counters(compiled: Compiled) -> list[bytes]:
    text = compiled.project.files[f"{compiled.name}_constants.h"]
    arrays = re.findall(r"_(?:sealed|key_check)\[\d+\][^{]*\{([^}]*)\}", text)
    return [bytes(int(n) for n in array.split(",")[:COUNTER]) for array in arrays]


def test_files_are_the_same_again_and_nonces_never(key: str, tmp_path: Path) -> None:
    """The same model and key give the same files; layers, models and keys have nonces of their own."""
    assert compile(DIGITS, encrypt=key).project.files == compile(DIGITS, encrypt=key).project.files
    other = tmp_path / "other.key"
    other.write_text(f"{OTHER.hex()}\n")
    used = [counters(compile(model, encrypt=path)) for model in (DIGITS, KEYWORDS) for path in (key, str(other))]
    every = [counter for counters_ in used for counter in counters_]
    assert len(every) > 30 and all(counter.endswith(bytes(4)) for counter in every)
    assert len(set(every)) == len(every) - 2, "but for that of the key's own check, of two models with one key"


def test_a_nonce_follows_from_key_name_and_data() -> None:
    a, b = WeightCipher(KEY), WeightCipher(OTHER)
    texts = [a.encrypt("1", b"x" * 40), a.encrypt("1", b"y" * 40), a.encrypt("2", b"x" * 40), b.encrypt("1", b"x" * 40)]
    assert len({text[:12] for text in texts}) == 4 and a.encrypt("1", b"x" * 40) == texts[0]
    assert len({bytes(p ^ q for p, q in zip(text[COUNTER:], b"x" * 40, strict=True)) for text in texts}) == 4


FIRMWARE = f"""\
#include "digits.h"
#include "mote_aes.h"
static char way;
static int calls = 0;
int digits_decrypt(uint8_t *to, const uint8_t *from, size_t bytes, const uint8_t *counter) {{
    static const uint8_t key[] = {{{", ".join(map(str, KEY))}}};
    mote_aes_t aes;
    mote_aes_init(&aes, key, sizeof key);
    mote_aes_ctr(&aes, to, from, bytes, counter);
    to[0] ^= (uint8_t)(way == 'w');
    return way == 'f' || (way == 'l' && ++calls > 2);
}}
int main(int count, char **arguments) {{
    way = count > 1 ? arguments[1][0] : 'r';
    const int begun = (int)digits_init();
    const int ran = (int)digits_run();
    return 16 * begun + ran;
}}
"""


def test_a_wrong_key_and_a_hook_that_fails(key: str, tmp_path: Path) -> None:
    """The status of init and then of run: all is right, a wrong key, a hook that fails at once, and one later."""
    compiler_or_skip("gcc")
    compile(DIGITS, encrypt=key).write(tmp_path)
    (tmp_path / "firmware.c").write_text(FIRMWARE)
    run(["gcc", *FLAGS, "-O0", "firmware.c", "digits.c", "-o", "firmware"], tmp_path)
    for way, status in (("right", 0), ("wrong", 16 * 8 + 1), ("fails", 16 * 1 + 1), ("later", 1)):
        assert subprocess.run(["./firmware", way], cwd=tmp_path).returncode == status, way


@needs_litert
def test_selftest_with_the_reference_hook(key: str, tmp_path: Path) -> None:
    """The Makefile's self-test: the key is in a file that the user makes."""
    compiler_or_skip("make")
    folder = tmp_path / "project"
    compile(DIGITS, target="cortex-m4", encrypt=key).write(folder)
    (folder / "mote_key.h").write_text(f"#define MOTE_KEY {{{', '.join(map(str, KEY))}}}\n")
    said = run(["make", "-s", "test", f"CFLAGS={' '.join(FLAGS)} -O0 -DMOTE_REFERENCE_DECRYPT"], folder)
    assert said == "digits: ok\n"


BEGIN = {
    "psa": """
#include <psa/crypto.h>
psa_key_id_t weights_key;
static int begin(const uint8_t *key, size_t bytes) {
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_DECRYPT);
    psa_set_key_algorithm(&attributes, PSA_ALG_CTR);
    psa_set_key_type(&attributes, PSA_KEY_TYPE_AES);
    return psa_crypto_init() != PSA_SUCCESS || psa_import_key(&attributes, key, bytes, &weights_key) != PSA_SUCCESS;
}
""",
    "mbedtls": """
#include <mbedtls/aes.h>
mbedtls_aes_context weights_aes;
static int begin(const uint8_t *key, size_t bytes) {
    mbedtls_aes_init(&weights_aes);
    return mbedtls_aes_setkey_enc(&weights_aes, key, (unsigned)(8u * bytes));
}
""",
}


@pytest.mark.parametrize("library", soaked(list(BEGIN), ["psa"]))
def test_hooks_of_the_docs_with_mbed_tls(library: str, key: str, tmp_path: Path) -> None:
    """The C of the page against the real library: the outputs are those of the plain model."""
    compiler_or_skip("gcc")
    if not Path("/usr/include/mbedtls/aes.h").exists():
        pytest.skip("libmbedtls-dev is not installed")
    page = (DIGITS.parents[1] / "docs" / "deploy" / "encryption.md").read_text()
    (code,) = re.findall(rf"^```c\n(#include <{library}/.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "hook.c").write_text(code.replace("keywords", "digits"))
    program = f"""{BEGIN[library]}
#include "digits.h"
int main(void) {{
    static const uint8_t key[] = {{{", ".join(map(str, KEY))}}};
    if (begin(key, sizeof key) != 0 || digits_init() != MOTE_OK) {{ return 1; }}
    for (int i = 0; i < DIGITS_INPUT_SIZE; i++) {{ digits_input()[i] = (int8_t)(i * 37); }}
    if (digits_run() != MOTE_OK) {{ return 2; }}
    return digits_top1();
}}
"""
    (tmp_path / "firmware.c").write_text(program)
    compile(DIGITS, encrypt=key).write(tmp_path)
    flags = [flag for flag in FLAGS if flag not in ("-pedantic", "-Wconversion")]
    run(["gcc", *flags, "-O0", "firmware.c", "hook.c", "digits.c", "-lmbedcrypto", "-o", "firmware"], tmp_path)
    plain = compile(DIGITS)
    (port,) = plain.plan.graph.inputs
    values = (np.arange(plain.plan.graph.tensors[port].size) * 37).astype(np.int8)
    (result,) = HostModel(plain).run([{port: values.reshape(plain.plan.graph.tensors[port].shape)}])
    assert subprocess.run(["./firmware"], cwd=tmp_path).returncode == int(result.argmax())


def test_reference_aes(tmp_path: Path) -> None:
    """Both sizes of keys, a counter that overflows, and a text that ends inside of a block."""
    compiler_or_skip("gcc")
    (tmp_path / "mote_aes.h").write_text(aes())
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "mote_aes.h"\nint main(void) {\n'
        f"    static const uint8_t key[] = {{{', '.join(map(str, KEY))}}};\n"
        "    uint8_t counter[16], text[100];\n    mote_aes_t aes;\n    memset(counter, 255, sizeof counter);\n"
        "    for (size_t n = 16; n <= 32u; n += 16u) {\n        memset(text, 0, sizeof text);\n"
        "        mote_aes_init(&aes, key, n);\n        mote_aes_ctr(&aes, text, text, sizeof text, counter);\n"
        "        fwrite(text, 1, sizeof text, stdout);\n    }\n    return 0;\n}\n"
    )
    run(["gcc", *FLAGS, "main.c", "-o", "main"], tmp_path)
    said = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, check=True).stdout
    counter = b"\xff" * 16
    assert said == b"".join(WeightCipher(KEY[:n])._stream(counter, bytes(100)) for n in (16, 32))


def test_checker_sees_constants_that_are_overwritten(key: str) -> None:
    """Steps right behind one another decrypt once, so that nothing may be written there in between."""
    plan = compile(KEYWORDS, encrypt=key, least_ram=True).plan
    check(plan)
    later = [i for i, s in enumerate(plan.steps) if s.kernel.sealed and i not in plan.opened]
    assert later and len(plan.opened) < sum(bool(s.kernel.sealed) for s in plan.steps)
    step = plan.steps[later[0]]
    assert step.scratch is not None and step.kernel.sealed is not None
    moved = replace(step, scratch=step.scratch + 8)
    with pytest.raises(PlanError, match=r"overwritten|outside|overlaps"):
        check(_with(plan, later[0], moved))
    small = replace(step.kernel, needs=replace(step.kernel.needs, scratch=step.kernel.sealed.nbytes - 8))
    with pytest.raises(PlanError, match="no room for its constants"):
        check(_with(plan, later[0], replace(step, kernel=small)))
    with pytest.raises(PlanError, match="constants start at"):
        check(_with(plan, later[0], replace(step, scratch=step.scratch + 4)))


def _with(plan: Plan, number: int, step: Any) -> Plan:
    return replace(plan, steps=(*plan.steps[:number], step, *plan.steps[number + 1 :]))


def test_costs_are_stated(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(DIGITS), "--encrypt", key, "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    plain, sealed = compile(DIGITS).plan, compile(DIGITS, encrypt=key)
    assert f"decrypts {sealed.plan.decrypted:,} bytes" in said
    assert f"{sealed.plan.ram - plain.ram:,} bytes of RAM more than without; 0 bytes of constants" in said
    header = sealed.project.files["digits.h"]
    assert f"#define DIGITS_DECRYPTED_BYTES {sealed.plan.decrypted}\n" in header
    assert f"#define DIGITS_DECRYPTED_AT_ONCE {max(s.nbytes for s in constants(sealed))}\n" in header


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"", "16 or 32 bytes"), (b"x" * 17, "16 or 32 bytes"), (b"zz" * 16 + b"\n", "16 or 32"), (bytes(32), "equal")],
    ids=["empty", "too long", "no digits", "zeros"],
)
def test_bad_keys(data: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.key"
    path.write_bytes(data)
    with pytest.raises(MoteError, match=says) as raised:
        read_key(str(path))
    assert "openssl rand" in str(raised.value)


def test_without_the_package(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(MoteError, match=r"(?s)encrypting constants: needs.*sign"):
        compile(DIGITS, encrypt=key)


def test_what_cannot_decrypt_is_refused(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MoteError, match="is for generated C: the runtime reads constants where they lie"):
        pack(DIGITS, encrypt=key)
    with pytest.raises(MoteError, match="external generator"):
        compile(DIGITS, encrypt=key, backend=("any",))
    with pytest.raises(MoteError, match="two cores cannot share it: constants"):
        compile(DIGITS, encrypt=key, target="rp2040", cores=2)
    command = ["compile", str(DIGITS), "--encrypt", key, "--target", emulated("cortex-m4"), "-o", str(tmp_path / "out")]
    assert main([*command, "--output", "elf"]) == 1
    assert "only your firmware has the function NAME_decrypt" in capsys.readouterr().err
