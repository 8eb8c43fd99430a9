#include "../numbers.h"

/* Weights are [1, height, width, output channels]: output channel c reads input channel c / ch_mult. */
arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(const cmsis_nn_context *ctx,
                                                  const cmsis_nn_dw_conv_params *dw_conv_params,
                                                  const cmsis_nn_per_channel_quant_params *quant_params,
                                                  const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                                  const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                                  const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                                  const cmsis_nn_dims *output_dims, int8_t *output_data) {
    const cmsis_nn_dw_conv_params *p = dw_conv_params;
    const cmsis_nn_dims *in = input_dims, *out = output_dims;
    (void)ctx;
    (void)bias_dims;
    if (filter_dims->n != 1 || filter_dims->c != out->c || in->c * p->ch_mult != out->c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t i = 0; i < out->n * out->h * out->w * out->c; i++) {
        const int32_t c = i % out->c, x = i / out->c % out->w, y = i / out->c / out->w % out->h;
        const int32_t image = i / out->c / out->w / out->h;
        int32_t sum = bias_data ? bias_data[c] : 0;
        for (int32_t tap = 0; tap < filter_dims->h * filter_dims->w; tap++) {
            const int32_t row = y * p->stride.h - p->padding.h + tap / filter_dims->w * p->dilation.h;
            const int32_t column = x * p->stride.w - p->padding.w + tap % filter_dims->w * p->dilation.w;
            if (row >= 0 && row < in->h && column >= 0 && column < in->w) {
                const int32_t at = ((image * in->h + row) * in->w + column) * in->c + c / p->ch_mult;
                sum += (input_data[at] + p->input_offset) * filter_data[tap * out->c + c];
            }
        }
        sum = requantize(sum, quant_params->multiplier[c], quant_params->shift[c]);
        output_data[i] = (int8_t)clamp((int64_t)sum + p->output_offset, p->activation.min, p->activation.max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s16(const cmsis_nn_context *ctx,
                                                   const cmsis_nn_dw_conv_params *dw_conv_params,
                                                   const cmsis_nn_per_channel_quant_params *quant_params,
                                                   const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                                   const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                                   const cmsis_nn_dims *bias_dims, const int64_t *bias_data,
                                                   const cmsis_nn_dims *output_dims, int16_t *output_data) {
    const cmsis_nn_dw_conv_params *p = dw_conv_params;
    const cmsis_nn_dims *in = input_dims, *out = output_dims;
    (void)ctx;
    (void)bias_dims;
    if (filter_dims->n != 1 || filter_dims->c != out->c || in->c * p->ch_mult != out->c) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t i = 0; i < out->n * out->h * out->w * out->c; i++) {
        const int32_t c = i % out->c, x = i / out->c % out->w, y = i / out->c / out->w % out->h;
        const int32_t image = i / out->c / out->w / out->h;
        int64_t sum = bias_data[c];
        for (int32_t tap = 0; tap < filter_dims->h * filter_dims->w; tap++) {
            const int32_t row = y * p->stride.h - p->padding.h + tap / filter_dims->w * p->dilation.h;
            const int32_t column = x * p->stride.w - p->padding.w + tap % filter_dims->w * p->dilation.w;
            if (row >= 0 && row < in->h && column >= 0 && column < in->w) {
                const int32_t at = ((image * in->h + row) * in->w + column) * in->c + c / p->ch_mult;
                sum += (int64_t)input_data[at] * filter_data[tap * out->c + c];
            }
        }
        const int32_t scaled = requantize_wide(sum, quant_params->multiplier[c], quant_params->shift[c]);
        output_data[i] = (int16_t)clamp(scaled, p->activation.min, p->activation.max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
