/* mote_move_items.h: runs of bytes from one place to another, and matrices whose rows become columns. */
#ifndef MOTE_MOVE_ITEMS_H
#define MOTE_MOVE_ITEMS_H

#include "mote_compiler.h"

/* Whether bytes are moved several at a time. Builds for size and cores of 8 bits get plain loops. */
#if defined(__OPTIMIZE_SIZE__) || UINTPTR_MAX < 0xffffffffu
#define MOTE_MOVE_WORDS 0
#else
#define MOTE_MOVE_WORDS 1
#endif

#include "mote_any_words_armv7m.h"
#include "mote_any_words_dsp.h"

/* Whether a word at any address is loaded and stored like one at a multiple of four. */
#ifndef MOTE_ANY_WORDS
#define MOTE_ANY_WORDS 0
#endif

#if MOTE_ANY_WORDS || !defined(__GNUC__)
#define MOTE_WORD_AT(p) (p)
#else
#define MOTE_WORD_AT(p) __builtin_assume_aligned(p, 4)
#endif

MOTE_ALWAYS_INLINE uint32_t mote_word_load(const int8_t *p) {
    uint32_t word;
    memcpy(&word, MOTE_WORD_AT(p), 4);
    return word;
}

MOTE_ALWAYS_INLINE void mote_word_store(int8_t *p, uint32_t word) { memcpy(MOTE_WORD_AT(p), &word, 4); }

/* Whether both addresses and both steps are multiples of four, or of two. */
MOTE_ALWAYS_INLINE uint32_t mote_places_of(const int8_t *in, const int8_t *out, int32_t in_step, int32_t out_step) {
    return (uint32_t)((uintptr_t)in | (uintptr_t)out) | (uint32_t)in_step | (uint32_t)out_step;
}

MOTE_ALWAYS_INLINE int mote_words_at(const int8_t *in, const int8_t *out, int32_t in_step, int32_t out_step) {
    return (mote_places_of(in, out, in_step, out_step) & 3) == 0;
}

MOTE_ALWAYS_INLINE int mote_even_at(const int8_t *in, const int8_t *out, int32_t in_step, int32_t out_step) {
    return (mote_places_of(in, out, in_step, out_step) & 1) == 0;
}

/* Runs for which the C library's memcpy takes too long: to begin, or for all of it where words cannot be used. */
#define MOTE_FEW_BYTES (MOTE_ANY_WORDS ? 128 : 1 << 20)
#define MOTE_TWO_WORDS (MOTE_ANY_WORDS ? 8 : 0)

/* Where elements of `size` bytes are: at multiples of it, or wherever the core loads them from. */
#if MOTE_ANY_WORDS || !MOTE_MOVE_WORDS || !defined(__GNUC__)
#define MOTE_ELEMENT_AT(p, size) (p)
#else
#define MOTE_ELEMENT_AT(p, size) __builtin_assume_aligned(p, size)
#endif

/* Whether elements can be moved so: where `aligned` says it, or anywhere. */
#if MOTE_ANY_WORDS || !MOTE_MOVE_WORDS
#define MOTE_LOADS(aligned) 1
#else
#define MOTE_LOADS(aligned) (aligned)
#endif

/* Elements of `size` bytes, `step` apart, to where they are side by side. */
#define MOTE_GATHER(size, type) \
    MOTE_UNUSED static inline void mote_gather_##size(const int8_t *in, int8_t *out, int32_t items, int32_t step) { \
        const int32_t thrice = 3 * step; \
        for (; items >= 4; items -= 4, in += 4 * step, out += 4 * size) { \
            type a, b, c, d; \
            memcpy(&a, MOTE_ELEMENT_AT(in, size), size), memcpy(&b, MOTE_ELEMENT_AT(in + step, size), size); \
            memcpy(&c, MOTE_ELEMENT_AT(in + 2 * step, size), size); \
            memcpy(&d, MOTE_ELEMENT_AT(in + thrice, size), size); \
            memcpy(MOTE_ELEMENT_AT(out, size), &a, size), memcpy(MOTE_ELEMENT_AT(out + size, size), &b, size); \
            memcpy(MOTE_ELEMENT_AT(out + 2 * size, size), &c, size); \
            memcpy(MOTE_ELEMENT_AT(out + 3 * size, size), &d, size); \
        } \
        for (; items > 0; items--, in += step, out += size) { \
            memcpy(MOTE_ELEMENT_AT(out, size), MOTE_ELEMENT_AT(in, size), size); \
        } \
    }

MOTE_GATHER(1, int8_t)
MOTE_GATHER(2, int16_t)
MOTE_GATHER(4, int32_t)

#if MOTE_MOVE_WORDS
#if defined(__GNUC__)
#define MOTE_WORDS_OF(to, from, bytes) memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), bytes)
#else
#define MOTE_WORDS_OF(to, from, bytes) memcpy(to, from, bytes)
#endif

/* Runs of words from multiples of four to multiples of four. */
MOTE_UNUSED static inline void mote_move_words(const int8_t *in, int8_t *out, int32_t items, int32_t in_step,
                                               int32_t out_step, int32_t run) {
    if (run == 8) {
        for (; items > 0; items--, in += in_step, out += out_step) {
            MOTE_WORDS_OF(out, in, 8);
        }
    }
    for (; items > 0; items--, in += in_step, out += out_step) {
        int32_t done = 0;
        for (; done + 16 <= run; done += 16) {
            MOTE_WORDS_OF(out + done, in + done, 16);
        }
        for (; done < run; done += 4) {
            MOTE_WORDS_OF(out + done, in + done, 4);
        }
    }
}

#if MOTE_ANY_WORDS
MOTE_UNUSED static inline void mote_move_threes(const int8_t *in, int8_t *out, int32_t items, int32_t in_step,
                                                int32_t out_step) {
    for (; items > 0; items--, in += in_step, out += out_step) {
        const int8_t last = in[2];
        memcpy(out, in, 2);
        out[2] = last;
    }
}

/* Runs of 5 to 8 bytes: the second word may begin inside of the first one. */
MOTE_UNUSED static inline void mote_move_two_words(const int8_t *in, int8_t *out, int32_t items, int32_t in_step,
                                                   int32_t out_step, int32_t run) {
    for (; items > 0; items--, in += in_step, out += out_step) {
        const uint32_t first = mote_word_load(in), last = mote_word_load(in + run - 4);
        mote_word_store(out, first);
        mote_word_store(out + run - 4, last);
    }
}

/* A run of more than 8 bytes. */
MOTE_UNUSED static inline void mote_copy_few(const int8_t *in, int8_t *out, int32_t bytes) {
    const uint32_t last = mote_word_load(in + bytes - 4);
    int8_t *const end = out + bytes - 4;
    for (; out < end; in += 4, out += 4) {
        mote_word_store(out, mote_word_load(in));
        MOTE_MOVED(out);
    }
    mote_word_store(end, last);
}
#else
/* A run, byte by byte. */
MOTE_UNUSED static inline void mote_copy_few(const int8_t *in, int8_t *out, int32_t bytes) {
    const uint8_t *const from = (const uint8_t *)in;
    uint8_t *const to = (uint8_t *)out;
    for (int32_t i = 0; i < bytes; i++) {
        MOTE_MOVED(i);
        to[i] = from[i];
    }
}
#endif
#endif

/* Copies `items` runs. The size of an element is spelled out so that the compiler makes it a load and a store. */
static inline void mote_move_plainly(const int8_t *in, int8_t *out, int32_t items, int32_t in_step, int32_t out_step,
                                     int32_t run) {
    if (run == 1) {
        for (int32_t i = 0; i < items; i++) {
            out[i * out_step] = in[i * in_step];
        }
        return;
    }
    if (run == 2 && MOTE_LOADS(mote_even_at(in, out, in_step, out_step))) {
        for (int32_t i = 0; i < items; i++) {
            memcpy(MOTE_ELEMENT_AT(out + i * out_step, 2), MOTE_ELEMENT_AT(in + i * in_step, 2), 2);
        }
        return;
    }
    if (run == 4 && MOTE_LOADS(mote_words_at(in, out, in_step, out_step))) {
        for (int32_t i = 0; i < items; i++) {
            memcpy(MOTE_ELEMENT_AT(out + i * out_step, 4), MOTE_ELEMENT_AT(in + i * in_step, 4), 4);
        }
        return;
    }
#if MOTE_MOVE_WORDS
#if MOTE_ANY_WORDS
    if (run == 3) {
        mote_move_threes(in, out, items, in_step, out_step);
        return;
    }
    if (run >= 5 && run <= 8) {
        mote_move_two_words(in, out, items, in_step, out_step, run);
        return;
    }
#endif
    if (run <= MOTE_FEW_BYTES && mote_words_at(in, out, in_step | run, out_step)) {
        mote_move_words(in, out, items, in_step, out_step, run);
        return;
    }
    if (run >= MOTE_TWO_WORDS && run <= MOTE_FEW_BYTES) {
        for (; items > 0; items--, in += in_step, out += out_step) {
            mote_copy_few(in, out, run);
        }
        return;
    }
#endif
    for (int32_t i = 0; i < items; i++) {
        memcpy(out + i * out_step, in + i * in_step, (size_t)run);
    }
}

#include "mote_move_items_dsp.h"

/* Four columns of `rows` rows, a multiple of four, become four rows: whether words can be loaded there. */
#if MOTE_MOVE_WORDS && !defined(mote_turn_fours)
#define MOTE_EVEN_BYTES 0x00ff00ffu

static inline void mote_turn_fours(const int8_t *in, int8_t *out, int32_t rows, int32_t in_step, int32_t out_step) {
    int8_t *const second = out + out_step, *const third = second + out_step, *const fourth = third + out_step;
#if MOTE_ANY_WORDS
    for (int32_t i = 0; i < rows; i += 4, in += 4 * in_step) {
        const uint32_t a = mote_word_load(in), b = mote_word_load(in + in_step);
        const uint32_t c = mote_word_load(in + 2 * in_step), d = mote_word_load(in + 3 * in_step);
        const uint32_t ab02 = (a & MOTE_EVEN_BYTES) | (b & MOTE_EVEN_BYTES) << 8;
        const uint32_t cd02 = (c & MOTE_EVEN_BYTES) | (d & MOTE_EVEN_BYTES) << 8;
        const uint32_t ab13 = (a >> 8 & MOTE_EVEN_BYTES) | (b & ~MOTE_EVEN_BYTES);
        const uint32_t cd13 = (c >> 8 & MOTE_EVEN_BYTES) | (d & ~MOTE_EVEN_BYTES);
        mote_word_store(out + i, (ab02 & 0xffff) | cd02 << 16);
        mote_word_store(second + i, (ab13 & 0xffff) | cd13 << 16);
        mote_word_store(third + i, ab02 >> 16 | (cd02 & 0xffff0000u));
        mote_word_store(fourth + i, ab13 >> 16 | (cd13 & 0xffff0000u));
    }
#else
    for (int32_t i = 0; i < rows; i++, in += in_step) {
        const uint32_t word = mote_word_load(in);
        out[i] = (int8_t)(word & 0xff);
        second[i] = (int8_t)(word >> 8 & 0xff);
        third[i] = (int8_t)(word >> 16 & 0xff);
        fourth[i] = (int8_t)(word >> 24);
    }
#endif
}
#endif

/* `rows` rows of `columns` elements of `size` bytes, each `in_step` bytes behind the one before, become columns, whose
 * elements are side by side. */
static inline void mote_turn_plainly(const int8_t *in, int8_t *out, int32_t rows, int32_t columns, int32_t in_step,
                                     int32_t out_step, int32_t size) {
    int32_t left = columns;
#if MOTE_MOVE_WORDS
    const int32_t fours = rows & ~3;
    if (size == 1 && fours > 0 && (MOTE_ANY_WORDS || mote_words_at(in, in, in_step, 0))) {
        for (; left >= 4; left -= 4, in += 4, out += 4 * out_step) {
            mote_turn_fours(in, out, fours, in_step, out_step);
            for (int32_t i = fours; i < rows; i++) {
                mote_move_plainly(in + i * in_step, out + i, 4, 1, out_step, 1);
            }
        }
    }
    if (size == 1) {
        for (; left > 0; left--, in++, out += out_step) {
            mote_gather_1(in, out, rows, in_step);
        }
    }
    if (size == 2 && (MOTE_ANY_WORDS || mote_even_at(in, out, in_step, out_step))) {
        for (; left > 0; left--, in += 2, out += out_step) {
            mote_gather_2(in, out, rows, in_step);
        }
    }
    if (size == 4 && (MOTE_ANY_WORDS || mote_words_at(in, out, in_step, out_step))) {
        for (; left > 0; left--, in += 4, out += out_step) {
            mote_gather_4(in, out, rows, in_step);
        }
    }
#endif
    for (; left > 0; left--, in += size, out += out_step) {
        mote_move_plainly(in, out, rows, in_step, size, size);
    }
}

#include "mote_move_items_helium.h"

#ifndef mote_move_items
#define mote_move_items mote_move_plainly
#define mote_turn_items mote_turn_plainly
#endif

#ifndef mote_fill_bytes
/* `bytes` times the same byte. */
static inline void mote_fill_bytes(int8_t *out, int8_t value, int32_t bytes) {
#if MOTE_MOVE_WORDS
    const uint32_t word = (uint32_t)(uint8_t)value * 0x01010101u;
    for (; bytes > 0 && ((uintptr_t)out & 3) != 0; bytes--) {
        *out++ = value;
    }
    for (; bytes >= 16; bytes -= 16, out += 16) {
        mote_word_store(out, word);
        mote_word_store(out + 4, word);
        mote_word_store(out + 8, word);
        mote_word_store(out + 12, word);
    }
    for (; bytes >= 4; bytes -= 4, out += 4) {
        mote_word_store(out, word);
    }
    for (; bytes > 0; bytes--) {
        *out++ = value;
        MOTE_MOVED(out);
    }
#else
    memset(out, value, (size_t)bytes);
#endif
}
#endif

#endif
