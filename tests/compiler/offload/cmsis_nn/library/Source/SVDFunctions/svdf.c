#include "../numbers.h"

/* What filters remember moves on by one, and the newest number is the product of the input with the weights; a unit is
 * the sum of `rank` filters, each its numbers times the weights over time. */
arm_cmsis_nn_status arm_svdf_state_s16_s8(const cmsis_nn_context *input_ctx, const cmsis_nn_context *output_ctx,
                                          const cmsis_nn_svdf_params *svdf_params,
                                          const cmsis_nn_per_tensor_quant_params *input_quant_params,
                                          const cmsis_nn_per_tensor_quant_params *output_quant_params,
                                          const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                          const cmsis_nn_dims *state_dims, int16_t *state_data,
                                          const cmsis_nn_dims *weights_feature_dims, const int8_t *weights_feature_data,
                                          const cmsis_nn_dims *weights_time_dims, const int16_t *weights_time_data,
                                          const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                          const cmsis_nn_dims *output_dims, int8_t *output_data) {
    const int32_t batches = input_dims->n, size = input_dims->h, filters = weights_feature_dims->n;
    const int32_t memory = weights_time_dims->h, rank = svdf_params->rank, units = filters / rank;
    (void)bias_dims;
    (void)output_dims;
    if (state_dims->h != filters * memory || input_ctx->size < 4 * batches * filters ||
        output_ctx->size < 4 * batches * units) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t i = 0; i < batches * filters; i++) {
        int16_t *kept = state_data + i * memory;
        int32_t sum = 0;
        for (int32_t k = 0; k < size; k++) {
            const int32_t value = input_data[i / filters * size + k] - svdf_params->input_offset;
            sum += value * weights_feature_data[i % filters * size + k];
        }
        for (int32_t k = 0; k + 1 < memory; k++) {
            kept[k] = kept[k + 1];
        }
        kept[memory - 1] = (int16_t)clamp(requantize(sum, input_quant_params->multiplier, input_quant_params->shift),
                                          svdf_params->input_activation.min, svdf_params->input_activation.max);
    }
    for (int32_t i = 0; i < batches * units; i++) {
        int32_t sum = bias_data[i % units];
        for (int32_t k = 0; k < rank * memory; k++) {
            sum += state_data[i * rank * memory + k] * weights_time_data[i % units * rank * memory + k];
        }
        const int32_t scaled = requantize(sum, output_quant_params->multiplier, output_quant_params->shift);
        output_data[i] = (int8_t)clamp((int64_t)scaled + svdf_params->output_offset, svdf_params->output_activation.min,
                                       svdf_params->output_activation.max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
