/* mote_scores.h: scores of a model over time, and decisions made of them: averages, events, the best class, thresholds.
 *
 * `T` is the type of the scores, `N` that of averages and results: int32_t for all integers, else float. Counters in states
 * may have been restored as anything. */
#ifndef MOTE_SCORES_H
#define MOTE_SCORES_H

#include "mote_common.h"

static inline int32_t mote_scores_bounded(int32_t counter, int32_t most) {
    return counter < 0 ? 0 : counter > most ? most : counter;
}

/* Sums of the last `count` scores. */
typedef struct {
    int32_t count, size;
} mote_moving_average_t;

static inline int32_t mote_moving_average_turn(const mote_moving_average_t *p, int32_t *position) {
    const int32_t at = *position >= 0 && *position < p->count ? *position : 0;
    *position = at + 1 < p->count ? at + 1 : 0;
    return at;
}

/* `sums`: the position in the ring, then the sums. */
#define MOTE_MOVING_AVERAGE(suffix, T)                                                                                     \
    typedef mote_moving_average_t mote_moving_average_##suffix##_t;                                                               \
    MOTE_UNUSED static void mote_moving_average_##suffix(const mote_moving_average_t *p, const T *in, T *ring, int32_t *sums,     \
                                                         int32_t *out) {                                                   \
        T *line = ring + mote_moving_average_turn(p, sums) * p->size;                                                             \
        sums++;                                                                                                            \
        for (int32_t i = 0; i < p->size; i++) {                                                                            \
            sums[i] = mote_wrapping_add(sums[i], (int32_t)in[i] - line[i]);                                                \
            line[i] = in[i];                                                                                               \
            out[i] = sums[i];                                                                                              \
        }                                                                                                                  \
    }

typedef struct {
    int32_t count, size;
    float share;
} mote_moving_average_f32_t;

static inline void mote_moving_average_f32(const mote_moving_average_f32_t *p, const float *in, float *ring,
                                           int32_t *position, float *out) {
    const mote_moving_average_t turn = {p->count, p->size};
    memcpy(ring + mote_moving_average_turn(&turn, position) * p->size, in, (size_t)p->size * sizeof(float));
    for (int32_t i = 0; i < p->size; i++) {
        float sum = 0.0f;
        for (int32_t k = 0; k < p->count; k++) {
            sum += ring[k * p->size + i];
        }
        out[i] = sum * p->share;
    }
}

/* before + (new - before) * weight / 2^15, where averages have `fraction` bits more than scores less `zero`. */
typedef struct {
    int32_t size, zero, fraction, weight;
} mote_exponential_average_t;

#define MOTE_EXPONENTIAL_AVERAGE(suffix, T)                                                                                \
    typedef mote_exponential_average_t mote_exponential_average_##suffix##_t;                                              \
    MOTE_UNUSED static void mote_exponential_average_##suffix(const mote_exponential_average_t *p, const T *in,            \
                                                              int32_t *average, int32_t *out) {                            \
        for (int32_t i = 0; i < p->size; i++) {                                                                            \
            const int64_t change = ((int64_t)in[i] - p->zero) * ((int32_t)1 << p->fraction) - average[i];                  \
            const int64_t step = (change * p->weight + ((int32_t)1 << 14)) >> 15;                                          \
            average[i] = (int32_t)((uint32_t)average[i] + (uint32_t)step);                                                 \
            out[i] = average[i];                                                                                           \
        }                                                                                                                  \
    }

typedef struct {
    int32_t size;
    float share;
} mote_exponential_average_f32_t;

static inline void mote_exponential_average_f32(const mote_exponential_average_f32_t *p, const float *in, float *average,
                                                float *out) {
    for (int32_t i = 0; i < p->size; i++) {
        average[i] = mote_add_product_f32(average[i], in[i] - average[i], p->share);
        out[i] = average[i];
    }
}

static inline int32_t mote_scores_ones(uint32_t bits) {
    int32_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

/* `state`: bits of recent scores above the threshold; 1 + how many are below the release level while an event is active;
 * how many more inferences begin no event. `out`: whether an event begins, its class, the score, whether one is active. */
#define MOTE_DETECT(suffix, T, N)                                                                                          \
    typedef struct {                                                                                                       \
        int32_t place, hold, refractory, least, window;                                                                    \
        N above, release;                                                                                                  \
    } mote_detect_##suffix##_t;                                                                                            \
    MOTE_UNUSED static void mote_detect_##suffix(const mote_detect_##suffix##_t *p, const T *in, int32_t *state, N *out) { \
        const T score = in[p->place];                                                                                      \
        const uint32_t over = score > p->above, recent = ((uint32_t)state[0] << 1 | over) & (((uint32_t)1 << p->window) - 1); \
        int32_t low = mote_scores_bounded(state[1], p->hold + 1);                                                          \
        int32_t wait = mote_scores_bounded(state[2], p->refractory);                                                       \
        const int32_t event = low == 0 && over && wait == 0 && mote_scores_ones(recent) >= p->least;                       \
        state[0] = low == 0 && !event ? (int32_t)recent : 0;                                                               \
        if (low > 0) {                                                                                                     \
            low = score > p->release ? 1 : low <= p->hold ? low + 1 : 0;                                                   \
        }                                                                                                                  \
        low = event ? 1 : low;                                                                                             \
        wait = wait > 0 ? wait - 1 : 0;                                                                                    \
        state[1] = low;                                                                                                    \
        state[2] = event ? p->refractory : wait;                                                                           \
        out[0] = (N)event;                                                                                                 \
        out[1] = (N)(low > 0 ? p->place : -1);                                                                             \
        out[2] = score;                                                                                                    \
        out[3] = (N)(low > 0);                                                                                             \
    }

/* The first of the highest scores, or -1; `wait`: how many more inferences give none. */
#define MOTE_BEST_CLASS(suffix, T, N)                                                                                      \
    typedef struct {                                                                                                       \
        int32_t size, refractory, background;                                                                              \
        N above;                                                                                                           \
    } mote_best_class_##suffix##_t;                                                                                        \
    MOTE_UNUSED static void mote_best_class_##suffix(const mote_best_class_##suffix##_t *p, const T *in, int32_t *wait,    \
                                                     N *out) {                                                             \
        int32_t best = 0;                                                                                                  \
        for (int32_t i = 1; i < p->size; i++) {                                                                            \
            best = in[i] > in[best] ? i : best;                                                                            \
        }                                                                                                                  \
        const int32_t left = mote_scores_bounded(*wait, p->refractory);                                                    \
        const int32_t given = left == 0 && best != p->background && in[best] > p->above;                                   \
        *wait = given ? p->refractory : left > 0 ? left - 1 : 0;                                                           \
        out[0] = (N)(given ? best : -1);                                                                                   \
        out[1] = in[best];                                                                                                 \
    }

/* Pairs: whether a score is above the threshold, and the score. */
#define MOTE_THRESHOLD(suffix, T, N)                                                                                       \
    typedef struct {                                                                                                       \
        N above;                                                                                                           \
    } mote_threshold_##suffix##_t;                                                                                         \
    MOTE_UNUSED static void mote_threshold_##suffix(const mote_threshold_##suffix##_t *p, const T *in, N *out, int32_t n) { \
        for (; n > 0; n--, out += 2) {                                                                                     \
            const T score = *in++;                                                                                         \
            out[0] = (N)(score > p->above);                                                                                \
            out[1] = score;                                                                                                \
        }                                                                                                                  \
    }

#endif
