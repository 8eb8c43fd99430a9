/* Calls of CMSIS-NN from generated code: pointers that lie in its structs are arguments here. They return 0, or the
 * negative number of an error. */
#ifndef CMSIS_NN_CALLS_H
#define CMSIS_NN_CALLS_H

#include "arm_nnfunctions.h"

#define CMSIS_NN_WINDOW(name, function, parameters, type, bias_type)                                                   \
    static inline int name(void *scratch, int32_t bytes, const int32_t *mult, const int32_t *shift,                    \
                           const parameters *params, const cmsis_nn_dims *in_dims,                                     \
                           const type *in, const cmsis_nn_dims *filter_dims, const int8_t *filter,                     \
                           const bias_type *bias, const cmsis_nn_dims *out_dims, type *out) {                          \
        const cmsis_nn_context context = {scratch, bytes};                                                             \
        const cmsis_nn_per_channel_quant_params scales = {(int32_t *)mult, (int32_t *)shift};                          \
        const cmsis_nn_dims bias_dims = {1, 1, 1, out_dims->c};                                                        \
        return (int)function(&context, params, &scales, in_dims, in, filter_dims, filter, &bias_dims, bias,            \
                             out_dims, out);                                                                           \
    }

CMSIS_NN_WINDOW(cmsis_nn_convolve_wrapper_s8, arm_convolve_wrapper_s8, cmsis_nn_conv_params, int8_t, int32_t)
CMSIS_NN_WINDOW(cmsis_nn_depthwise_conv_wrapper_s8, arm_depthwise_conv_wrapper_s8, cmsis_nn_dw_conv_params, int8_t,
                int32_t)
CMSIS_NN_WINDOW(cmsis_nn_depthwise_conv_wrapper_s16, arm_depthwise_conv_wrapper_s16, cmsis_nn_dw_conv_params, int16_t,
                int64_t)

static inline int cmsis_nn_convolve_wrapper_s16(void *scratch, int32_t bytes, const int32_t *mult, const int32_t *shift,
                                                const cmsis_nn_conv_params *params, const cmsis_nn_dims *in_dims,
                                                const int16_t *in, const cmsis_nn_dims *filter_dims,
                                                const int8_t *filter, const int64_t *bias,
                                                const cmsis_nn_dims *out_dims, int16_t *out) {
    const cmsis_nn_context context = {scratch, bytes};
    const cmsis_nn_per_channel_quant_params scales = {(int32_t *)mult, (int32_t *)shift};
    const cmsis_nn_dims bias_dims = {1, 1, 1, out_dims->c};
    const cmsis_nn_bias_data biases = {bias, false};
    return (int)arm_convolve_wrapper_s16(&context, params, &scales, in_dims, in, filter_dims, filter, &bias_dims,
                                         &biases, out_dims, out);
}

/* `upscale`: the distance of the input's pixels, with zeros between them, or NULL. */
static inline int cmsis_nn_convolve_upscaled_s8(void *scratch, int32_t bytes, const int32_t *mult, const int32_t *shift,
                                                const cmsis_nn_conv_params *params, const cmsis_nn_dims *in_dims,
                                                const int8_t *in, const cmsis_nn_dims *filter_dims,
                                                const int8_t *filter, const int32_t *bias,
                                                const cmsis_nn_dims *out_dims, int8_t *out,
                                                const cmsis_nn_dims *upscale) {
    const cmsis_nn_context context = {scratch, bytes};
    const cmsis_nn_per_channel_quant_params scales = {(int32_t *)mult, (int32_t *)shift};
    const cmsis_nn_dims bias_dims = {1, 1, 1, out_dims->c};
    return (int)arm_convolve_s8(&context, params, &scales, in_dims, in, filter_dims, filter, &bias_dims, bias, upscale,
                                out_dims, out);
}

static inline int cmsis_nn_convolve_s8(void *scratch, int32_t bytes, const int32_t *mult, const int32_t *shift,
                                       const cmsis_nn_conv_params *params, const cmsis_nn_dims *in_dims,
                                       const int8_t *in, const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                       const int32_t *bias, const cmsis_nn_dims *out_dims, int8_t *out) {
    return cmsis_nn_convolve_upscaled_s8(scratch, bytes, mult, shift, params, in_dims, in, filter_dims, filter, bias,
                                         out_dims, out, NULL);
}

static inline int cmsis_nn_transpose_conv_s8(void *scratch, int32_t bytes, const int32_t *mult, const int32_t *shift,
                                             const cmsis_nn_transpose_conv_params *params, const cmsis_nn_dims *in_dims,
                                             const int8_t *in, const cmsis_nn_dims *filter_dims, const int8_t *filter,
                                             const int32_t *bias, const cmsis_nn_dims *out_dims, int8_t *out) {
    const cmsis_nn_context context = {scratch, bytes};
    const cmsis_nn_per_channel_quant_params scales = {(int32_t *)mult, (int32_t *)shift};
    const cmsis_nn_dims bias_dims = {1, 1, 1, out_dims->c};
    return (int)arm_transpose_conv_s8(&context, &context, params, &scales, in_dims, in, filter_dims, filter, &bias_dims,
                                      bias, out_dims, out);
}

/* Those that round sums once, and those that round them after the multiplication as well: `sums` are the biases with
 * the sums of the weights times the offset of the inputs, which Helium's version reads. */
#define CMSIS_NN_FULLY_CONNECTED(name, function, type, bias_type)                                                      \
    static inline int name(const int32_t *sums, int32_t bytes, int32_t mult, int32_t shift,                            \
                           const cmsis_nn_fc_params *params, const cmsis_nn_dims *in_dims, const type *in,             \
                           const cmsis_nn_dims *filter_dims, const int8_t *filter, const bias_type *bias,              \
                           const cmsis_nn_dims *out_dims, type *out) {                                                 \
        const cmsis_nn_context context = {(void *)sums, bytes};                                                        \
        const cmsis_nn_per_tensor_quant_params scales = {mult, shift};                                                 \
        const cmsis_nn_dims bias_dims = {1, 1, 1, out_dims->c};                                                        \
        return (int)function(&context, params, &scales, in_dims, in, filter_dims, filter, &bias_dims, bias,            \
                             out_dims, out);                                                                           \
    }
#define CMSIS_NN_FULLY_CONNECTED_PER_CHANNEL(name, function)                                                           \
    static inline int name(const int32_t *sums, int32_t bytes, const int32_t *mult, const int32_t *shift,              \
                           const cmsis_nn_fc_params *params, const cmsis_nn_dims *in_dims, const int8_t *in,           \
                           const cmsis_nn_dims *filter_dims, const int8_t *filter, const int32_t *bias,                \
                           const cmsis_nn_dims *out_dims, int8_t *out) {                                               \
        const cmsis_nn_context context = {(void *)sums, bytes};                                                        \
        const cmsis_nn_per_channel_quant_params scales = {(int32_t *)mult, (int32_t *)shift};                          \
        const cmsis_nn_dims bias_dims = {1, 1, 1, out_dims->c};                                                        \
        return (int)function(&context, params, &scales, in_dims, in, filter_dims, filter, &bias_dims, bias,            \
                             out_dims, out);                                                                           \
    }

arm_cmsis_nn_status cmsis_nn_once_arm_fully_connected_s8(
    const cmsis_nn_context *ctx, const cmsis_nn_fc_params *params, const cmsis_nn_per_tensor_quant_params *scale,
    const cmsis_nn_dims *in_dims, const int8_t *in, const cmsis_nn_dims *filter_dims, const int8_t *filter,
    const cmsis_nn_dims *bias_dims, const int32_t *bias, const cmsis_nn_dims *out_dims, int8_t *out);
arm_cmsis_nn_status cmsis_nn_once_arm_fully_connected_per_channel_s8(
    const cmsis_nn_context *ctx, const cmsis_nn_fc_params *params, const cmsis_nn_per_channel_quant_params *scales,
    const cmsis_nn_dims *in_dims, const int8_t *in, const cmsis_nn_dims *filter_dims, const int8_t *filter,
    const cmsis_nn_dims *bias_dims, const int32_t *bias, const cmsis_nn_dims *out_dims, int8_t *out);

CMSIS_NN_FULLY_CONNECTED(cmsis_nn_fully_connected_s8, arm_fully_connected_s8, int8_t, int32_t)
CMSIS_NN_FULLY_CONNECTED(cmsis_nn_fully_connected_s16, arm_fully_connected_s16, int16_t, int64_t)
CMSIS_NN_FULLY_CONNECTED(cmsis_nn_fully_connected_s8_once, cmsis_nn_once_arm_fully_connected_s8, int8_t, int32_t)
CMSIS_NN_FULLY_CONNECTED_PER_CHANNEL(cmsis_nn_fully_connected_per_channel_s8, arm_fully_connected_per_channel_s8)
CMSIS_NN_FULLY_CONNECTED_PER_CHANNEL(cmsis_nn_fully_connected_per_channel_s8_once,
                                     cmsis_nn_once_arm_fully_connected_per_channel_s8)

#define CMSIS_NN_POOL(name, function, type)                                                                            \
    static inline int name(void *scratch, int32_t bytes, const cmsis_nn_pool_params *params,                           \
                            const cmsis_nn_dims *in_dims, const type *in, const cmsis_nn_dims *filter_dims,            \
                            const cmsis_nn_dims *out_dims, type *out) {                                                \
        const cmsis_nn_context context = {scratch, bytes};                                                             \
        return (int)function(&context, params, in_dims, in, filter_dims, out_dims, out);                               \
    }

CMSIS_NN_POOL(cmsis_nn_avgpool_s8, arm_avgpool_s8, int8_t)
CMSIS_NN_POOL(cmsis_nn_max_pool_s8, arm_max_pool_s8, int8_t)
CMSIS_NN_POOL(cmsis_nn_avgpool_s16, arm_avgpool_s16, int16_t)
CMSIS_NN_POOL(cmsis_nn_max_pool_s16, arm_max_pool_s16, int16_t)

static inline int cmsis_nn_softmax_s8(const int8_t *in, int32_t rows, int32_t size, int32_t mult, int32_t shift,
                                      int32_t least, int8_t *out) {
    arm_softmax_s8(in, rows, size, mult, shift, least, out);
    return 0;
}

static inline int cmsis_nn_softmax_s16(const int16_t *in, int32_t rows, int32_t size, int32_t mult, int32_t shift,
                                       const int16_t *exponentials, const int16_t *reciprocals, int16_t *out) {
    const cmsis_nn_softmax_lut_s16 tables = {exponentials, reciprocals};
    return (int)arm_softmax_s16(in, rows, size, mult, shift, &tables, out);
}

/* `scratch`: sums of filters, and behind them those of units, of so many bytes each. */
static inline int cmsis_nn_svdf_state_s16_s8(
    void *scratch, int32_t filters, int32_t units, const cmsis_nn_svdf_params *params,
    const cmsis_nn_per_tensor_quant_params *in_scale, const cmsis_nn_per_tensor_quant_params *out_scale,
    const cmsis_nn_dims *in_dims, const int8_t *in, int16_t *state, const cmsis_nn_dims *weights_dims,
    const cmsis_nn_dims *time_dims, const int8_t *weights, const int16_t *time, const int32_t *bias,
    const cmsis_nn_dims *out_dims, int8_t *out) {
    const cmsis_nn_context first = {scratch, filters}, second = {(int8_t *)scratch + filters, units};
    const cmsis_nn_dims state_dims = {in_dims->n, weights_dims->n * time_dims->h, 1, 1};
    const cmsis_nn_dims bias_dims = {out_dims->h, 1, 1, 1};
    return (int)arm_svdf_state_s16_s8(&first, &second, params, in_scale, out_scale, in_dims, in, &state_dims, state,
                                      weights_dims, weights, time_dims, time, &bias_dims, bias, out_dims, out);
}

#endif
