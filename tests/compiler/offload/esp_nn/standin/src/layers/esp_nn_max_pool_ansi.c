#include "standin.h"

void esp_nn_max_pool_s8(const int8_t *input, uint16_t in_width, uint16_t in_height, int8_t *output, uint16_t out_width,
                        uint16_t out_height, uint16_t stride_x, uint16_t stride_y, uint16_t width, uint16_t height,
                        uint16_t pad_x, uint16_t pad_y, int32_t low, int32_t high, uint16_t channels) {
    for (int32_t i = 0; i < out_height * out_width * channels; i++) {
        const int32_t c = i % channels, x = i / channels % out_width, y = i / channels / out_width;
        int32_t most = INT8_MIN;
        for (int32_t pixel = 0; pixel < height * width; pixel++) {
            const int32_t row = y * stride_y - pad_y + pixel / width, column = x * stride_x - pad_x + pixel % width;
            if (row >= 0 && row < in_height && column >= 0 && column < in_width) {
                const int32_t value = input[(row * in_width + column) * channels + c];
                most = value > most ? value : most;
            }
        }
        output[i] = (int8_t)clamped(most, low, high);
    }
}
