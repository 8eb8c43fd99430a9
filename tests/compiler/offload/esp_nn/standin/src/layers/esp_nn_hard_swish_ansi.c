#include "standin.h"

void esp_nn_set_hard_swish_scratch_buf(void *scratch) {
    (void)scratch;
}

static int32_t half(int32_t x) {
    return clamped(x, INT16_MIN, INT16_MAX);
}

static int32_t product16(int32_t a, int32_t b) {
    return rounded_shift((int64_t)a * b * 2 + 1, 16); /* halves up */
}

/* x times the gate (x + 3) / 6 between 0 and 1, both in 16 bits. */
void esp_nn_hard_swish_s8(const int8_t *input, int8_t *output, int32_t size, int16_t in_zero, int16_t mult,
                          int16_t unit_mult, int32_t unit_shift, int32_t shift, int16_t out_zero) {
    for (int32_t i = 0; i < size; i++) {
        const int32_t fine = (input[i] - in_zero) * 128;
        int32_t gate = unit_shift > 0 ? half(fine * (1 << (unit_shift - 1))) : fine;
        gate = product16(gate, unit_mult);
        gate = unit_shift > 0 ? half(2 * gate) : rounded_shift(gate, -unit_shift);
        gate = (gate + (1 << 15)) / 2;
        const int32_t whole = gate * product16(fine, mult) / (1 << 15);
        output[i] = (int8_t)clamped(rounded_shift(whole, -shift) + out_zero, INT8_MIN, INT8_MAX);
    }
}
