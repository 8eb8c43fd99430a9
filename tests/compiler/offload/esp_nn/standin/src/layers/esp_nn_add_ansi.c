#include "standin.h"

void esp_nn_add_elementwise_s8(const int8_t *first, const int8_t *second, int32_t first_offset, int32_t second_offset,
                               int32_t first_mult, int32_t second_mult, int32_t first_shift, int32_t second_shift,
                               int32_t left_shift, int8_t *output, int32_t out_offset, int32_t mult, int32_t shift,
                               int32_t low, int32_t high, int32_t size) {
    for (int32_t i = 0; i < size; i++) {
        const int32_t a = rescaled((first[i] + first_offset) * (1 << left_shift), first_mult, first_shift);
        const int32_t b = rescaled((second[i] + second_offset) * (1 << left_shift), second_mult, second_shift);
        output[i] = (int8_t)clamped(rescaled(a + b, mult, shift) + out_offset, low, high);
    }
}
