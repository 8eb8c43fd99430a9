/* How far the functions of mote_math.h and its kin are from the true values: for every STRIDE-th float from FIRST to LAST
 * (their bits), against the host's double precision. Prints for each function the largest error in ulp and where it is;
 * what is infinite, no number or zero must be the same, signs included.
 *
 *   math_errors STRIDE FIRST LAST [FUNCTION...] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mote_angle.h"
#include "mote_double.h"
#include "mote_erfc.h"
#include "mote_fmod.h"
#include "mote_pow.h"

typedef struct {
    const char *name;
    float (*ours)(float);
    double (*true_one)(double);
    float (*ours2)(float, float);
    double (*true_one2)(double, double);
} function_t;

static double logistic(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

static float double_exp(float x) { return (float)mote_exp((double)x); }

static float double_floor(float x) { return (float)mote_floor((double)x * 1.0009765625); }

static double true_floor(double x) { return floor(x * 1.0009765625); }

static const function_t functions[] = {
    {"exp", mote_expf, exp, NULL, NULL},
    {"expm1", mote_expm1f, expm1, NULL, NULL},
    {"log", mote_logf, log, NULL, NULL},
    {"tanh", mote_tanhf, tanh, NULL, NULL},
    {"logistic", mote_logisticf, logistic, NULL, NULL},
    {"erfc", mote_erfcf, erfc, NULL, NULL},
    {"sin", mote_sinf, sin, NULL, NULL},
    {"cos", mote_cosf, cos, NULL, NULL},
    {"sqrt", mote_sqrtf, sqrt, NULL, NULL},
    {"floor", mote_floorf, floor, NULL, NULL},
    {"ceil", mote_ceilf, ceil, NULL, NULL},
    {"rint", mote_rintf, rint, NULL, NULL},
    {"double_exp", double_exp, exp, NULL, NULL},
    {"double_floor", double_floor, true_floor, NULL, NULL},
    {"pow", NULL, NULL, mote_powf, pow},
    {"atan2", NULL, NULL, mote_atan2f, atan2},
    {"fmod", NULL, NULL, mote_fmodf, fmod},
};

/* How far a float is from the true value, in distances between floats there. */
static double error_of(float got, double want) {
    const double largest = 3.4028235677973366e38; /* from here on the nearest float is infinite */
    mote_double_t distance;
    int exponent;
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    }
    if (fabs(want) >= largest || isinf(got)) {
        return isinf(got) && fabs(want) > 3.402823e38 && !signbit(got) == !signbit(want) ? 0 : INFINITY;
    }
    if (want == 0 || got == 0) {
        if (!signbit(got) != !signbit(want)) {
            return INFINITY;
        }
    }
    distance.value = want;
    exponent = (int)(distance.bits >> 52 & 2047) - 1023;
    distance.bits = (uint64_t)(1023 - (exponent < -126 ? -126 : exponent) + 23) << 52; /* one over it */
    return fabs((double)got - want) * distance.value;
}

/* A second argument for a first one: usual, special or any. */
static float other(uint32_t bits) {
    static const float special[] = {0.0f, -0.0f, 1.0f,     -1.0f,     2.0f, 3.0f,   0.5f,
                                    -0.5f, 1e-45f, INFINITY, -INFINITY, NAN,  3e38f};
    const uint32_t mixed = (bits ^ bits >> 15) * 2654435761u ^ bits << 7;
    if (mixed % 8 == 0) {
        return special[mixed / 8 % (sizeof special / sizeof special[0])];
    }
    if (mixed % 8 < 5) { /* of a size for which powers are neither infinite nor zero */
        const float x = mote_fabsf(mote_float(bits));
        const float most = 150.0f / (float)fabs(log2((double)(x > 0.0f && x < INFINITY && x != 1.0f ? x : 2.0f)));
        return most * ((float)(mixed >> 8) / 8388608.0f - 1.0f);
    }
    return mote_float(mixed * 0x9e3779b9u);
}

static int chosen(const char *name, int argc, char **argv) {
    int found = argc <= 4;
    for (int i = 4; i < argc; i++) {
        const char *a = name, *b = argv[i];
        while (*a && *a == *b) {
            a++, b++;
        }
        found |= *a == *b;
    }
    return found;
}

int main(int argc, char **argv) {
    const uint64_t stride = strtoull(argv[1], NULL, 0), first = strtoull(argv[2], NULL, 0);
    const uint64_t last = strtoull(argv[3], NULL, 0);
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        const function_t *one = &functions[f];
        double worst = 0;
        float at = 0, with = 0;
        if (!chosen(one->name, argc, argv)) {
            continue;
        }
        for (uint64_t bits = first; bits <= last; bits += stride) {
            const float x = mote_float((uint32_t)bits), y = one->ours2 ? other((uint32_t)bits) : 0.0f;
            const float got = one->ours2 ? one->ours2(x, y) : one->ours(x);
            const double want = one->ours2 ? one->true_one2((double)x, (double)y) : one->true_one((double)x);
            const double error = error_of(got, want);
            if (error > worst) {
                worst = error, at = x, with = y;
            }
        }
        printf("%s %.4f %.9g %.9g\n", one->name, worst, (double)at, (double)with);
    }
    return 0;
}
