/* mote_winograd_words_armv6m.h: mote_winograd_words.h on cores with 16-bit instructions only. */
#ifndef MOTE_WINOGRAD_WORDS_ARMV6M_H
#define MOTE_WINOGRAD_WORDS_ARMV6M_H

#include "mote_compiler.h"

#if defined(__thumb__) && !defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#if __ARM_ARCH_PROFILE == 'M'
/* `text` is assembly that was made for the number of input channels. */
#define MOTE_WINOGRAD_WORDS_CODE(id, tiles, lanes, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static const int16_t *mote_winograd_words_##id##_products( \
        const uint32_t *v __attribute__((unused)), const int16_t *u __attribute__((unused)), \
        uint32_t *m __attribute__((unused)), int32_t depth __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#endif
#endif

#endif
