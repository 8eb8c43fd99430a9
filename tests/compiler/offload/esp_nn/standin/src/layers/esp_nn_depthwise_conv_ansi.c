#include "standin.h"

void esp_nn_set_depthwise_conv_scratch_buf(const void *scratch) {
    (void)scratch;
}

void esp_nn_depthwise_conv_s8(const data_dims_t *in, const int8_t *input, const data_dims_t *filter,
                              const int8_t *weights, const int32_t *bias, const data_dims_t *out, int8_t *output,
                              const dw_conv_params_t *params, const quant_data_t *quant) {
    for (int32_t i = 0; i < out->height * out->width * out->channels; i++) {
        const int32_t c = i % out->channels, x = i / out->channels % out->width, y = i / out->channels / out->width;
        int32_t sum = bias == NULL ? 0 : bias[c];
        for (int32_t pixel = 0; pixel < filter->height * filter->width; pixel++) {
            const int32_t row = y * params->stride.height - params->padding.height + pixel / filter->width;
            const int32_t column = x * params->stride.width - params->padding.width + pixel % filter->width;
            if (row >= 0 && row < in->height && column >= 0 && column < in->width) {
                const int32_t at = (row * in->width + column) * in->channels + c / params->ch_mult;
                sum += (input[at] + params->in_offset) * weights[pixel * out->channels + c];
            }
        }
        output[i] = (int8_t)clamped(rescaled(sum, quant->mult[c], quant->shift[c]) + params->out_offset,
                                    params->activation.min, params->activation.max);
    }
}
