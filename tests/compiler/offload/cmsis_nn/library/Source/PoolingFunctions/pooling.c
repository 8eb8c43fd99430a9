#include "../numbers.h"

/* Elements outside of the image do not count; averages are rounded, halves away from zero. */
static void pool(const cmsis_nn_pool_params *p, const cmsis_nn_dims *in, const void *input, const cmsis_nn_dims *filter,
                 const cmsis_nn_dims *out, void *output, bool average, bool wide) {
    for (int32_t i = 0; i < out->n * out->h * out->w * out->c; i++) {
        const int32_t c = i % out->c, x = i / out->c % out->w, y = i / out->c / out->w % out->h;
        const int32_t image = i / out->c / out->w / out->h;
        int32_t sum = 0, count = 0, most = INT32_MIN;
        for (int32_t tap = 0; tap < filter->h * filter->w; tap++) {
            const int32_t row = y * p->stride.h - p->padding.h + tap / filter->w;
            const int32_t column = x * p->stride.w - p->padding.w + tap % filter->w;
            if (row >= 0 && row < in->h && column >= 0 && column < in->w) {
                const int32_t at = ((image * in->h + row) * in->w + column) * in->c + c;
                const int32_t value = wide ? ((const int16_t *)input)[at] : ((const int8_t *)input)[at];
                sum += value;
                count++;
                most = value > most ? value : most;
            }
        }
        const int32_t mean = count ? (sum > 0 ? sum + count / 2 : sum - count / 2) / count : 0;
        const int32_t result = clamp(average ? mean : most, p->activation.min, p->activation.max);
        if (wide) {
            ((int16_t *)output)[i] = (int16_t)result;
        } else {
            ((int8_t *)output)[i] = (int8_t)result;
        }
    }
}

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                   const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                   const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                   int8_t *output_data) {
    (void)ctx;
    pool(pool_params, input_dims, input_data, filter_dims, output_dims, output_data, true, false);
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                    const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                    int8_t *output_data) {
    (void)ctx;
    pool(pool_params, input_dims, input_data, filter_dims, output_dims, output_data, false, false);
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_avgpool_s16(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                    const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                    int16_t *output_data) {
    (void)ctx;
    pool(pool_params, input_dims, input_data, filter_dims, output_dims, output_data, true, true);
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_max_pool_s16(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                     const cmsis_nn_dims *input_dims, const int16_t *input_data,
                                     const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                     int16_t *output_data) {
    (void)ctx;
    pool(pool_params, input_dims, input_data, filter_dims, output_dims, output_data, false, true);
    return ARM_CMSIS_NN_SUCCESS;
}
