#include "../numbers.h"

static int32_t element(const void *data, int32_t at, bool wide) {
    return wide ? ((const int16_t *)data)[at] : ((const int8_t *)data)[at];
}

/* `upscale`: the distance of the input's pixels; the input's dimensions are those of the image with the zeros. */
static arm_cmsis_nn_status convolution(const cmsis_nn_conv_params *p, const cmsis_nn_per_channel_quant_params *q,
                                       const cmsis_nn_dims *in, const void *input, const cmsis_nn_dims *filter,
                                       const int8_t *weights, const void *bias, const cmsis_nn_dims *out, void *output,
                                       const cmsis_nn_dims *upscale, bool wide) {
    const int32_t dy = upscale ? upscale->h : 1, dx = upscale ? upscale->w : 1;
    if (filter->c != in->c || filter->n != out->c || in->n != out->n) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t i = 0; i < out->n * out->h * out->w * out->c; i++) {
        const int32_t c = i % out->c, x = i / out->c % out->w, y = i / out->c / out->w % out->h;
        const int32_t image = i / out->c / out->w / out->h;
        int64_t sum = wide ? ((const int64_t *)bias)[c] : ((const int32_t *)bias)[c];
        for (int32_t tap = 0; tap < filter->h * filter->w * filter->c; tap++) {
            const int32_t channel = tap % filter->c, kx = tap / filter->c % filter->w, ky = tap / filter->c / filter->w;
            const int32_t row = y * p->stride.h - p->padding.h + ky * p->dilation.h;
            const int32_t column = x * p->stride.w - p->padding.w + kx * p->dilation.w;
            if (row >= 0 && row < in->h && column >= 0 && column < in->w && row % dy == 0 && column % dx == 0) {
                const int32_t line = image * (in->h / dy) + row / dy;
                const int32_t at = (line * (in->w / dx) + column / dx) * in->c + channel;
                sum += (int64_t)(element(input, at, wide) + p->input_offset) *
                       weights[c * filter->h * filter->w * filter->c + tap];
            }
        }
        const int32_t scaled = wide ? requantize_wide(sum, q->multiplier[c], q->shift[c])
                                    : requantize((int32_t)sum, q->multiplier[c], q->shift[c]);
        const int32_t result = clamp((int64_t)scaled + p->output_offset, p->activation.min, p->activation.max);
        if (wide) {
            ((int16_t *)output)[i] = (int16_t)result;
        } else {
            ((int8_t *)output)[i] = (int8_t)result;
        }
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
                       output_dims, output_data, NULL, false);
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
    return convolution(conv_params, quant_params, input_dims, input_data, filter_dims, filter_data, bias_data,
                       output_dims, output_data, upscale_dims, false);
}

arm_cmsis_nn_status arm_convolve_wrapper_s16(const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
                                             const cmsis_nn_per_channel_quant_params *quant_params,
                                             const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                             const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                             const cmsis_nn_dims *bias_dims, const cmsis_nn_bias_data *bias_data,
                                             const cmsis_nn_dims *output_dims, int16_t *output_data) {
    (void)bias_dims;
    if (ctx->buf == NULL || bias_data->is_int32_bias) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    return convolution(conv_params, quant_params, input_dims, input_data, filter_dims, filter_data, bias_data->data,
                       output_dims, output_data, NULL, true);
}
