/* mote_step_zeros.h: steps of int8 weights, most of which are zero, for cores with DSP instructions. */
#ifndef MOTE_STEP_ZEROS_H
#define MOTE_STEP_ZEROS_H

#include "mote_steps_s8.h"

/* Steps to the right, of four weights at once. */
typedef struct {
    int32_t right, rest, mult, left; /* the last shift, 32 less that, and the shift of sums, which is one more */
    uint32_t first, second, next;    /* factors of the hash, and what comes from one element to the next */
    int32_t over;                    /* shift before that: of numbers that are shifted further than noise has bits */
} mote_step_zeros_t;

static inline mote_step_zeros_t mote_step_zeros_of(const mote_step_channel_t *c, int32_t left) {
    mote_step_zeros_t z;
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

#if MOTE_DSP
#define MOTE_STEP_ZEROS_ONE(sum) \
    "ldr " sum ", [r0], #4\n\t" \
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

/* Goes through fours of weights up to `end`, or up to those whose steps are not all zero, and returns where that is: -128
 * becomes -127. 62 instructions for four. */
__attribute__((naked, noinline, unused)) static int8_t *mote_step_zeros(
    const int32_t *sums __attribute__((unused)), int8_t *weights __attribute__((unused)),
    uint32_t noise __attribute__((unused)), const int8_t *end __attribute__((unused)),
    const mote_step_zeros_t *z __attribute__((unused))) {
    __asm__ volatile("push {r3-r11, lr}\n\t"
                     "ldr r12, [sp, #40]\n\t"
                     "ldm r12, {r3-r10}\n"
                     "1:\n\t" MOTE_STEP_ZEROS_ONE("r11") MOTE_STEP_ZEROS_ONE("r12") "orr r11, r11, r12\n\t"
                     MOTE_STEP_ZEROS_ONE("r12") "orr r11, r11, r12\n\t"
                     MOTE_STEP_ZEROS_ONE("r12") "orr r11, r11, r12\n\t"
                     "mov r12, #0x81818181\n\t"
                     "asrs r11, r11, r3\n\t"
                     "bne 2f\n\t"
                     "ldr r11, [r1]\n\t"
                     "ssub8 lr, r11, r12\n\t"
                     "sel r11, r11, r12\n\t"
                     "str r11, [r1], #4\n\t"
                     "ldr r12, [sp]\n\t"
                     "cmp r1, r12\n\t"
                     "bne 1b\n"
                     "2:\n\t"
                     "mov r0, r1\n\t"
                     "pop {r3-r11, pc}\n\t");
}
#else
static inline int8_t *mote_step_zeros(const int32_t *sums, int8_t *weights, uint32_t noise, const int8_t *end,
                                      const mote_step_zeros_t *z) {
    for (; weights < end; weights += 4, sums += 4) {
        for (int32_t i = 0; i < 4; i++, noise += z->next) {
            uint32_t n = (noise ^ noise >> 16) * z->first;
            n = (n ^ n >> 13) * z->second;
            n = (n ^ n >> 16) >> z->rest;
            if (((mote_high_mul(sums[i] * ((int32_t)1 << (z->left - 1)), z->mult) >> z->over) + (int32_t)n) >> z->right != 0) {
                return weights;
            }
        }
        for (int32_t i = 0; i < 4; i++) {
            weights[i] = weights[i] < -127 ? -127 : weights[i];
        }
    }
    return weights;
}
#endif

/* mote_step_weight of `count` weights one after another. */
static inline void mote_step_weights(const mote_step_t *p, const mote_step_channel_t *c, const mote_step_zeros_t *z,
                                     const int32_t *sums, int32_t count, int32_t element, int8_t *weights) {
    const int32_t fours = c->right > 0 ? count & ~3 : 0;
    int8_t *const to = weights + element;
    for (int32_t i = 0; i < count;) {
        int32_t next = count;
        if (i < fours) {
            const uint32_t noise = (uint32_t)(element + i) * z->next + c->noise;
            i = (int32_t)(mote_step_zeros(sums + i, to + i, noise, to + fours, z) - to);
            next = i < fours ? i + 4 : fours;
        }
        for (; i < next; i++) {
            mote_step_weight(p, c, sums[i], element + i, weights);
        }
    }
}

#endif
