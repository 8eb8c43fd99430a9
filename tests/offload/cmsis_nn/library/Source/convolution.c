#include "numbers.h"

static arm_cmsis_nn_status convolution(const cmsis_nn_conv_params *p, const cmsis_nn_per_channel_quant_params *q,
                                       const cmsis_nn_dims *in, const int8_t *input, const cmsis_nn_dims *filter,
                                       const int8_t *weights, const int32_t *bias, const cmsis_nn_dims *out,
                                       int8_t *output) {
    if (filter->c != in->c || filter->n != out->c || in->n != out->n) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t i = 0; i < out->n * out->h * out->w * out->c; i++) {
        const int32_t c = i % out->c, x = i / out->c % out->w, y = i / out->c / out->w % out->h;
        const int32_t image = i / out->c / out->w / out->h;
        int32_t sum = bias ? bias[c] : 0;
        for (int32_t tap = 0; tap < filter->h * filter->w * filter->c; tap++) {
            const int32_t channel = tap % filter->c, kx = tap / filter->c % filter->w, ky = tap / filter->c / filter->w;
            const int32_t row = y * p->stride.h - p->padding.h + ky * p->dilation.h;
            const int32_t column = x * p->stride.w - p->padding.w + kx * p->dilation.w;
            if (row >= 0 && row < in->h && column >= 0 && column < in->w) {
                const int32_t at = ((image * in->h + row) * in->w + column) * in->c + channel;
                sum += (input[at] + p->input_offset) * weights[c * filter->h * filter->w * filter->c + tap];
            }
        }
        output[i] = (int8_t)clamp((int64_t)requantize(sum, q->multiplier[c], q->shift[c]) + p->output_offset,
                                  p->activation.min, p->activation.max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                            const cmsis_nn_per_channel_quant_params *quant_params,
                                            const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                            const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                            const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                            const cmsis_nn_dims *output_dims, int8_t *output_data) {
    (void)ctx;
    (void)bias_dims;
    return convolution(conv_params, quant_params, input_dims, input_data, filter_dims, filter_data, bias_data,
                       output_dims, output_data);
}

arm_cmsis_nn_status arm_convolve_s8(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                    const cmsis_nn_per_channel_quant_params *quant_params,
                                    const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                    const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                    const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                    const cmsis_nn_dims *upscale_dims, const cmsis_nn_dims *output_dims,
                                    int8_t *output_data) {
    (void)ctx;
    (void)bias_dims;
    return upscale_dims ? ARM_CMSIS_NN_NO_IMPL_ERROR
                        : convolution(conv_params, quant_params, input_dims, input_data, filter_dims, filter_data,
                                      bias_data, output_dims, output_data);
}
