/* mote_depthwise_planes_code_s8.h: mote_depthwise_planes_s8.h with all windows of a channel in one call: assembly that
 * was made for a layer (scalar/depthwise_assembly.py), or loops. Any run of channels can be computed, so that two cores
 * share a layer. */
#ifndef MOTE_DEPTHWISE_PLANES_CODE_S8_H
#define MOTE_DEPTHWISE_PLANES_CODE_S8_H

#include "mote_depthwise_planes_s8.h"

/* mote_lanes_code_ID: all windows of the channel whose first one `t` has. mote_lanes_plane_ID: a channel's words, the
 * first one of the first column inside of the image at `to`. */
#define MOTE_LANES_LOOPS(form, id) \
    MOTE_NOINLINE void mote_lanes_code_##id(mote_lanes_windows_t *t, const mote_depthwise_planes_t *p) { \
        const int32_t half = p->rows.out_rows / 2, height = mote_lanes_height(p); \
        const uint32_t *from = t->x; \
        int8_t *to = t->upper; \
        for (int32_t x = p->cols.out_size; x > 0; x--, from += p->cols.step * height, to += p->channels) { \
            t->x = from; \
            t->upper = to; \
            t->lower = to + half * p->rows.out_stride; \
            t->left = p->rows.out_rows - half; \
            MOTE_LANES_RUN(form, t); \
        } \
    } \
    static inline void mote_lanes_plane_##id(const int8_t *image, uint32_t *to, int32_t zero, \
                                             const mote_depthwise_planes_t *p) { \
        (void)zero; \
        mote_lanes_plane(p, image, mote_lanes_height(p), p->rows.out_rows / 2 * p->rows.step, to); \
    }

#if defined(__thumb__) && !defined(__thumb2__) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
#define MOTE_LANES_CODE(form, id, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_lanes_code_##id( \
        mote_lanes_windows_t *t __attribute__((unused)), \
        const mote_depthwise_planes_t *p __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#define MOTE_LANES_PLANE_CODE(id, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_lanes_plane_##id( \
        const int8_t *image __attribute__((unused)), uint32_t *to __attribute__((unused)), \
        int32_t zero __attribute__((unused)), const mote_depthwise_planes_t *p __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#else
#define MOTE_LANES_CODE(form, id, text) MOTE_LANES_LOOPS(form, id)
#define MOTE_LANES_PLANE_CODE(id, text)
#endif

/* Channels lo..hi-1. Lists of spilled weights differ in length, so that those of channels before them are passed. */
#define MOTE_DEPTHWISE_PLANES_CHANNELS(form, id) \
    typedef mote_depthwise_planes_t mote_depthwise_planes_channels_##id##_t; \
    MOTE_NOINLINE MOTE_HOT void mote_depthwise_planes_channels_##id(const mote_depthwise_planes_t *p, const int8_t *in, \
                                                                    int8_t *out, int32_t lo, int32_t hi, \
                                                                    mote_any_t scratch) { \
        const int32_t height = mote_lanes_height(p); \
        uint32_t *const w = (uint32_t *)scratch, *const words = w + p->taps; \
        for (int32_t image = p->images; image > 0; image--) { \
            mote_lanes_windows_t t = mote_lanes_begin(p, height, w); \
            const int32_t *q = p->channel + lo * MOTE_LANES_CONSTANTS_##form; \
            t.step = 4 * p->rows.step; \
            t.pixel = p->rows.out_stride; \
            for (int32_t n = 0; n < lo; n++) { \
                t.spill += 1 + 2 * *t.spill; \
            } \
            for (int32_t n = lo, input = lo / p->multiplier, copy = lo % p->multiplier; n < hi; \
                 n++, q += MOTE_LANES_CONSTANTS_##form) { \
                mote_lanes_next(p, &t, q, p->weights + n * p->taps, w); \
                if (copy == 0 || n == lo) { \
                    mote_lanes_plane_##id(in + input, words + p->cols.pad * height, p->in_zero, p); \
                } \
                t.x = words; \
                t.upper = out + n; \
                mote_lanes_code_##id(&t, p); \
                t.spill += 1 + 2 * *t.spill; \
                copy++; \
                if (copy == p->multiplier) { \
                    copy = 0; \
                    input++; \
                } \
            } \
            in += p->rows.in_rows * p->rows.in_stride; \
            out += p->rows.out_rows * p->rows.out_stride; \
        } \
    }

#define MOTE_DEPTHWISE_PLANES_CODE(form, id) \
    typedef mote_depthwise_planes_t mote_depthwise_planes_##id##_t; \
    static inline void mote_depthwise_planes_##id(const mote_depthwise_planes_t *p, const int8_t *in, int8_t *out, \
                                                  mote_any_t scratch) { \
        mote_depthwise_planes_channels_##id(p, in, out, 0, p->channels, scratch); \
    }

#endif
