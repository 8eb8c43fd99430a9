#include "standin.h"

void esp_nn_mul_elementwise_s8(const int8_t *first, const int8_t *second, int32_t first_offset, int32_t second_offset,
                               int8_t *output, int32_t out_offset, int32_t mult, int32_t shift, int32_t low,
                               int32_t high, int32_t size) {
    for (int32_t i = 0; i < size; i++) {
        const int32_t product = (first[i] + first_offset) * (second[i] + second_offset);
        output[i] = (int8_t)clamped(rescaled(product, mult, shift) + out_offset, low, high);
    }
}

void esp_nn_mul_broadcast_channel_s8(const int8_t *first, const int8_t *channel, int32_t first_offset,
                                     int32_t channel_offset, int8_t *output, int32_t out_offset, int32_t mult,
                                     int32_t shift, int32_t low, int32_t high, int32_t pixels, int32_t channels) {
    for (int32_t i = 0; i < pixels * channels; i++) {
        const int32_t product = (first[i] + first_offset) * (channel[i % channels] + channel_offset);
        output[i] = (int8_t)clamped(rescaled(product, mult, shift) + out_offset, low, high);
    }
}
