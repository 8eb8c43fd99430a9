/* mote_lanes.h: sums -> int8 as the lanes of a vector do it, by the constants of the compiler's pack/lanes.py.
 *
 * The assembly that the compiler writes (helium/requantize.py) does this to four sums at once; here is what it means.
 */
#ifndef MOTE_LANES_H
#define MOTE_LANES_H

#include "mote_common.h"
#include "mote_helium.h"

/* How a layer's sums become bytes. */
typedef struct {
    int32_t scale;  /* line: 2^scale, which sums are multiplied by */
    int32_t zero;   /* twice: the zero point */
    int32_t lo, hi; /* the range of the activation */
    int32_t constants; /* of each channel */
} mote_lanes_t;

#if MOTE_HELIUM
/* A function that the compiler has written. r7 may be the frame pointer, so that the code keeps it, and r11, itself. */
#define MOTE_LANES_CODE(name, call_t, text) \
    MOTE_NOINLINE void name(call_t *call) { \
        register call_t *at __asm__("r0") = call; \
        __asm__ volatile(text \
                         : "+r"(at) \
                         : \
                         : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", "q2", "q3", \
                           "q4", "q5", "q6", "q7", "cc", "memory"); \
    }
#else
/* VQRDMULH: the doubled product's high half, rounded and saturated. */
static inline int32_t mote_double_high(int32_t a, int32_t b) {
    const int64_t high = ((int64_t)a * b + ((int32_t)1 << 30)) >> 31;
    return high > INT32_MAX ? INT32_MAX : (int32_t)high;
}

static inline int32_t mote_saturate16(int64_t x) { return (int32_t)(x < -32768 ? -32768 : x > 32767 ? 32767 : x); }

/* VQRSHRN: shifted to the right, rounded, and saturated to 16 bits. */
static inline int32_t mote_narrow16(int32_t x, int32_t shift) {
    return mote_saturate16(((int64_t)x + ((int64_t)1 << (shift - 1))) >> shift);
}

/* q: what is added, and the multiplier. */
static inline int8_t mote_lane_line(const mote_lanes_t *p, int32_t sum, const int32_t *q, int32_t shift) {
    const int32_t y = (int32_t)((uint32_t)sum * (uint32_t)p->scale + (uint32_t)q[0]);
    return mote_clamp(mote_clamp(mote_narrow16(mote_double_high(y, q[1]), shift), -128, 127), p->lo, p->hi);
}

/* q: what is added, the multiplier, and the shift, to the left. */
static inline int8_t mote_lane_twice(const mote_lanes_t *p, int32_t sum, const int32_t *q, int32_t shift) {
    const int32_t y = mote_wrapping_add(sum, q[0]);
    const int64_t high = (((int64_t)y * q[1] + ((int32_t)1 << 30)) >> 31) + (y < 0 ? -1 : 0);
    const int32_t right = (~q[2] & 31) + 1; /* -q[2], which learned biases may have been added to in hostile images */
    const int64_t rounded = (high + ((int64_t)1 << (right - 1))) >> right;
    (void)shift;
    return mote_clamp(mote_clamp(mote_saturate16(mote_saturate16(rounded) + p->zero), -128, 127), p->lo, p->hi);
}

typedef int8_t mote_lane_t(const mote_lanes_t *p, int32_t sum, const int32_t *q, int32_t shift);
#endif

#endif
