/* mote_step_fours.h: steps of four int8 weights at once, for cores with DSP instructions or Helium. */
#ifndef MOTE_STEP_FOURS_H
#define MOTE_STEP_FOURS_H

#include "mote_steps_s8.h"

/* Steps to the right, of four weights at once. */
typedef struct {
    int32_t right, rest, mult, left; /* the last shift, 32 less that, and the shift of sums, which is one more */
    uint32_t first, second, next;    /* factors of the hash, and what comes from one element to the next */
    int32_t over;                    /* shift before that: of numbers that are shifted further than noise has bits */
} mote_step_fours_t;

static inline mote_step_fours_t mote_step_fours_of(const mote_step_channel_t *c, int32_t left) {
    mote_step_fours_t z;
    z.right = mote_min(c->right, 30);
    z.rest = 32 - z.right;
    z.mult = c->mult;
    z.left = left + 1;
    z.first = 0x85EBCA6Bu;
    z.second = 0xC2B2AE35u;
    z.next = 0x9E3779B1u;
    z.over = mote_min(c->right - z.right, 31);
    return z;
}

#include "mote_step_fours_helium.h"

#ifdef mote_step_fours
#elif MOTE_DSP
/* A sum's step before its last shift. */
#define MOTE_STEP_FOURS_ONE(sum) \
    "eor lr, r2, r2, lsr #16\n\t" \
    "lsl " sum ", " sum ", r6\n\t" \
    "mul lr, lr, r7\n\t" \
    "smmulr " sum ", " sum ", r5\n\t" \
    "eor lr, lr, lr, lsr #13\n\t" \
    "asr " sum ", " sum ", r10\n\t" \
    "mul lr, lr, r8\n\t" \
    "add r2, r2, r9\n\t" \
    "eor lr, lr, lr, lsr #16\n\t" \
    "lsr lr, lr, r4\n\t" \
    "add " sum ", " sum ", lr\n\t"

/* Those of two, as two words of the stack. */
#define MOTE_STEP_FOURS_TWO(at) \
    "ldrd r11, r12, [r0], #8\n\t" MOTE_STEP_FOURS_ONE("r11") MOTE_STEP_FOURS_ONE("r12") \
    "strd r11, r12, [sp, #" at "]\n\t"

/* Weights in r11, -127 in each byte of r12: those that are less become that. */
#define MOTE_STEP_FOURS_LEAST \
    "ssub8 lr, r11, r12\n\t" \
    "sel r11, r11, r12\n\t"

/* Fours of weights up to `end`. 62 instructions for four where all steps are zero, as most are, 89 elsewhere. */
__attribute__((naked, noinline, unused)) static void mote_step_fours(
    const int32_t *sums __attribute__((unused)), int8_t *weights __attribute__((unused)),
    uint32_t noise __attribute__((unused)), const int8_t *end __attribute__((unused)),
    const mote_step_fours_t *z __attribute__((unused))) {
    __asm__ volatile("push {r3-r11, lr}\n\t"
                     "ldr r12, [sp, #40]\n\t"
                     "ldm r12, {r3-r10}\n\t"
                     "sub sp, sp, #16\n"
                     "1:\n\t" MOTE_STEP_FOURS_TWO("0")
                     "orr r3, r11, r12\n\t" MOTE_STEP_FOURS_TWO("8")
                     "orr r3, r3, r11\n\t"
                     "orr r3, r3, r12\n\t"
                     "rsb lr, r4, #32\n\t"
                     "asrs lr, r3, lr\n\t"
                     "ldr r11, [r1]\n\t"
                     "mov r12, #0x81818181\n\t"
                     "bne 3f\n\t" MOTE_STEP_FOURS_LEAST
                     "2:\n\t"
                     "str r11, [r1], #4\n\t"
                     "ldr r12, [sp, #16]\n\t"
                     "cmp r1, r12\n\t"
                     "bne 1b\n\t"
                     "add sp, sp, #20\n\t"
                     "pop {r4-r11, pc}\n"
                     "3:\n\t" MOTE_STEP_FOURS_LEAST
                     "rsb r3, r4, #32\n\t"
                     "push {r4-r7}\n\t"
                     "ldrd r4, r5, [sp, #16]\n\t"
                     "ldrd r6, r7, [sp, #24]\n\t"
                     "asr r4, r4, r3\n\t"
                     "asr r5, r5, r3\n\t"
                     "asr r6, r6, r3\n\t"
                     "asr r7, r7, r3\n\t"
                     "ssat r4, #16, r4\n\t"
                     "ssat r5, #16, r5\n\t"
                     "ssat r6, #16, r6\n\t"
                     "ssat r7, #16, r7\n\t"
                     "pkhbt r4, r4, r6, lsl #16\n\t"
                     "pkhbt r5, r5, r7, lsl #16\n\t"
                     "sxtb16 r6, r11\n\t"
                     "sxtb16 r7, r11, ror #8\n\t"
                     "qsub16 r6, r6, r4\n\t"
                     "qsub16 r7, r7, r5\n\t"
                     "ssat16 r6, #8, r6\n\t"
                     "ssat16 r7, #8, r7\n\t"
                     "uxtb16 r6, r6\n\t"
                     "uxtb16 r7, r7\n\t"
                     "orr r11, r6, r7, lsl #8\n\t" MOTE_STEP_FOURS_LEAST
                     "pop {r4-r7}\n\t"
                     "b 2b\n\t");
}
#else
static inline void mote_step_fours(const int32_t *sums, int8_t *weights, uint32_t noise, const int8_t *end,
                                   const mote_step_fours_t *z) {
    for (; weights < end; weights++, sums++, noise += z->next) {
        const int32_t x = mote_high_mul(*sums * ((int32_t)1 << (z->left - 1)), z->mult) >> z->over;
        uint32_t n = (noise ^ noise >> 16) * z->first;
        n = (n ^ n >> 13) * z->second;
        n = (n ^ n >> 16) >> z->rest;
        *weights = mote_clamp((*weights < -127 ? -127 : *weights) - ((x + (int32_t)n) >> z->right), -127, 127);
    }
}
#endif

/* mote_step_weight of `count` weights one after another. */
static inline void mote_step_weights(const mote_step_t *p, const mote_step_channel_t *c, const mote_step_fours_t *z,
                                     const int32_t *sums, int32_t count, int32_t element, int8_t *weights) {
    const int32_t fours = c->right > 0 ? count & ~3 : 0;
    if (fours > 0) {
        int8_t *const to = weights + element;
        mote_step_fours(sums, to, (uint32_t)element * z->next + c->noise, to + fours, z);
    }
    for (int32_t i = fours; i < count; i++) {
        mote_step_weight(p, c, sums[i], element + i, weights);
    }
}

#endif
