/* mote_any_words_armv7m.h: cores that load words from any address, as Armv7-M and computers do. */
#ifndef MOTE_ANY_WORDS_ARMV7M_H
#define MOTE_ANY_WORDS_ARMV7M_H

#include "mote_compiler.h"

#if !MOTE_WORDS_ALIGNED && \
    (defined(__ARM_FEATURE_UNALIGNED) || defined(__aarch64__) || defined(__x86_64__) || defined(__i386__))
#define MOTE_ANY_WORDS 1
#endif

#endif
