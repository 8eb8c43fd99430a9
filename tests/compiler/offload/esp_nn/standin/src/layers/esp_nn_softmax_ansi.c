#include "standin.h"

static int32_t *kept;

void esp_nn_set_softmax_scratch_buf(void *scratch) {
    kept = scratch;
}

/* exp of a number that is not positive, in Q5.26: Taylor's series around -1/8 for what is left over whole quarters. */
static int32_t exponential(int32_t x) {
    static const int32_t power[7] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    const int32_t quarter = 1 << 24, rest = (x & (quarter - 1)) - quarter, quarters = rest - x;
    const int32_t a = rest * 32 + (1 << 28), a2 = high_product(a, a), a3 = high_product(a2, a);
    const int32_t a4 = high_product(a2, a2);
    const int32_t tail = rounded_shift(high_product(rounded_shift(a4, 2) + a3, 715827883) + a2, 1);
    int32_t result = 1895147668 + high_product(1895147668, a + tail);
    for (int bit = 0; bit < 7; bit++) {
        result = (quarters >> (24 + bit)) & 1 ? high_product(result, power[bit]) : result;
    }
    return x == 0 ? INT32_MAX : result;
}

/* 2^62 / x for x in [2^31, 2^32). */
static int32_t reciprocal(uint32_t x) {
    const int32_t half = (int32_t)(x / 2);
    int32_t y = 1515870810 + high_product(half, -1010580540);
    for (int i = 0; i < 3; i++) {
        y += 4 * high_product(y, (1 << 29) - high_product(half, y));
    }
    return clamped((int64_t)y * 2, INT32_MIN, INT32_MAX);
}

void esp_nn_softmax_s8(const int8_t *input, int32_t rows, int32_t classes, int32_t mult, int32_t shift, int32_t least,
                       int8_t *output) {
    for (; rows > 0; rows--, input += classes, output += classes) {
        int32_t most = INT8_MIN, sum = 0, bits = 0;
        for (int32_t c = 0; c < classes; c++) {
            most = input[c] > most ? input[c] : most;
        }
        for (int32_t c = 0; c < classes; c++) {
            const int32_t below = input[c] - most;
            kept[c] = below < least ? 0 : exponential(rescaled(below, mult, shift));
            sum += rounded_shift(kept[c], 12);
        }
        while (bits < 32 && ((uint32_t)sum >> bits) != 0) {
            bits++;
        }
        const int32_t scale = reciprocal((uint32_t)sum << (32 - bits));
        for (int32_t c = 0; c < classes; c++) {
            output[c] = (int8_t)clamped(rounded_shift(high_product(scale, kept[c]), bits + 3) - 128, -128, 127);
        }
    }
}
