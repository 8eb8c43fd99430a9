#include "../numbers.h"

arm_cmsis_nn_status arm_elementwise_add_s8(const int8_t *input_1_vect, const int8_t *input_2_vect,
                                           const int32_t input_1_offset, const int32_t input_1_mult,
                                           const int32_t input_1_shift, const int32_t input_2_offset,
                                           const int32_t input_2_mult, const int32_t input_2_shift,
                                           const int32_t left_shift, int8_t *output, const int32_t out_offset,
                                           const int32_t out_mult, const int32_t out_shift,
                                           const int32_t out_activation_min, const int32_t out_activation_max,
                                           const int32_t block_size) {
    for (int32_t i = 0; i < block_size; i++) {
        const int32_t a_left = (input_1_vect[i] + input_1_offset) * (1 << left_shift);
        const int32_t a = requantize(a_left, input_1_mult, input_1_shift);
        const int32_t b_left = (input_2_vect[i] + input_2_offset) * (1 << left_shift);
        const int32_t b = requantize(b_left, input_2_mult, input_2_shift);
        const int64_t result = (int64_t)requantize(a + b, out_mult, out_shift) + out_offset;
        output[i] = (int8_t)clamp(result, out_activation_min, out_activation_max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_add_s16(const int16_t *input_1_vect, const int16_t *input_2_vect,
                                            const int32_t input_1_offset, const int32_t input_1_mult,
                                            const int32_t input_1_shift, const int32_t input_2_offset,
                                            const int32_t input_2_mult, const int32_t input_2_shift,
                                            const int32_t left_shift, int16_t *output, const int32_t out_offset,
                                            const int32_t out_mult, const int32_t out_shift,
                                            const int32_t out_activation_min, const int32_t out_activation_max,
                                            const int32_t block_size) {
    for (int32_t i = 0; i < block_size; i++) {
        const int32_t a_left = (input_1_vect[i] + input_1_offset) * (1 << left_shift);
        const int32_t a = requantize(a_left, input_1_mult, input_1_shift);
        const int32_t b_left = (input_2_vect[i] + input_2_offset) * (1 << left_shift);
        const int32_t b = requantize(b_left, input_2_mult, input_2_shift);
        const int64_t result = (int64_t)requantize(a + b, out_mult, out_shift) + out_offset;
        output[i] = (int16_t)clamp(result, out_activation_min, out_activation_max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_mul_s8(const int8_t *input_1_vect, const int8_t *input_2_vect,
                                           const int32_t input_1_offset, const int32_t input_2_offset,
                                           int8_t *output, const int32_t out_offset, const int32_t out_mult,
                                           const int32_t out_shift, const int32_t out_activation_min,
                                           const int32_t out_activation_max, const int32_t block_size) {
    for (int32_t i = 0; i < block_size; i++) {
        const int32_t product = (input_1_vect[i] + input_1_offset) * (input_2_vect[i] + input_2_offset);
        const int64_t result = (int64_t)requantize(product, out_mult, out_shift) + out_offset;
        output[i] = (int8_t)clamp(result, out_activation_min, out_activation_max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}

arm_cmsis_nn_status arm_elementwise_mul_s16(const int16_t *input_1_vect, const int16_t *input_2_vect,
                                            const int32_t input_1_offset, const int32_t input_2_offset,
                                            int16_t *output, const int32_t out_offset, const int32_t out_mult,
                                            const int32_t out_shift, const int32_t out_activation_min,
                                            const int32_t out_activation_max, const int32_t block_size) {
    for (int32_t i = 0; i < block_size; i++) {
        const int32_t product = (input_1_vect[i] + input_1_offset) * (input_2_vect[i] + input_2_offset);
        const int64_t result = (int64_t)requantize(product, out_mult, out_shift) + out_offset;
        output[i] = (int16_t)clamp(result, out_activation_min, out_activation_max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
