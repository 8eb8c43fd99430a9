"""The prefix of a model's C symbols and files, without conflicts."""

from __future__ import annotations

import re

LONGEST = 64
"""Maximum characters of a prefix: with suffixes it is a valid file name everywhere."""
PREFIX = "model_"

_WORDS = {
    "is the name of a file or a target of the project": (
        "all c clean depend example g gcc help install m main make makefile mote nosys package preinstall"
        " rebuild_cache edit_cache selftest stdc test cmakelists"
    ),
    "is a macro of C": (
        "eof errno i386 linux max min mips ndebug null offsetof powerpc riscv sparc stderr stdin stdout unix"
    ),
    "is the name of a header, which it would hide": (
        "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg"
        " stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time"
        " uchar wchar wctype alloca arm_acle arm_cmse arm_fp16 arm_mve arm_neon cpio dirent dlfcn endian fcntl"
        " features fnmatch glob grp iconv intrinsics langinfo libgen malloc memory netdb newlib picolibc poll"
        " pthread pwd reent regex sched search semaphore spawn stdcountof strings syslog tar termios unctrl unistd"
        " utime utmpx varargs wordexp cmsis_compiler cmsis_gcc core_cm0 core_cm3 core_cm4 core_cm7 core_cm33"
        " core_cm55 core_cm85"
    ),
    "is a keyword of C++": (
        "and and_eq bitand bitor catch char8_t char16_t char32_t class compl concept const_cast consteval"
        " constinit co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable"
        " namespace new noexcept not not_eq operator or or_eq private protected public reinterpret_cast requires"
        " static_cast template this throw try typeid typename using virtual wchar_t xor xor_eq"
    ),
    "is a keyword of C": (
        "auto break case char const continue default do double else enum extern float for goto if inline int long"
        " register restrict return short signed sizeof static struct switch typedef union unsigned void volatile"
        " while alignas alignof bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual"
        " asm fortran"
    ),
}
TAKEN = {word: why for why, words in _WORDS.items() for word in words.split()}
"""Reserved names in lower case, as some file systems ignore case, and why each is reserved."""


_TYPES = (
    "blkcnt blksize clock clockid dev div double fd float fpos fsblkcnt fsfilcnt gid id imaxdiv ino intmax intptr jmp"
    " key ldiv lldiv locale max_align mbstate mode nlink off pid ptrdiff register rsize sig_atomic sigset size ssize"
    " stack suseconds time timer uid uintmax uintptr useconds wchar wctrans wctype wint"
)
_WIDTHS = {f"{u}int{kind}{bits}" for u in ("", "u") for kind in ("", "_least", "_fast") for bits in (8, 16, 32, 64)}
TYPES = {*_TYPES.split()} | _WIDTHS
"""Names whose `_t` variant is a type of a C library."""


def c_prefix(name: str, typed: bool = False) -> tuple[str, str]:
    """The C prefix for a model's name, and the reason if it differs from the name; else empty. `typed`: there will be a
    type NAME_t as well."""
    usable = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "model"
    why = "" if usable == name else "has other characters than letters, digits and underscores between them"
    taken = TAKEN.get(usable.lower())
    if usable.lower().startswith("mote_"):
        taken = "begins as names of Mote's own do"
    elif usable[0].isdigit():
        taken = "begins with a digit"
    elif typed and usable.lower() in TYPES:
        taken = f"would name a type {usable}_t, which C libraries have"
    if taken is not None:
        usable, why = PREFIX + usable, taken
    if len(usable) > LONGEST:
        usable, why = usable[:LONGEST].rstrip("_"), f"has more than {LONGEST} characters"
    return usable, why
