/* Declarations of the functions that calls are held against, by their documentation. */
#ifndef ESP_NN_STANDIN_H
#define ESP_NN_STANDIN_H

#include <stdint.h>

typedef struct data_dims {
    int32_t width, height, channels, extra;
} data_dims_t;
typedef struct data_2d {
    int32_t width, height;
} data_2d_t;
typedef struct act_params {
    int32_t min, max;
} act_params_t;
typedef struct quant_data {
    int32_t *shift, *mult;
} quant_data_t;
typedef struct conv_params {
    int32_t in_offset, out_offset;
    data_2d_t stride, padding, dilation;
    act_params_t activation;
} conv_params_t;
typedef struct dw_conv_params {
    int32_t in_offset, out_offset, ch_mult;
    data_2d_t stride, padding, dilation;
    act_params_t activation;
} dw_conv_params_t;

void esp_nn_conv_s8(const data_dims_t *in, const int8_t *input, const data_dims_t *filter, const int8_t *weights,
                    const int32_t *bias, const data_dims_t *out, int8_t *output, const conv_params_t *params,
                    const quant_data_t *quant);
void esp_nn_depthwise_conv_s8(const data_dims_t *in, const int8_t *input, const data_dims_t *filter,
                              const int8_t *weights, const int32_t *bias, const data_dims_t *out, int8_t *output,
                              const dw_conv_params_t *params, const quant_data_t *quant);
void esp_nn_set_conv_scratch_buf(const void *scratch);
void esp_nn_set_depthwise_conv_scratch_buf(const void *scratch);

void esp_nn_avg_pool_s8(const int8_t *input, uint16_t in_width, uint16_t in_height, int8_t *output, uint16_t out_width,
                        uint16_t out_height, uint16_t stride_x, uint16_t stride_y, uint16_t width, uint16_t height,
                        uint16_t pad_x, uint16_t pad_y, int32_t low, int32_t high, uint16_t channels);
void esp_nn_max_pool_s8(const int8_t *input, uint16_t in_width, uint16_t in_height, int8_t *output, uint16_t out_width,
                        uint16_t out_height, uint16_t stride_x, uint16_t stride_y, uint16_t width, uint16_t height,
                        uint16_t pad_x, uint16_t pad_y, int32_t low, int32_t high, uint16_t channels);

void esp_nn_fully_connected_s8(const int8_t *input, int32_t in_offset, uint16_t depth, const int8_t *weights,
                               int32_t weights_offset, const int32_t *bias, int8_t *output, uint16_t channels,
                               int32_t out_offset, int32_t shift, int32_t mult, int32_t low, int32_t high);
void esp_nn_fully_connected_per_ch_s8(const int8_t *input, int32_t in_offset, uint16_t depth, const int8_t *weights,
                                      int32_t weights_offset, const int32_t *bias, int8_t *output, uint16_t channels,
                                      int32_t out_offset, const int32_t *shift, const int32_t *mult, int32_t low,
                                      int32_t high);

void esp_nn_set_softmax_scratch_buf(void *scratch);
void esp_nn_softmax_s8(const int8_t *input, int32_t rows, int32_t classes, int32_t mult, int32_t shift, int32_t least,
                       int8_t *output);

void esp_nn_add_elementwise_s8(const int8_t *first, const int8_t *second, int32_t first_offset, int32_t second_offset,
                               int32_t first_mult, int32_t second_mult, int32_t first_shift, int32_t second_shift,
                               int32_t left_shift, int8_t *output, int32_t out_offset, int32_t mult, int32_t shift,
                               int32_t low, int32_t high, int32_t size);
void esp_nn_mul_elementwise_s8(const int8_t *first, const int8_t *second, int32_t first_offset, int32_t second_offset,
                               int8_t *output, int32_t out_offset, int32_t mult, int32_t shift, int32_t low,
                               int32_t high, int32_t size);
void esp_nn_mul_broadcast_channel_s8(const int8_t *first, const int8_t *channel, int32_t first_offset,
                                     int32_t channel_offset, int8_t *output, int32_t out_offset, int32_t mult,
                                     int32_t shift, int32_t low, int32_t high, int32_t pixels, int32_t channels);

void esp_nn_set_hard_swish_scratch_buf(void *scratch);
void esp_nn_hard_swish_s8(const int8_t *input, int8_t *output, int32_t size, int16_t in_zero, int16_t mult,
                          int16_t unit_mult, int32_t unit_shift, int32_t shift, int16_t out_zero);
void esp_nn_mean_nhwc_s8(const int8_t *input, int8_t *output, int32_t height, int32_t width, int32_t channels,
                         int32_t in_zero, int32_t out_zero, int32_t mult, int32_t shift);
void esp_nn_logistic_s8(const int8_t *input, int8_t *output, int32_t size, const int8_t *table);

#endif
