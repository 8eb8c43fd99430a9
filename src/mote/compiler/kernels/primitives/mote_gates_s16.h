/* mote_gates_s16.h: the gates of an integer LSTM, runs of 16-bit fixed-point numbers, and what they make of its cells. */
#ifndef MOTE_GATES_S16_H
#define MOTE_GATES_S16_H

#include "mote_fixed_s16.h"
#include "mote_gates_s16_helium.h"
#include "mote_gates_s16_dsp.h"

/* mote_logistic_s16 of n numbers, in their place. */
#ifndef mote_logistic_run_s16
static inline void mote_logistic_run_s16(int16_t *x, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        x[i] = (int16_t)mote_logistic_s16(x[i]);
    }
}
#endif

/* mote_tanh_s16 of n numbers; y may be x. */
#ifndef mote_tanh_run_s16
static inline void mote_tanh_run_s16(const int16_t *x, int32_t bits, int16_t *y, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        y[i] = (int16_t)mote_tanh_s16(x[i], bits);
    }
}
#endif

/* Cells with `bits` bits before the point, of which `kept` is the share that stays and `given` that of what is new. */
#ifndef mote_cells_run_s16
static inline void mote_cells_run_s16(const int16_t *kept, const int16_t *given, const int16_t *fresh, int16_t *cell,
                                      int32_t n, int32_t bits, int32_t clip) {
    for (int32_t i = 0; i < n; i++) {
        const int32_t old = mote_shift_right((int32_t)kept[i] * cell[i], 14);
        const int32_t y = mote_saturate_s16(old + mote_shift_right((int32_t)given[i] * fresh[i], 14 + bits));
        cell[i] = (int16_t)(y < -clip ? -clip : y > clip ? clip : y);
    }
}
#endif

/* The products of n gates and the cells behind them, rescaled and with `zero` added. */
#ifndef mote_shown_run_s16
static inline void mote_shown_run_s16(const int16_t *gate, const int16_t *cell, int8_t *out, int32_t n, int32_t mult,
                                      int32_t shift, int32_t zero) {
    for (int32_t i = 0; i < n; i++) {
        out[i] = mote_clamp(mote_wrapping_add(mote_rescale((int32_t)gate[i] * cell[i], mult, shift), zero), -128, 127);
    }
}
#endif

#endif
