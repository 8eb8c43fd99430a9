/* mote_frames.h: signals that come in pieces: frames that overlap, delays, sums of frames, stacks of them. */
#ifndef MOTE_FRAMES_H
#define MOTE_FRAMES_H

#include "mote_common.h"

typedef struct {
    int32_t more, most;
} mote_frame_count_t;

/* A counter that a caller may have restored as anything. */
static inline void mote_frame_count(const mote_frame_count_t *p, int32_t *heard) {
    const int32_t before = *heard < 0 ? 0 : *heard;
    *heard = before > p->most - p->more ? p->most : before + p->more;
}

typedef struct {
    int32_t signals, frames, size, step;
    int32_t kept, room; /* samples before a step that belong to its frame, and elements that the state has for them */
    int32_t missing;    /* steps at the beginning that have no frame yet */
} mote_framer_t;

/* The frames of one signal: the first samples of those kept and of the step. */
static inline void mote_framer_signal(const mote_framer_t *p, const int16_t *in, int16_t *kept, int32_t heard,
                                      int16_t *out) {
    const size_t old = (size_t)mote_min(p->kept, p->size), fresh = (size_t)p->size - old;
    for (int32_t i = 0; i < p->frames; i++, in += p->step, out += p->size) {
        if (i < p->missing - heard) {
            memset(out, 0, (size_t)p->size * sizeof(int16_t));
        } else {
            memcpy(out, kept, old * sizeof(int16_t));
            memcpy(out + old, in, fresh * sizeof(int16_t));
        }
        const int32_t left = p->kept - p->step;
        if (left > 0) {
            memmove(kept, kept + p->step, (size_t)left * sizeof(int16_t));
            memcpy(kept + left, in, (size_t)p->step * sizeof(int16_t));
        } else {
            memcpy(kept, in + p->step - p->kept, (size_t)p->kept * sizeof(int16_t));
        }
    }
}

/* `heard`: how many steps of a signal came, with these. */
static inline void mote_framer(const mote_framer_t *p, const int16_t *in, int16_t *kept, const int32_t *heard,
                               int16_t *out) {
    const int32_t before = *heard < p->frames ? 0 : *heard - p->frames;
    for (int32_t s = 0; s < p->signals; s++) {
        mote_framer_signal(p, in + s * p->frames * p->step, kept + s * p->room, before, out + s * p->frames * p->size);
    }
}

typedef struct {
    int32_t at, least;
} mote_ready_t;

static inline void mote_ready(const mote_ready_t *p, const int32_t *counters, uint8_t *out) {
    *out = counters[p->at] >= p->least;
}

typedef struct {
    int32_t signals, samples, delay;
} mote_delay_t;

static inline void mote_delay(const mote_delay_t *p, const int16_t *in, int16_t *kept, int16_t *out) {
    const size_t old = (size_t)mote_min(p->delay, p->samples);
    for (int32_t s = 0; s < p->signals; s++, in += p->samples, out += p->samples, kept += p->delay) {
        memcpy(out, kept, old * sizeof(int16_t));
        memcpy(out + old, in, ((size_t)p->samples - old) * sizeof(int16_t));
        memmove(kept, kept + old, ((size_t)p->delay - old) * sizeof(int16_t));
        memcpy(kept + ((size_t)p->delay - old), in + ((size_t)p->samples - old), old * sizeof(int16_t));
    }
}

typedef struct {
    int32_t signals, frames, size, step;
} mote_overlap_add_s16_t;

typedef mote_overlap_add_s16_t mote_overlap_add_f32_t;

static inline int16_t mote_overlap_sum_s16(int16_t a, int16_t b) {
    const int32_t sum = (int32_t)a + b;
    return (int16_t)(sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum);
}

static inline float mote_overlap_sum_f32(float a, float b) { return a + b; }

/* The first `step` sums of a frame and what overlaps it are done; the others move on, and the end of the frame follows. */
#define MOTE_OVERLAP_ADD(suffix, type)                                                                                 \
    MOTE_UNUSED static void mote_overlap_add_##suffix(const mote_overlap_add_##suffix##_t *p, const type *in,          \
                                                      type *sums, type *out) {                                         \
        const int32_t kept = p->size - p->step;                                                                        \
        for (int32_t s = 0; s < p->signals; s++, sums += kept) {                                                       \
            for (int32_t f = 0; f < p->frames; f++, in += p->size) {                                                   \
                for (int32_t i = 0; i < p->step; i++) {                                                                \
                    *out++ = i < kept ? mote_overlap_sum_##suffix(sums[i], in[i]) : in[i];                             \
                }                                                                                                      \
                for (int32_t i = p->step; i < p->size; i++) {                                                          \
                    sums[i - p->step] = i < kept ? mote_overlap_sum_##suffix(sums[i], in[i]) : in[i];                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

typedef struct {
    int32_t left, frames, step;
} mote_stack_count_t;

/* How many frames wait; how new the last stack is, `step` where it is made now, zero where there was none; and whether
 * nothing came yet, the first frame, or others after it. */
static inline void mote_stack_count(const mote_stack_count_t *p, int32_t *counters) {
    const int32_t waiting = counters[0] < p->frames ? counters[0] : p->frames - 1;
    const int32_t age = counters[1] < p->step ? counters[1] : p->step;
    counters[0] = counters[2] == 0 ? p->left + 1 : waiting + 1;
    counters[1] = age > 0 ? age - 1 : 0;
    counters[2] = counters[2] == 0 ? 1 : 2;
    if (counters[0] >= p->frames) {
        counters[0] -= p->step;
        counters[1] = p->step;
    }
}

typedef struct {
    int32_t channels, left, frames, step;
} mote_stacker_t;

/* The frames kept move on by one; the first of all is there `left` times more. The stack begins as many frames behind the
 * first as it is new. */
static inline void mote_stacker(const mote_stacker_t *p, const int16_t *in, int16_t *kept, const int32_t *counters,
                                int16_t *out) {
    const int32_t n = p->channels, last = p->frames + p->step - 2, age = mote_min(counters[1], p->step);
    memmove(kept, kept + n, (size_t)(last * n) * sizeof(int16_t));
    for (int32_t i = counters[2] == 1 ? last - p->left : last; i <= last; i++) {
        memcpy(kept + i * n, in, (size_t)n * sizeof(int16_t));
    }
    if (age > 0) {
        memcpy(out, kept + (age - 1) * n, (size_t)(p->frames * n) * sizeof(int16_t));
    } else {
        memset(out, 0, (size_t)(p->frames * n) * sizeof(int16_t));
    }
}

#endif
