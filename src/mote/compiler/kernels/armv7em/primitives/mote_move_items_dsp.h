/* mote_move_items_dsp.h: mote_move_items.h, which includes it, with DSP instructions. */
#ifndef MOTE_MOVE_ITEMS_DSP_H
#define MOTE_MOVE_ITEMS_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && MOTE_MOVE_WORDS && MOTE_ANY_WORDS
/* SEL takes bytes 0 and 2 from one word, 1 and 3 from the other: UADD8 has set the flags that say so. 24 instructions for
 * 16 bytes. */
MOTE_NOINLINE void mote_turn_fours(const int8_t *in, int8_t *out, int32_t rows, int32_t in_step, int32_t out_step) {
    uint32_t a = 0x00ff00ffu, b, c, d, e;
    __asm__ volatile("uadd8 %[a], %[a], %[a]\n"
                     "1:\n\t"
                     "ldr %[a], [%[in]]\n\t"
                     "ldr %[b], [%[in], %[step]]\n\t"
                     "add %[in], %[in], %[step], lsl #1\n\t"
                     "ldr %[c], [%[in]]\n\t"
                     "ldr %[d], [%[in], %[step]]\n\t"
                     "add %[in], %[in], %[step], lsl #1\n\t"
                     "lsl %[e], %[b], #8\n\t"
                     "sel %[e], %[a], %[e]\n\t" /* a0 b0 a2 b2 */
                     "lsr %[a], %[a], #8\n\t"
                     "sel %[a], %[a], %[b]\n\t" /* a1 b1 a3 b3 */
                     "lsl %[b], %[d], #8\n\t"
                     "sel %[b], %[c], %[b]\n\t" /* c0 d0 c2 d2 */
                     "lsr %[c], %[c], #8\n\t"
                     "sel %[c], %[c], %[d]\n\t" /* c1 d1 c3 d3 */
                     "pkhbt %[d], %[a], %[c], lsl #16\n\t"
                     "pkhtb %[c], %[c], %[a], asr #16\n\t"
                     "str %[d], [%[out], %[next]]\n\t"
                     "str %[c], [%[out], %[thrice]]\n\t"
                     "pkhbt %[d], %[e], %[b], lsl #16\n\t"
                     "pkhtb %[b], %[b], %[e], asr #16\n\t"
                     "str %[b], [%[out], %[next], lsl #1]\n\t"
                     "str %[d], [%[out]], #4\n\t"
                     "subs %[rows], %[rows], #4\n\t"
                     "bne 1b\n\t"
                     : [in] "+r"(in), [out] "+r"(out), [rows] "+r"(rows), [a] "+r"(a), [b] "=&r"(b), [c] "=&r"(c),
                       [d] "=&r"(d), [e] "=&r"(e)
                     : [step] "r"(in_step), [next] "r"(out_step), [thrice] "r"(3 * out_step)
                     : "cc", "memory");
}
#define mote_turn_fours mote_turn_fours
#endif

#endif
