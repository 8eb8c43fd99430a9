/* mote_block_f32_helium.h: mote_block_f32.h, which includes it, with vectors. */
#ifndef MOTE_BLOCK_F32_HELIUM_H
#define MOTE_BLOCK_F32_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM_FLOAT
/* A register holds the sums of a pixel. Here two of them get two products each. */
#define MOTE_BLOCK_TWO(x, y, q, r) \
    "ldrd %[a], %[b], [" x "], #8\n\t" \
    "ldrd %[c], %[d], [" y "], #8\n\t" \
    "vfma.f32 " q ", q4, %[a]\n\t" \
    "vfma.f32 " r ", q4, %[c]\n\t" \
    "vfma.f32 " q ", q5, %[b]\n\t" \
    "vfma.f32 " r ", q5, %[d]\n\t"

#define MOTE_BLOCK_LOAD_SUMS \
    "vldrw.u32 q0, [%[sums]]\n\t" \
    "vldrw.u32 q1, [%[sums], #16]\n\t" \
    "vldrw.u32 q2, [%[sums], #32]\n\t" \
    "vldrw.u32 q3, [%[sums], #48]\n\t"

#define MOTE_BLOCK_STORE_SUMS \
    "vstrw.32 q0, [%[sums]]\n\t" \
    "vstrw.32 q1, [%[sums], #16]\n\t" \
    "vstrw.32 q2, [%[sums], #32]\n\t" \
    "vstrw.32 q3, [%[sums], #48]\n\t"

/* The next weights of four channels, and in which register their address is. */
#define MOTE_BLOCK_WEIGHTS_f32(q) "vldrw.u32 " #q ", [%[w]], #16\n\t"
#define MOTE_BLOCK_AT_f32 "+&r"

#define MOTE_BLOCK_HELIUM(kind, weight_t) \
    MOTE_ALWAYS_INLINE void mote_block4_##kind(const float *x, int32_t apart, const weight_t *w, int32_t n, \
                                               float *sums) { \
        const float *x1 = x + apart, *x2 = x1 + apart, *x3 = x2 + apart; \
        int32_t a, b, c, d; \
        __asm__ volatile( \
            MOTE_BLOCK_LOAD_SUMS \
            "lsr %[a], %[n], #1\n\t" \
            "wls lr, %[a], 2f\n\t" \
            "1:\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind(q4) \
            MOTE_BLOCK_WEIGHTS_##kind(q5) MOTE_BLOCK_TWO("%[x]", "%[x1]", "q0", "q1") \
                MOTE_BLOCK_TWO("%[x2]", "%[x3]", "q2", "q3") "le lr, 1b\n\t" \
            "2:\n\t" \
            "tst %[n], #1\n\t" \
            "beq 3f\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind(q4) \
            "ldr %[a], [%[x]]\n\t" \
            "ldr %[b], [%[x1]]\n\t" \
            "ldr %[c], [%[x2]]\n\t" \
            "ldr %[d], [%[x3]]\n\t" \
            "vfma.f32 q0, q4, %[a]\n\t" \
            "vfma.f32 q1, q4, %[b]\n\t" \
            "vfma.f32 q2, q4, %[c]\n\t" \
            "vfma.f32 q3, q4, %[d]\n\t" \
            "3:\n\t" MOTE_BLOCK_STORE_SUMS \
            : [x] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] MOTE_BLOCK_AT_##kind(w), [a] "=&r"(a), [b] "=&r"(b), \
              [c] "=&r"(c), [d] "=&r"(d) \
            : [n] "r"(n), [sums] "r"(sums) \
            : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory"); \
    } \
\
    MOTE_ALWAYS_INLINE void mote_block1_##kind(const float *x, const weight_t *w, int32_t n, float *sums) { \
        int32_t a, b; \
        __asm__ volatile( \
            "vldrw.u32 q0, [%[sums]]\n\t" \
            "lsr %[a], %[n], #1\n\t" \
            "wls lr, %[a], 2f\n\t" \
            "1:\n\t" \
            "ldrd %[a], %[b], [%[x]], #8\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind(q4) \
            "vfma.f32 q0, q4, %[a]\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind(q5) \
            "vfma.f32 q0, q5, %[b]\n\t" \
            "le lr, 1b\n\t" \
            "2:\n\t" \
            "tst %[n], #1\n\t" \
            "beq 3f\n\t" \
            "ldr %[a], [%[x]]\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind(q4) \
            "vfma.f32 q0, q4, %[a]\n\t" \
            "3:\n\t" \
            "vstrw.32 q0, [%[sums]]\n\t" \
            : [x] "+&r"(x), [w] MOTE_BLOCK_AT_##kind(w), [a] "=&r"(a), [b] "=&r"(b) \
            : [n] "r"(n), [sums] "r"(sums) \
            : "lr", "q0", "q4", "q5", "cc", "memory"); \
    } \
\
    MOTE_ALWAYS_INLINE void mote_taps4_##kind(const float *x, int32_t apart, int32_t step, const weight_t *w, \
                                              int32_t n, float *sums) { \
        const float *x1 = x + apart, *x2 = x1 + apart, *x3 = x2 + apart; \
        __asm__ volatile( \
            MOTE_BLOCK_LOAD_SUMS \
            "dls lr, %[n]\n\t" \
            "1:\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind(q4) \
            "vldrw.u32 q5, [%[x]]\n\t" \
            "add %[x], %[x], %[step]\n\t" \
            "vfma.f32 q0, q4, q5\n\t" \
            "vldrw.u32 q6, [%[x1]]\n\t" \
            "add %[x1], %[x1], %[step]\n\t" \
            "vfma.f32 q1, q4, q6\n\t" \
            "vldrw.u32 q5, [%[x2]]\n\t" \
            "add %[x2], %[x2], %[step]\n\t" \
            "vfma.f32 q2, q4, q5\n\t" \
            "vldrw.u32 q6, [%[x3]]\n\t" \
            "add %[x3], %[x3], %[step]\n\t" \
            "vfma.f32 q3, q4, q6\n\t" \
            "le lr, 1b\n\t" MOTE_BLOCK_STORE_SUMS \
            : [x] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] MOTE_BLOCK_AT_##kind(w) \
            : [step] "r"(4 * step), [n] "r"(n), [sums] "r"(sums) \
            : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "cc", "memory"); \
    } \
\
    MOTE_ALWAYS_INLINE void mote_taps1_##kind(const float *x, int32_t step, const weight_t *w, int32_t n, \
                                              float *sums) { \
        __asm__ volatile( \
            "vldrw.u32 q0, [%[sums]]\n\t" \
            "dls lr, %[n]\n\t" \
            "1:\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind(q4) \
            "vldrw.u32 q5, [%[x]]\n\t" \
            "add %[x], %[x], %[step]\n\t" \
            "vfma.f32 q0, q4, q5\n\t" \
            "le lr, 1b\n\t" \
            "vstrw.32 q0, [%[sums]]\n\t" \
            : [x] "+&r"(x), [w] MOTE_BLOCK_AT_##kind(w) \
            : [step] "r"(4 * step), [n] "r"(n), [sums] "r"(sums) \
            : "lr", "q0", "q4", "q5", "cc", "memory"); \
    }

MOTE_BLOCK_HELIUM(f32, float)

MOTE_ALWAYS_INLINE void mote_block_finish(float *sums, const float *bias, float low, float high, float *out,
                                          int32_t channels, int32_t pixels) {
    __asm__ volatile(
        "vldrw.u32 q1, [%[bias]]\n\t"
        "vdup.32 q2, %[low]\n\t"
        "vdup.32 q3, %[high]\n\t"
        "vmov.i32 q4, #0\n\t"
        "dls lr, %[pixels]\n\t"
        "1:\n\t"
        "vldrw.u32 q0, [%[sums]]\n\t"
        "vstrw.32 q4, [%[sums]], #16\n\t"
        "vadd.f32 q0, q0, q1\n\t" MOTE_FOUR_CLAMP
        "vstrw.32 q0, [%[out]]\n\t"
        "add %[out], %[out], %[step]\n\t"
        "le lr, 1b\n\t"
        : [sums] "+&r"(sums), [out] "+&r"(out)
        : [bias] "r"(bias), [low] "r"(low), [high] "r"(high), [step] "r"(4 * channels), [pixels] "r"(pixels)
        : "lr", "q0", "q1", "q2", "q3", "q4", "cc", "memory");
}
#define mote_block4_f32 mote_block4_f32
#endif

#endif
