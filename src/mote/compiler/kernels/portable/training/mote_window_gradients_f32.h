/* mote_window_gradients_f32.h: gradients of convolutions and pooling of any window: of the images, and of the weights.
 *
 * Sums are kept where the results lie. Products are added to them four at a time, so that what is loaded and stored of
 * a sum serves four. */
#ifndef MOTE_WINDOW_GRADIENTS_F32_H
#define MOTE_WINDOW_GRADIENTS_F32_H

#include "mote_common.h"

/* Spans from images, of `channels`, to what the layer made of them, of `outputs`. */
typedef struct {
    int32_t images;
    mote_span_t rows, cols;
    int32_t channels, outputs;
} mote_window_gradient_t;
typedef mote_window_gradient_t mote_conv_input_gradient_f32_t, mote_conv_weight_gradient_f32_t;
typedef mote_window_gradient_t mote_depthwise_input_gradient_f32_t, mote_depthwise_weight_gradient_f32_t;
typedef mote_window_gradient_t mote_average_pool_gradient_f32_t, mote_max_pool_gradient_f32_t;

/* Adds to n sums: of `count` factors, `step` apart, each with its vector, `pitch` apart. */
MOTE_NOINLINE MOTE_HOT void mote_add_vectors_f32(float *sums, const float *factors, int32_t step, const float *vectors,
                                                 int32_t pitch, int32_t count, int32_t n) {
    for (; count >= 4; count -= 4, factors += 4 * step, vectors += 4 * pitch) {
        const float a = factors[0], b = factors[step], c = factors[2 * step], d = factors[3 * step];
        const float *x = vectors, *y = x + pitch, *z = y + pitch, *w = z + pitch;
        for (int32_t i = 0; i < n; i++) {
            float sum = mote_add_product_f32(sums[i], a, x[i]);
            sum = mote_add_product_f32(sum, b, y[i]);
            sum = mote_add_product_f32(sum, c, z[i]);
            sums[i] = mote_add_product_f32(sum, d, w[i]);
        }
    }
    for (; count > 0; count--, factors += step, vectors += pitch) {
        const float a = factors[0];
        for (int32_t i = 0; i < n; i++) {
            sums[i] = mote_add_product_f32(sums[i], a, vectors[i]);
        }
    }
}

static inline void mote_zeros_f32(float *out, int32_t n) {
    for (; n > 0; n--) {
        *out++ = 0.0f;
    }
}

/* The row of the gradient whose window has row y of an image at tap k, -1 where there is none. */
static inline int32_t mote_gradient_row(const mote_span_t *s, int32_t y, int32_t k) {
    const int32_t at = y + s->pad - k * s->spread;
    return at >= 0 && at % s->step == 0 && at / s->step < s->out_size ? at / s->step : -1;
}

/* The positions lo..hi-1 at which tap t reads a column of the image. */
static inline int32_t mote_tap_lo(const mote_span_t *s, int32_t t) {
    const int32_t before = s->pad - t * s->spread;
    return before > 0 ? (before + s->step - 1) / s->step : 0;
}

static inline int32_t mote_tap_hi(const mote_span_t *s, int32_t t) {
    const int32_t last = s->in_size - 1 + s->pad - t * s->spread;
    return last < 0 ? 0 : mote_min(last / s->step + 1, s->out_size);
}

/* One row of the gradient, by the weights of one row of the window, to a row of the images. */
static inline void mote_conv_input_gradient_line_f32(const mote_window_gradient_t *p, const float *gradient,
                                                     const float *weights, float *out) {
    const mote_span_t *s = &p->cols;
    const int32_t pitch = p->rows.taps * s->taps * p->channels;
    for (int32_t x = 0; x < s->out_size; x++, gradient += p->outputs) {
        const int32_t first = x * s->step - s->pad, lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const int32_t joined = s->spread == 1 ? hi - lo : 1;
        for (int32_t t = lo; t < hi; t += joined) {
            mote_add_vectors_f32(out + (first + t * s->spread) * p->channels, gradient, 1, weights + t * p->channels, pitch,
                                 p->outputs, joined * p->channels);
        }
    }
}

static inline void mote_conv_input_gradient_f32(const mote_window_gradient_t *p, const float *gradient,
                                                const float *weights, float *out) {
    const int32_t line = p->cols.out_size * p->outputs, pixels = p->cols.in_size * p->channels;
    for (int32_t image = 0; image < p->images; image++, gradient += p->rows.out_size * line) {
        for (int32_t y = 0; y < p->rows.in_size; y++, out += pixels) {
            mote_zeros_f32(out, pixels);
            for (int32_t k = 0; k < p->rows.taps; k++) {
                const int32_t row = mote_gradient_row(&p->rows, y, k);
                if (row >= 0) {
                    mote_conv_input_gradient_line_f32(p, gradient + row * line, weights + k * p->cols.taps * p->channels, out);
                }
            }
        }
    }
}

/* `multiplier` outputs are made from each channel. */
static inline void mote_depthwise_input_gradient_line_f32(const mote_window_gradient_t *p, const float *gradient,
                                                          const float *weights, float *out) {
    const mote_span_t *s = &p->cols;
    const int32_t multiplier = p->outputs / p->channels;
    for (int32_t x = 0; x < s->out_size; x++, gradient += p->outputs) {
        const int32_t first = x * s->step - s->pad, hi = mote_span_hi(s, first);
        for (int32_t t = mote_span_lo(s, first); t < hi; t++) {
            const float *w = weights + t * p->outputs, *g = gradient;
            float *sums = out + (first + t * s->spread) * p->channels;
            for (int32_t c = 0; c < p->channels; c++) {
                float sum = sums[c];
                for (int32_t m = 0; m < multiplier; m++) {
                    sum = mote_add_product_f32(sum, *g++, *w++);
                }
                sums[c] = sum;
            }
        }
    }
}

static inline void mote_depthwise_input_gradient_f32(const mote_window_gradient_t *p, const float *gradient,
                                                     const float *weights, float *out) {
    const int32_t line = p->cols.out_size * p->outputs, pixels = p->cols.in_size * p->channels;
    for (int32_t image = 0; image < p->images; image++, gradient += p->rows.out_size * line) {
        for (int32_t y = 0; y < p->rows.in_size; y++, out += pixels) {
            mote_zeros_f32(out, pixels);
            for (int32_t k = 0; k < p->rows.taps; k++) {
                const int32_t row = mote_gradient_row(&p->rows, y, k);
                if (row >= 0) {
                    mote_depthwise_input_gradient_line_f32(p, gradient + row * line, weights + k * p->cols.taps * p->outputs,
                                                           out);
                }
            }
        }
    }
}

/* Weights are [outputs][window rows][window columns][channels]. */
static inline void mote_conv_weight_gradient_f32(const mote_window_gradient_t *p, const float *in, const float *gradient,
                                                 float *out) {
    const mote_span_t *s = &p->cols;
    const int32_t pitch = p->rows.taps * s->taps * p->channels, pixels = s->in_size * p->channels;
    mote_zeros_f32(out, p->outputs * pitch);
    for (int32_t image = 0; image < p->images; image++, in += p->rows.in_size * pixels) {
        for (int32_t row = 0; row < p->rows.out_size; row++, gradient += s->out_size * p->outputs) {
            const int32_t first = row * p->rows.step - p->rows.pad, end = mote_span_hi(&p->rows, first);
            for (int32_t k = mote_span_lo(&p->rows, first); k < end; k++) {
                const float *line = in + (first + k * p->rows.spread) * pixels;
                for (int32_t t = 0; t < s->taps; t++) {
                    const int32_t lo = mote_tap_lo(s, t), hi = mote_tap_hi(s, t);
                    for (int32_t o = 0; o < p->outputs && lo < hi; o++) {
                        mote_add_vectors_f32(out + o * pitch + (k * s->taps + t) * p->channels,
                                             gradient + lo * p->outputs + o, p->outputs,
                                             line + (lo * s->step - s->pad + t * s->spread) * p->channels,
                                             s->step * p->channels, hi - lo, p->channels);
                    }
                }
            }
        }
    }
}

/* Adds the products of one position and one tap: a sum for each output. */
static inline void mote_depthwise_tap_gradient_f32(const mote_window_gradient_t *p, const float *pixel,
                                                   const float *gradient, float *sums) {
    const int32_t multiplier = p->outputs / p->channels;
    for (int32_t c = 0; c < p->channels; c++) {
        for (int32_t m = 0; m < multiplier; m++, sums++) {
            *sums = mote_add_product_f32(*sums, pixel[c], *gradient++);
        }
    }
}

/* Weights are [window rows][window columns][outputs]. */
static inline void mote_depthwise_weight_gradient_f32(const mote_window_gradient_t *p, const float *in,
                                                      const float *gradient, float *out) {
    const mote_span_t *s = &p->cols;
    const int32_t pixels = s->in_size * p->channels;
    mote_zeros_f32(out, p->rows.taps * s->taps * p->outputs);
    for (int32_t image = 0; image < p->images; image++, in += p->rows.in_size * pixels) {
        for (int32_t row = 0; row < p->rows.out_size; row++, gradient += s->out_size * p->outputs) {
            const int32_t first = row * p->rows.step - p->rows.pad, end = mote_span_hi(&p->rows, first);
            for (int32_t k = mote_span_lo(&p->rows, first); k < end; k++) {
                const float *line = in + (first + k * p->rows.spread) * pixels;
                for (int32_t t = 0; t < s->taps; t++) {
                    for (int32_t x = mote_tap_lo(s, t), hi = mote_tap_hi(s, t); x < hi; x++) {
                        mote_depthwise_tap_gradient_f32(p, line + (x * s->step - s->pad + t * s->spread) * p->channels,
                                                        gradient + x * p->outputs, out + (k * s->taps + t) * p->outputs);
                    }
                }
            }
        }
    }
}

/* How many taps lie inside the image, at the position whose window begins at `first`. */
static inline int32_t mote_taps_inside(const mote_span_t *s, int32_t first) {
    const int32_t count = mote_span_hi(s, first) - mote_span_lo(s, first);
    return count > 0 ? count : 0;
}

static inline void mote_average_pool_gradient_line_f32(const mote_window_gradient_t *p, const float *gradient, int32_t rows,
                                                       float *out) {
    const mote_span_t *s = &p->cols;
    for (int32_t x = 0; x < s->out_size; x++, gradient += p->channels) {
        const int32_t first = x * s->step - s->pad, lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const float count = (float)rows * (float)mote_taps_inside(s, first);
        for (int32_t t = lo; t < hi; t++) {
            float *sums = out + (first + t * s->spread) * p->channels;
            for (int32_t c = 0; c < p->channels; c++) {
                sums[c] += gradient[c] / count;
            }
        }
    }
}

static inline void mote_average_pool_gradient_f32(const mote_window_gradient_t *p, const float *gradient, float *out) {
    const int32_t line = p->cols.out_size * p->channels, pixels = p->cols.in_size * p->channels;
    for (int32_t image = 0; image < p->images; image++, gradient += p->rows.out_size * line) {
        for (int32_t y = 0; y < p->rows.in_size; y++, out += pixels) {
            mote_zeros_f32(out, pixels);
            for (int32_t k = 0; k < p->rows.taps; k++) {
                const int32_t row = mote_gradient_row(&p->rows, y, k);
                if (row >= 0) {
                    const int32_t rows = mote_taps_inside(&p->rows, row * p->rows.step - p->rows.pad);
                    mote_average_pool_gradient_line_f32(p, gradient + row * line, rows, out);
                }
            }
        }
    }
}

/* Adds the gradient of one position to the largest pixel of its window, of one channel; `in` and `out` are its images. */
static inline void mote_max_pool_gradient_at_f32(const mote_window_gradient_t *p, const float *in, float gradient,
                                                 int32_t row, int32_t column, float *out) {
    const mote_span_t *r = &p->rows, *s = &p->cols;
    const int32_t below = mote_span_hi(r, row), lo = mote_span_lo(s, column), hi = mote_span_hi(s, column);
    float most = -MOTE_INFINITY;
    int32_t taken = -1;
    for (int32_t k = mote_span_lo(r, row); k < below; k++) {
        for (int32_t t = lo; t < hi; t++) {
            const int32_t at = ((row + k * r->spread) * s->in_size + column + t * s->spread) * p->channels;
            if (in[at] > most) {
                most = in[at];
                taken = at;
            }
        }
    }
    if (taken >= 0) {
        out[taken] += gradient;
    }
}

static inline void mote_max_pool_gradient_f32(const mote_window_gradient_t *p, const float *gradient, const float *in,
                                              float *out) {
    const mote_span_t *r = &p->rows, *s = &p->cols;
    const int32_t size = r->in_size * s->in_size * p->channels;
    for (int32_t image = 0; image < p->images; image++, in += size, out += size) {
        mote_zeros_f32(out, size);
        for (int32_t y = 0; y < r->out_size; y++) {
            for (int32_t x = 0; x < s->out_size; x++, gradient += p->channels) {
                for (int32_t c = 0; c < p->channels; c++) {
                    mote_max_pool_gradient_at_f32(p, in + c, gradient[c], y * r->step - r->pad, x * s->step - s->pad,
                                                  out + c);
                }
            }
        }
    }
}

#endif
