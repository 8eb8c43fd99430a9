#include "standin.h"

void esp_nn_mean_nhwc_s8(const int8_t *input, int8_t *output, int32_t height, int32_t width, int32_t channels,
                         int32_t in_zero, int32_t out_zero, int32_t mult, int32_t shift) {
    for (int32_t c = 0; c < channels; c++) {
        int32_t sum = 0;
        for (int32_t pixel = 0; pixel < height * width; pixel++) {
            sum += input[pixel * channels + c] - in_zero;
        }
        output[c] = (int8_t)clamped(rescaled(sum, mult, shift) + out_zero, INT8_MIN, INT8_MAX);
    }
}
