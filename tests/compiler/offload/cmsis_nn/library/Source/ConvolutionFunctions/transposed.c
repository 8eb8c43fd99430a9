#include "../numbers.h"

/* Each pixel of the input is added to the outputs under the filter, whose corner lies at its position times the stride,
 * less the padding. The working memory holds the sums of as many rows as a row of the input reaches. */
arm_cmsis_nn_status arm_transpose_conv_s8(const cmsis_nn_context *ctx, const cmsis_nn_context *output_ctx,
                                          const cmsis_nn_transpose_conv_params *transpose_conv_params,
                                          const cmsis_nn_per_channel_quant_params *quant_params,
                                          const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                          const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
                                          const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
                                          const cmsis_nn_dims *output_dims, int8_t *output_data) {
    const cmsis_nn_transpose_conv_params *p = transpose_conv_params;
    const cmsis_nn_dims *in = input_dims, *out = output_dims;
    (void)output_ctx;
    (void)bias_dims;
    if (ctx->buf == NULL) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    for (int32_t i = 0; i < out->n * out->h * out->w * out->c; i++) {
        const int32_t c = i % out->c, x = i / out->c % out->w, y = i / out->c / out->w % out->h;
        const int32_t image = i / out->c / out->w / out->h;
        int32_t sum = bias_data[c];
        for (int32_t tap = 0; tap < filter_dims->h * filter_dims->w; tap++) {
            const int32_t down = y + p->padding.h - tap / filter_dims->w, row = down / p->stride.h;
            const int32_t right = x + p->padding.w - tap % filter_dims->w, column = right / p->stride.w;
            if (down < 0 || right < 0 || down % p->stride.h || right % p->stride.w || row >= in->h || column >= in->w) {
                continue;
            }
            for (int32_t k = 0; k < in->c; k++) {
                const int32_t value = input_data[((image * in->h + row) * in->w + column) * in->c + k];
                sum += (value + p->input_offset) * filter_data[(c * filter_dims->h * filter_dims->w + tap) * in->c + k];
            }
        }
        sum = requantize(sum, quant_params->multiplier[c], quant_params->shift[c]);
        output_data[i] = (int8_t)clamp((int64_t)sum + p->output_offset, p->activation.min, p->activation.max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
