#include "standin.h"

static int32_t summed(const int8_t *input, int32_t in_offset, uint16_t depth, const int8_t *weights,
                      int32_t weights_offset) {
    int32_t sum = 0;
    for (int32_t i = 0; i < depth; i++) {
        sum += (input[i] + in_offset) * (weights[i] + weights_offset);
    }
    return sum;
}

void esp_nn_fully_connected_s8(const int8_t *input, int32_t in_offset, uint16_t depth, const int8_t *weights,
                               int32_t weights_offset, const int32_t *bias, int8_t *output, uint16_t channels,
                               int32_t out_offset, int32_t shift, int32_t mult, int32_t low, int32_t high) {
    for (int32_t c = 0; c < channels; c++) {
        const int32_t sum = summed(input, in_offset, depth, weights + c * depth, weights_offset);
        const int32_t total = sum + (bias == NULL ? 0 : bias[c]);
        output[c] = (int8_t)clamped(rescaled(total, mult, shift) + out_offset, low, high);
    }
}

void esp_nn_fully_connected_per_ch_s8(const int8_t *input, int32_t in_offset, uint16_t depth, const int8_t *weights,
                                      int32_t weights_offset, const int32_t *bias, int8_t *output, uint16_t channels,
                                      int32_t out_offset, const int32_t *shift, const int32_t *mult, int32_t low,
                                      int32_t high) {
    for (int32_t c = 0; c < channels; c++) {
        const int32_t sum = summed(input, in_offset, depth, weights + c * depth, weights_offset);
        const int32_t total = sum + (bias == NULL ? 0 : bias[c]);
        output[c] = (int8_t)clamped(rescaled(total, mult[c], shift[c]) + out_offset, low, high);
    }
}
