/* mote_double.h: the functions of double precision that kernels need where LiteRT computes so. */
#ifndef MOTE_DOUBLE_H
#define MOTE_DOUBLE_H

#include "mote_common.h"

typedef union {
    double value;
    uint64_t bits;
} mote_double_t;

/* The next whole number below: exact. */
static inline double mote_floor(double x) {
    if (x == x && x > -4503599627370496.0 && x < 4503599627370496.0) { /* others are whole */
        const double whole = (double)(int64_t)x;
        return whole == x ? x : whole > x ? whole - 1.0 : whole;
    }
    return x;
}

/* 2^n for a normal result. */
static inline double mote_two_to(int32_t n) {
    mote_double_t it;
    it.bits = (uint64_t)(uint32_t)(1023 + n) << 52;
    return it.value;
}

/* e^x, within 2 ulp of double precision. */
static inline double mote_exp(double x) {
    static const double terms[14] = {
        1.0, 1.0, 0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333,
        0.001388888888888889, 0.0001984126984126984, 2.48015873015873e-05, 2.7557319223985893e-06,
        2.755731922398589e-07, 2.505210838544172e-08, 2.08767569878681e-09, 1.6059043836821613e-10};
    double whole, rest, sum = terms[13];
    int32_t n;
    if (x != x) {
        return x;
    }
    if (x < -745.2 || x > 709.79) {
        return x < 0.0 ? 0.0 : mote_two_to(1024);
    }
    whole = mote_floor(x * 1.4426950408889634 + 0.5);
    rest = (x - whole * 0.693147180369123816490) - whole * 1.90821492927058770002e-10;
    for (n = 12; n >= 0; n--) {
        sum = terms[n] + sum * rest;
    }
    n = (int32_t)whole;
    return sum * mote_two_to(n / 2) * mote_two_to(n - n / 2);
}

#endif
