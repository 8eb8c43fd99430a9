/* mote_any_words_dsp.h: cores with DSP instructions, which load words from any address. */
#ifndef MOTE_ANY_WORDS_DSP_H
#define MOTE_ANY_WORDS_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !MOTE_WORDS_ALIGNED && !defined(MOTE_ANY_WORDS)
#define MOTE_ANY_WORDS 1
#endif

#endif
