#include "../numbers.h"

static int8_t product(const cmsis_nn_fc_params *p, const int8_t *input, const int8_t *weights, int32_t depth,
                      int32_t bias, int32_t multiplier, int32_t shift) {
    int32_t sum = bias;
    for (int32_t i = 0; i < depth; i++) {
        sum += (input[i] + p->input_offset) * (weights[i] + p->filter_offset);
    }
    return (int8_t)clamp((int64_t)requantize(sum, multiplier, shift) + p->output_offset, p->activation.min,
                         p->activation.max);
}

arm_cmsis_nn_status arm_fully_connected_s8(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                           const cmsis_nn_per_tensor_quant_params *quant_params,
                                           const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                           const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                           const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                           const cmsis_nn_dims *output_dims, int8_t *output_data) {
    const int32_t depth = filter_dims->n, channels = output_dims->c;
    (void)ctx;
    (void)bias_dims;
    for (int32_t i = 0; i < input_dims->n * channels; i++) {
        const int8_t *row = input_data + i / channels * depth, *weights = filter_data + i % channels * depth;
        output_data[i] = product(fc_params, row, weights, depth, bias_data ? bias_data[i % channels] : 0,
                                 quant_params->multiplier, quant_params->shift);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_fully_connected_per_channel_s8(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                                       const cmsis_nn_per_channel_quant_params *quant_params,
                                                       const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                                       const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                                       const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                                       const cmsis_nn_dims *output_dims, int8_t *output_data) {
    const int32_t depth = filter_dims->n, channels = output_dims->c;
    (void)ctx;
    (void)bias_dims;
    for (int32_t i = 0; i < input_dims->n * channels; i++) {
        const int8_t *row = input_data + i / channels * depth, *weights = filter_data + i % channels * depth;
        output_data[i] = product(fc_params, row, weights, depth, bias_data ? bias_data[i % channels] : 0,
                                 quant_params->multiplier[i % channels], quant_params->shift[i % channels]);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_fully_connected_s16(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
                                            const cmsis_nn_per_tensor_quant_params *quant_params,
                                            const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                            const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                            const cmsis_nn_dims *bias_dims, const int64_t *bias_data,
                                            const cmsis_nn_dims *output_dims, int16_t *output_data) {
    const int32_t depth = filter_dims->n, channels = output_dims->c;
    (void)ctx;
    (void)bias_dims;
    for (int32_t i = 0; i < input_dims->n * channels; i++) {
        int64_t sum = bias_data[i % channels];
        for (int32_t k = 0; k < depth; k++) {
            sum += (int64_t)input_data[i / channels * depth + k] * filter_data[i % channels * depth + k];
        }
        output_data[i] = (int16_t)clamp(requantize_wide(sum, quant_params->multiplier, quant_params->shift),
                                        fc_params->activation.min, fc_params->activation.max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
