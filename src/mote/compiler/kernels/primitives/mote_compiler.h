/* mote_compiler.h: what compilers are told in words of their own: attributes, and barriers that hide values from them. */
#ifndef MOTE_COMPILER_H
#define MOTE_COMPILER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* gcc 12.2 makes vectors of plain C for Helium that compute something else. -fno-tree-vectorize says the same for those
 * who know it; no header can see whether it was given. */
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif

#if defined(__GNUC__)
#define MOTE_ALIGNED __attribute__((aligned(4))) /* constants that kernels read as words */
/* Functions with tight inner loops: inlined into a long caller, their loops would lose registers to it. */
#define MOTE_NOINLINE __attribute__((noinline, unused)) static
#define MOTE_UNUSED __attribute__((unused)) /* what macros define and not every model uses */
/* Functions that are given another function: inlined, the call is a direct one. */
#define MOTE_ALWAYS_INLINE static inline __attribute__((always_inline, unused))
#else
#define MOTE_ALIGNED
#define MOTE_NOINLINE static inline
#define MOTE_UNUSED
#define MOTE_ALWAYS_INLINE static inline
#endif

/* Loops in C that would be much slower in a build for size. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#define MOTE_HOT __attribute__((optimize("O2")))
#else
#define MOTE_HOT
#endif

/* A pointer that becomes one of any type where it is used, as C does with void *. */
#if defined(__cplusplus)
extern "C++" {
class mote_any_t {
  public:
    mote_any_t(const void *pointer) : at(pointer) {}
    template <typename T> operator T *() const { return (T *)at; }

  private:
    const void *at;
};
}
typedef mote_any_t mote_any_const_t;
#else
typedef void *mote_any_t;
typedef const void *mote_any_const_t;
#endif

/* Whether words are loaded from and stored to multiples of four only; generated code sets it. */
#ifndef MOTE_WORDS_ALIGNED
#define MOTE_WORDS_ALIGNED 0
#endif

/* The C library's memcpy may do what the compiler must not. This one copies bytes; the barrier keeps a compiler from
 * making a call of memcpy of it. */
#if defined(__ARM_ARCH) && __ARM_ARCH >= 7 && !defined(__ARM_FEATURE_UNALIGNED) && defined(__GNUC__)
static inline void *mote_copy_bytes(void *to, const void *from, size_t bytes) {
    uint8_t *t = (uint8_t *)to;
    const uint8_t *f = (const uint8_t *)from;
    for (; bytes > 0; bytes--) {
        *t++ = *f++;
        __asm__ volatile("" : : : "memory");
    }
    return to;
}
#define memcpy mote_copy_bytes
#endif

/* Constants: where they are kept, and how they are read where loads of data do not reach that memory. */
#include "mote_compiler_avr.h"

#ifndef MOTE_FLASH
#define MOTE_FLASH
#define mote_flash_u8(from) (*(from))
#define mote_flash_s8(from) (*(from))
#define mote_flash_u16(from) (*(from))
#define mote_flash_s16(from) (*(from))
#define mote_flash_u32(from) (*(from))
#define mote_flash_s32(from) (*(from))
#define mote_flash_copy(to, from, bytes) memcpy(to, from, bytes)
#endif

/* A variable in a register for floats, as an operand of assembly that may change it. */
#if defined(__aarch64__)
#define MOTE_REAL(variable) "+w"(variable)
#else
#define MOTE_REAL(variable) "+t"(variable)
#endif

/* What a pointer points to is constant to a compiler, which could compare it while it compiles; memory knows better. */
#if defined(__GNUC__) && !defined(__FRAMAC__)
#define MOTE_LOOK_AT(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
#else
#define MOTE_LOOK_AT(pointer) ((void)0)
#endif

/* A float that is rounded here: nothing that comes behind is fused with what made it. */
#if defined(__GNUC__) && !defined(__FRAMAC__)
#define MOTE_ROUNDED(variable) __asm__("" : "+m"(variable))
#else
#define MOTE_ROUNDED(variable) ((void)0)
#endif

/* A pointer that has been moved: gcc would rather have one for each way that it goes, and copy it. */
#if defined(__GNUC__)
#define MOTE_MOVED(pointer) __asm__("" : "+r"(pointer))
#else
#define MOTE_MOVED(pointer) ((void)0)
#endif

/* GCC 12 for x86 may reckon the address of an output from that of an input, where an element is copied twice, say. It
 * then takes it for an address of nothing, and leaves the copies out. So it must not see how the two belong together. */
#if defined(__GNUC__) && !defined(__clang__) && (defined(__x86_64__) || defined(__i386__)) && !defined(__FRAMAC__)
#define MOTE_UNRELATED(pointer) __asm__("" : "+r"(pointer))
#else
#define MOTE_UNRELATED(pointer) ((void)(pointer))
#endif

#endif
