#include "../numbers.h"

static int64_t high_product(int64_t a, int64_t b) {
    return (a * b + (INT64_C(1) << 30)) >> 31;
}

static int64_t right(int64_t x, int bits) {
    return bits > 0 ? (x + (INT64_C(1) << (bits - 1)) - (x < 0)) >> bits : x;
}

/* exp of numbers of 5 bits before the point that are not positive, in 31 bits behind it: a series around -1/8 for what
 * is left over whole quarters, times exp(-2^k) for each bit of these. */
static int64_t exponential(int64_t x) {
    static const int64_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int64_t rest = (x & 0xffffff) - 0x1000000, quarters = rest - x, a = rest * 32 + (1 << 28);
    const int64_t a2 = high_product(a, a), a3 = high_product(a2, a), a4 = high_product(a2, a2);
    const int64_t tail = right(high_product(right(a4, 2) + a3, 715827883) + a2, 1);
    int64_t result = 1895147668 + high_product(a + tail, 1895147668);
    for (int k = 0; k < 7; k++) {
        result = quarters >> (24 + k) & 1 ? high_product(result, factors[k]) : result;
    }
    return x == 0 ? INT32_MAX : result;
}

/* 1 / x of numbers from a half to one in 31 bits, halved: three steps of Newton's method from 48/17 - 32/17 x. */
static int64_t half_reciprocal(int64_t x) {
    int64_t result = 1515870810 + high_product(x, -1010580540);
    for (int i = 0; i < 3; i++) {
        const int64_t off = (INT64_C(1) << 29) - high_product(x, result);
        result += high_product(result, off) * 4;
    }
    return result;
}

static int64_t weight(int32_t below, int32_t mult, int32_t shift) {
    return exponential(high_product(below * (INT64_C(1) << shift), mult));
}

void arm_softmax_s8(const int8_t *input, const int32_t num_rows, const int32_t row_size, const int32_t mult,
                    const int32_t shift, const int32_t diff_min, int8_t *output) {
    for (int32_t row = 0; row < num_rows; row++, input += row_size, output += row_size) {
        int32_t most = INT8_MIN, bits = 0;
        int64_t sum = 0;
        for (int32_t i = 0; i < row_size; i++) {
            most = input[i] > most ? input[i] : most;
        }
        for (int32_t i = 0; i < row_size; i++) {
            sum += input[i] - most >= diff_min ? right(weight(input[i] - most, mult, shift), 12) : 0;
        }
        while (sum >> bits) {
            bits++;
        }
        const int64_t scale = half_reciprocal(sum << (31 - bits)) * 2;
        for (int32_t i = 0; i < row_size; i++) {
            const int32_t below = input[i] - most;
            const int64_t share = high_product(scale < INT32_MAX ? scale : INT32_MAX, weight(below, mult, shift));
            const bool counts = below >= diff_min;
            output[i] = (int8_t)clamp(counts ? right(share, bits + 3) + INT8_MIN : INT8_MIN, INT8_MIN, INT8_MAX);
        }
    }
}

static int32_t on_line(const int16_t *ends, int32_t x) {
    const int32_t line = 256 + (x >> 7);
    return (int16_t)(ends[line] + (((int16_t)(ends[line + 1] - ends[line]) * (x & 127) + 64) >> 7));
}

arm_cmsis_nn_status arm_softmax_s16(const int16_t *input, const int32_t num_rows, const int32_t row_size,
                                    const int32_t mult, const int32_t shift,
                                    const cmsis_nn_softmax_lut_s16 *softmax_params, int16_t *output) {
    for (int32_t row = 0; row < num_rows; row++, input += row_size, output += row_size) {
        int32_t most = INT16_MIN, bits = 0;
        int64_t sum = 0;
        for (int32_t i = 0; i < row_size; i++) {
            most = input[i] > most ? input[i] : most;
        }
        for (int32_t i = 0; i < row_size; i++) {
            const int64_t below = (int64_t)requantize(input[i] - most, mult, shift) + INT16_MAX;
            output[i] = (int16_t)on_line(softmax_params->exp_lut, clamp(below, INT16_MIN, INT16_MAX));
            sum += output[i];
        }
        while (sum >> bits) {
            bits++;
        }
        const int64_t above = (((sum << (31 - bits)) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16);
        const int32_t scale = on_line(softmax_params->one_by_one_lut, clamp(above, INT16_MIN, INT16_MAX));
        for (int32_t i = 0; i < row_size; i++) {
            const int64_t share = (int64_t)output[i] * scale;
            output[i] = (int16_t)clamp((share + (INT64_C(1) << (bits - 2))) >> (bits - 1), 0, INT16_MAX);
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
