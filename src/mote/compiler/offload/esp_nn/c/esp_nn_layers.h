/* Layers of a model, as calls of ESP-NN's functions with the model's own working memory. */
#ifndef ESP_NN_LAYERS_H
#define ESP_NN_LAYERS_H

#include <stdint.h>

/* In ESP-IDF the functions for the part, as the project is configured; elsewhere those for any core. */
#if defined(ESP_PLATFORM)
#include "sdkconfig.h"
#if defined(CONFIG_NN_SKIP_NUDGE)
#error "results would not be exact: set CONFIG_NN_SKIP_NUDGE=n"
#endif
#else
#define CONFIG_NN_OPTIMIZED 1
#endif
#include "esp_nn.h"

/* A window over NHWC images. Offsets are added to inputs and to outputs. */
typedef struct {
    int32_t images;
    int32_t in_height;
    int32_t in_width;
    int32_t in_channels;
    int32_t height;
    int32_t width;
    int32_t out_height;
    int32_t out_width;
    int32_t out_channels;
    int32_t stride_y;
    int32_t stride_x;
    int32_t pad_y;
    int32_t pad_x;
    int32_t in_offset;
    int32_t out_offset;
    int32_t low;
    int32_t high;
} esp_nn_window_t;

/* `bias` may be NULL. `scales`: the multipliers of all channels, and their shifts behind them. */
static inline void esp_nn_layer_conv(const int32_t *window, const int8_t *in, const int8_t *weights,
                                     const int32_t *bias, const int32_t *scales, int8_t *out, void *scratch) {
    const esp_nn_window_t *w = (const esp_nn_window_t *)window;
    const data_dims_t in_dims = {.width = w->in_width, .height = w->in_height, .channels = w->in_channels};
    const data_dims_t filter = {.width = w->width, .height = w->height, .channels = w->in_channels};
    const data_dims_t out_dims = {.width = w->out_width, .height = w->out_height, .channels = w->out_channels};
    const conv_params_t params = {.in_offset = w->in_offset,
                                  .out_offset = w->out_offset,
                                  .stride = {.width = w->stride_x, .height = w->stride_y},
                                  .padding = {.width = w->pad_x, .height = w->pad_y},
                                  .dilation = {.width = 1, .height = 1},
                                  .activation = {.min = w->low, .max = w->high}};
    const quant_data_t quant = {.shift = (int32_t *)(scales + w->out_channels), .mult = (int32_t *)scales};
    esp_nn_set_conv_scratch_buf(scratch);
    for (int32_t image = 0; image < w->images; image++) {
        esp_nn_conv_s8(&in_dims, in, &filter, weights, bias, &out_dims, out, &params, &quant);
        in += w->in_height * w->in_width * w->in_channels;
        out += w->out_height * w->out_width * w->out_channels;
    }
}

static inline void esp_nn_layer_depthwise(const int32_t *window, const int8_t *in, const int8_t *weights,
                                          const int32_t *bias, const int32_t *scales, int8_t *out, void *scratch) {
    const esp_nn_window_t *w = (const esp_nn_window_t *)window;
    const data_dims_t in_dims = {.width = w->in_width, .height = w->in_height, .channels = w->in_channels};
    const data_dims_t filter = {.width = w->width, .height = w->height};
    const data_dims_t out_dims = {.width = w->out_width, .height = w->out_height, .channels = w->out_channels};
    const dw_conv_params_t params = {.in_offset = w->in_offset,
                                     .out_offset = w->out_offset,
                                     .ch_mult = w->out_channels / w->in_channels,
                                     .stride = {.width = w->stride_x, .height = w->stride_y},
                                     .padding = {.width = w->pad_x, .height = w->pad_y},
                                     .dilation = {.width = 1, .height = 1},
                                     .activation = {.min = w->low, .max = w->high}};
    const quant_data_t quant = {.shift = (int32_t *)(scales + w->out_channels), .mult = (int32_t *)scales};
    esp_nn_set_depthwise_conv_scratch_buf(scratch);
    for (int32_t image = 0; image < w->images; image++) {
        esp_nn_depthwise_conv_s8(&in_dims, in, &filter, weights, bias, &out_dims, out, &params, &quant);
        in += w->in_height * w->in_width * w->in_channels;
        out += w->out_height * w->out_width * w->out_channels;
    }
}

static inline void esp_nn_layer_average(const int32_t *window, const int8_t *in, int8_t *out) {
    const esp_nn_window_t *w = (const esp_nn_window_t *)window;
    for (int32_t image = 0; image < w->images; image++) {
        esp_nn_avg_pool_s8(in, (uint16_t)w->in_width, (uint16_t)w->in_height, out, (uint16_t)w->out_width,
                           (uint16_t)w->out_height, (uint16_t)w->stride_x, (uint16_t)w->stride_y, (uint16_t)w->width,
                           (uint16_t)w->height, (uint16_t)w->pad_x, (uint16_t)w->pad_y, w->low, w->high,
                           (uint16_t)w->in_channels);
        in += w->in_height * w->in_width * w->in_channels;
        out += w->out_height * w->out_width * w->out_channels;
    }
}

static inline void esp_nn_layer_max(const int32_t *window, const int8_t *in, int8_t *out) {
    const esp_nn_window_t *w = (const esp_nn_window_t *)window;
    for (int32_t image = 0; image < w->images; image++) {
        esp_nn_max_pool_s8(in, (uint16_t)w->in_width, (uint16_t)w->in_height, out, (uint16_t)w->out_width,
                           (uint16_t)w->out_height, (uint16_t)w->stride_x, (uint16_t)w->stride_y, (uint16_t)w->width,
                           (uint16_t)w->height, (uint16_t)w->pad_x, (uint16_t)w->pad_y, w->low, w->high,
                           (uint16_t)w->in_channels);
        in += w->in_height * w->in_width * w->in_channels;
        out += w->out_height * w->out_width * w->out_channels;
    }
}

static inline void esp_nn_layer_fully_connected(const int8_t *in, const int8_t *weights, const int32_t *bias,
                                                int8_t *out, int32_t vectors, uint16_t depth, uint16_t channels,
                                                int32_t in_offset, int32_t out_offset, int32_t mult, int32_t shift,
                                                int32_t low, int32_t high) {
    for (int32_t vector = 0; vector < vectors; vector++) {
        esp_nn_fully_connected_s8(in, in_offset, depth, weights, 0, bias, out, channels, out_offset, shift, mult, low,
                                  high);
        in += depth;
        out += channels;
    }
}

static inline void esp_nn_layer_fully_connected_per_channel(const int8_t *in, const int8_t *weights,
                                                            const int32_t *bias, const int32_t *scales, int8_t *out,
                                                            int32_t vectors, uint16_t depth, uint16_t channels,
                                                            int32_t in_offset, int32_t out_offset, int32_t low,
                                                            int32_t high) {
    for (int32_t vector = 0; vector < vectors; vector++) {
        esp_nn_fully_connected_per_ch_s8(in, in_offset, depth, weights, 0, bias, out, channels, out_offset,
                                         scales + channels, scales, low, high);
        in += depth;
        out += channels;
    }
}

static inline void esp_nn_layer_softmax(const int8_t *in, int8_t *out, int32_t rows, int32_t classes, int32_t mult,
                                        int32_t shift, int32_t least, void *scratch) {
    esp_nn_set_softmax_scratch_buf(scratch);
    esp_nn_softmax_s8(in, rows, classes, mult, shift, least, out);
}

static inline void esp_nn_layer_hard_swish(const int8_t *in, int8_t *out, int32_t count, int16_t in_zero, int16_t mult,
                                           int16_t unit_mult, int32_t unit_shift, int32_t shift, int16_t out_zero,
                                           void *scratch) {
    (void)scratch;
    esp_nn_set_hard_swish_scratch_buf(scratch);
    esp_nn_hard_swish_s8(in, out, count, in_zero, mult, unit_mult, unit_shift, shift, out_zero);
}

static inline void esp_nn_layer_mean(const int8_t *in, int8_t *out, int32_t images, int32_t height, int32_t width,
                                     int32_t channels, int32_t in_zero, int32_t out_zero, int32_t mult,
                                     int32_t shift) {
    for (int32_t image = 0; image < images; image++) {
        esp_nn_mean_nhwc_s8(in, out, height, width, channels, in_zero, out_zero, mult, shift);
        in += height * width * channels;
        out += channels;
    }
}

#endif
