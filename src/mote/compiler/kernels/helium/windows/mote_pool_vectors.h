/* mote_pool_vectors.h: average and maximum pooling over 2x2 and 3x3 windows, with vectors of channels.
 *
 * Windows that lie inside the image are computed pixel after pixel, without gaps where the stride is one; those at its edges
 * as other kernels do. Loops have no rest: the last vector of a pixel has as many lanes as channels are left. */
#ifndef MOTE_POOL_VECTORS_H
#define MOTE_POOL_VECTORS_H

#include "mote_pool_f32.h"
#include "mote_pool_helium_s8.h"
#include "mote_pool_s16.h"

typedef mote_pool_s8_t mote_avg_pool_vectors_s8_t, mote_max_pool_vectors_s8_t;
typedef mote_pool_s16_t mote_avg_pool_vectors_s16_t, mote_max_pool_vectors_s16_t;
typedef mote_pool_f32_t mote_avg_pool_vectors_f32_t, mote_max_pool_vectors_f32_t;

#if MOTE_HELIUM
/* Pixels whose windows begin at `from`: the first seven of their pixels, row by row; two more lie `apart` bytes behind the
 * seventh. Registers r0 to r12 in a loop, but for `terms`, which are in all lanes of q4, q5, q6 and q7. */
typedef struct {
    const void *from[7];
    void *out;
    int32_t apart;
    int32_t channels, pixels;
    int32_t more, out_more; /* from behind a pixel's last vector to the next pixel */
    int32_t terms[4];
} mote_pool_run_t;

#define MOTE_POOL_FUNCTION(name, bits, window, next, finish) \
    __attribute__((naked, noinline, unused)) static void mote_pool_##name(const mote_pool_run_t *run \
                                                                          __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "vpush {d8-d15}\n\t" \
                         "add r1, r0, #52\n\t" \
                         "ldm r1, {r2-r5}\n\t" \
                         "vdup.32 q4, r2\n\t" \
                         "vdup.32 q5, r3\n\t" \
                         "vdup.32 q6, r4\n\t" \
                         "vdup.32 q7, r5\n\t" \
                         "ldm r0, {r0-r12}\n" \
                         "1:\n\t" \
                         "wlstp." bits " lr, r9, 3f\n" \
                         "2:\n\t" window finish "letp lr, 2b\n" \
                         "3:\n\t" next "subs r10, r10, #1\n\t" \
                         "add r7, r7, r12\n\t" \
                         "bne 1b\n\t" \
                         "vpop {d8-d15}\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }

#define MOTE_POOL_MORE(r) "add " r ", " r ", r11\n\t"
#define MOTE_POOL_NEXT_4 MOTE_POOL_MORE("r0") MOTE_POOL_MORE("r1") MOTE_POOL_MORE("r2") MOTE_POOL_MORE("r3")
#define MOTE_POOL_NEXT_9 \
    MOTE_POOL_NEXT_4 MOTE_POOL_MORE("r4") MOTE_POOL_MORE("r5") MOTE_POOL_MORE("r6")

#define MOTE_POOL_TAP(load, bytes, work, q, r) load " " q ", [" r "], #" bytes "\n\t" work " q0, q0, " q "\n\t"
#define MOTE_POOL_WINDOW_4(load, bytes, work) \
    load " q0, [r0], #" bytes "\n\t" MOTE_POOL_TAP(load, bytes, work, "q1", "r1") \
        MOTE_POOL_TAP(load, bytes, work, "q2", "r2") MOTE_POOL_TAP(load, bytes, work, "q3", "r3")
#define MOTE_POOL_WINDOW_9(load, bytes, work) \
    MOTE_POOL_WINDOW_4(load, bytes, work) \
    MOTE_POOL_TAP(load, bytes, work, "q1", "r4") \
    MOTE_POOL_TAP(load, bytes, work, "q2", "r5") load " q3, [r6]\n\t" \
                                                      "add r6, r6, r8\n\t" work " q0, q0, q3\n\t" load " q1, [r6]\n\t" \
                                                      "add r6, r6, r8\n\t" work " q0, q0, q1\n\t" load " q2, [r6], #" bytes \
                                                      "\n\t" \
                                                      "sub r6, r6, r8, lsl #1\n\t" work " q0, q0, q2\n\t"

#define MOTE_POOL_FUNCTIONS(name, bits, load, bytes, work, finish) \
    MOTE_POOL_FUNCTION(name##_4, bits, MOTE_POOL_WINDOW_4(load, bytes, work), MOTE_POOL_NEXT_4, finish) \
    MOTE_POOL_FUNCTION(name##_9, bits, MOTE_POOL_WINDOW_9(load, bytes, work), MOTE_POOL_NEXT_9, finish)

/* q0 divided by as many as there are, halves away from zero: q4 is the inverse, q5 half of the number. */
#define MOTE_POOL_AVERAGE(bits) \
    "vabs.s" bits " q1, q0\n\t" \
    "vadd.i" bits " q1, q1, q5\n\t" \
    "vmulh.u" bits " q1, q1, q4\n\t" \
    "vpt.s" bits " lt, q0, zr\n\t" \
    "vnegt.s" bits " q1, q1\n\t" \
    "vmax.s" bits " q1, q1, q6\n\t" \
    "vmin.s" bits " q1, q1, q7\n\t"
#define MOTE_POOL_MAXIMUM(bits) "vmax.s" bits " q0, q0, q6\n\tvmin.s" bits " q0, q0, q7\n\t"

MOTE_POOL_FUNCTIONS(avg_s8, "16", "vldrb.s16", "8", "vadd.i16", MOTE_POOL_AVERAGE("16") "vstrb.16 q1, [r7], #8\n\t")
MOTE_POOL_FUNCTIONS(avg_s16, "32", "vldrh.s32", "8", "vadd.i32", MOTE_POOL_AVERAGE("32") "vstrh.32 q1, [r7], #8\n\t")
MOTE_POOL_FUNCTIONS(max_s8, "8", "vldrb.u8", "16", "vmax.s8", MOTE_POOL_MAXIMUM("8") "vstrb.8 q0, [r7], #16\n\t")
MOTE_POOL_FUNCTIONS(max_s16, "16", "vldrh.u16", "16", "vmax.s16", MOTE_POOL_MAXIMUM("16") "vstrh.16 q0, [r7], #16\n\t")
#if MOTE_HELIUM_FLOAT
/* The product with the inverse q4 is corrected by what it leaves over of the sum, as a division by q5 rounds. */
MOTE_POOL_FUNCTIONS(avg_f32, "32", "vldrw.u32", "16", "vadd.f32",
                    "vmul.f32 q1, q0, q4\n\t"
                    "vfms.f32 q0, q1, q5\n\t"
                    "vfma.f32 q1, q0, q4\n\t"
                    "vcmp.f32 gt, q6, q1\n\t"
                    "vpsel q1, q6, q1\n\t"
                    "vcmp.f32 gt, q1, q7\n\t"
                    "vpsel q1, q7, q1\n\t"
                    "vstrw.32 q1, [r7], #16\n\t")
MOTE_POOL_FUNCTIONS(max_f32, "32", "vldrw.u32", "16", "vmaxnm.f32",
                    "vmaxnm.f32 q0, q0, q6\n\t"
                    "vminnm.f32 q0, q0, q7\n\t"
                    "vstrw.32 q0, [r7], #16\n\t")
#endif

/* Terms: for averages of n the inverse and half of it, and the limits. */
#define MOTE_POOL_LANES_8(x) (int32_t)((uint32_t)((x) & 0xff) * 0x01010101u)
#define MOTE_POOL_LANES_16(x) (int32_t)((uint32_t)((x) & 0xffff) * 0x00010001u)
#define MOTE_POOL_TERMS_avg_s8(p, n, terms) \
    (terms)[0] = MOTE_POOL_LANES_16((65536 + (n) - 1) / (n)), (terms)[1] = MOTE_POOL_LANES_16((n) / 2), \
    (terms)[2] = MOTE_POOL_LANES_16((p)->lo), (terms)[3] = MOTE_POOL_LANES_16((p)->hi)
#define MOTE_POOL_TERMS_avg_s16(p, n, terms) \
    (terms)[0] = (int32_t)(0xffffffffu / (uint32_t)(n) + 1), (terms)[1] = (n) / 2, (terms)[2] = (p)->lo, \
    (terms)[3] = (p)->hi
#define MOTE_POOL_TERMS_max_s8(p, n, terms) \
    (terms)[0] = 0, (terms)[1] = 0, (terms)[2] = MOTE_POOL_LANES_8((p)->lo), (terms)[3] = MOTE_POOL_LANES_8((p)->hi)
#define MOTE_POOL_TERMS_max_s16(p, n, terms) \
    (terms)[0] = 0, (terms)[1] = 0, (terms)[2] = MOTE_POOL_LANES_16((p)->lo), (terms)[3] = MOTE_POOL_LANES_16((p)->hi)
#define MOTE_POOL_TERMS_avg_f32(p, n, terms) \
    (terms)[0] = (int32_t)mote_bits_of(1.0f / (float)(n)), (terms)[1] = (int32_t)mote_bits_of((float)(n)), \
    (terms)[2] = (int32_t)mote_bits_of((p)->low), (terms)[3] = (int32_t)mote_bits_of((p)->high)
#define MOTE_POOL_TERMS_max_f32 MOTE_POOL_TERMS_avg_f32

/* Pixels *begin to *end - 1 have windows inside of the image, of 2x2 or of 3x3. */
static inline void mote_pool_inside(const mote_span_t *s, const mote_window_t *w, const void *const *rows, int32_t *begin,
                                    int32_t *end) {
    const int32_t last = s->in_size - s->taps + s->pad;
    *begin = (s->pad + s->step - 1) / s->step;
    *end = last < 0 ? 0 : mote_min(last / s->step + 1, s->out_size);
    for (int32_t k = 0; k < w->taps; k++) {
        *end = rows[k] == NULL ? 0 : *end;
    }
    if (w->taps != s->taps || (s->taps != 2 && s->taps != 3) || *begin >= *end) {
        *begin = *end = 0;
    }
}

/* `lanes` values are loaded at once, `size` bytes each. */
static inline void mote_pool_begin(mote_pool_run_t *run, const mote_span_t *s, int32_t channels, int32_t pixels,
                                   int32_t lanes, int32_t size) {
    const int32_t taken = (channels + lanes - 1) / lanes * lanes;
    run->channels = s->step == 1 ? pixels * channels : channels;
    run->pixels = s->step == 1 ? 1 : pixels;
    run->apart = channels * size;
    run->more = (s->step * channels - taken) * size;
    run->out_more = (channels - taken) * size;
}

#define MOTE_POOL_ROWS(kind, type, suffix, lanes) \
    static inline void mote_##kind##_pool_inside_##suffix(const mote_##kind##_pool_##suffix##_t *p, \
                                                          const type *const *rows, type *out, int32_t begin, int32_t end) { \
        const mote_span_t *s = &p->cols; \
        const int32_t taps = s->taps; \
        mote_pool_run_t run; \
        for (int32_t i = 0; i < 7; i++) { \
            const int32_t k = mote_min(i / taps, taps - 1); \
            run.from[i] = rows[k] + (begin * s->step - s->pad + i % taps) * p->channels; \
        } \
        mote_pool_begin(&run, s, p->channels, end - begin, lanes, (int32_t)sizeof(type)); \
        run.out = out + begin * p->channels; \
        MOTE_POOL_TERMS_##kind##_##suffix(p, taps * taps, run.terms); \
        if (taps == 2) { \
            mote_pool_##kind##_##suffix##_4(&run); \
        } else { \
            mote_pool_##kind##_##suffix##_9(&run); \
        } \
    }
#define MOTE_POOL_INSIDE(kind, suffix, p, rows, out, begin, end) \
    mote_pool_inside(&(p)->cols, &(p)->rows, (const void *const *)(rows), &begin, &end); \
    if (begin < end) { \
        mote_##kind##_pool_inside_##suffix(p, rows, out, begin, end); \
    }
#else
#define MOTE_POOL_ROWS(kind, type, suffix, lanes)
#define MOTE_POOL_INSIDE(kind, suffix, p, rows, out, begin, end)
#endif

/* `pixels(p, rows, out, begin, end)` computes pixels anywhere. */
#define MOTE_POOL_VECTORS(kind, type, suffix, lanes, pixels) \
    MOTE_POOL_ROWS(kind, type, suffix, lanes) \
    static inline void mote_##kind##_pool_vectors_##suffix##_row(const mote_##kind##_pool_vectors_##suffix##_t *p, \
                                                                 const type *const *rows, type *out) { \
        int32_t begin = 0, end = 0; \
        MOTE_POOL_INSIDE(kind, suffix, p, rows, out, begin, end) \
        pixels(p, rows, out, 0, begin); \
        pixels(p, rows, out, end, p->cols.out_size); \
    } \
\
    MOTE_BY_ROWS(kind##_pool_vectors_##suffix, type, type, suffix, rows)

#define MOTE_POOL_AVERAGES_S8(p, rows, out, begin, end) \
    mote_pool_helium_pixels(p, rows, out, mote_avg_pool_16, 1, begin, end)
#define MOTE_POOL_MAXIMA_S8(p, rows, out, begin, end) \
    mote_pool_helium_pixels(p, rows, out, mote_max_pool_16, 0, begin, end)

MOTE_POOL_VECTORS(avg, int8_t, s8, 8, MOTE_POOL_AVERAGES_S8)
MOTE_POOL_VECTORS(max, int8_t, s8, 16, MOTE_POOL_MAXIMA_S8)
MOTE_POOL_VECTORS(avg, int16_t, s16, 4, mote_avg_pool_s16_pixels)
MOTE_POOL_VECTORS(max, int16_t, s16, 8, mote_max_pool_s16_pixels)
MOTE_POOL_VECTORS(avg, float, f32, 4, mote_avg_pool_f32_pixels)
MOTE_POOL_VECTORS(max, float, f32, 4, mote_max_pool_f32_pixels)

#endif
