/* Arithmetic that an ESP8266 has in its ROM, and that Debian's libgcc for it therefore lacks: products of 64 bits, division,
 * and float32 (not double). */
#include <stdint.h>
#include <string.h>

uint64_t __umulsidi3(uint32_t a, uint32_t b);
uint64_t __muldi3(uint64_t a, uint64_t b);
uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b);
int32_t __divsi3(int32_t a, int32_t b);

uint64_t __umulsidi3(uint32_t a, uint32_t b)
{
    const uint32_t al = a & 0xffff, ah = a >> 16, bl = b & 0xffff, bh = b >> 16;
    const uint32_t low = al * bl, first = ah * bl + (low >> 16), second = al * bh + (first & 0xffff);
    return (uint64_t)(ah * bh + (first >> 16) + (second >> 16)) << 32 | (second << 16 | (low & 0xffff));
}

uint64_t __muldi3(uint64_t a, uint64_t b)
{
    const uint32_t al = (uint32_t)a, ah = (uint32_t)(a >> 32), bl = (uint32_t)b, bh = (uint32_t)(b >> 32);
    return __umulsidi3(al, bl) + ((uint64_t)(al * bh + ah * bl) << 32);
}

static uint32_t divided(uint32_t a, uint32_t b, uint32_t *rest)
{
    uint32_t quotient = 0, left = 0;
    for (int i = 31; i >= 0; i--) {
        const uint32_t high = left >> 31;
        left = left << 1 | (a >> i & 1);
        if (high || left >= b) {
            left -= b;
            quotient |= (uint32_t)1 << i;
        }
    }
    *rest = left;
    return quotient;
}

uint32_t __udivsi3(uint32_t a, uint32_t b)
{
    uint32_t rest;
    return divided(a, b, &rest);
}

uint32_t __umodsi3(uint32_t a, uint32_t b)
{
    uint32_t rest;
    divided(a, b, &rest);
    return rest;
}

int32_t __divsi3(int32_t a, int32_t b)
{
    const uint32_t size = __udivsi3(a < 0 ? 0u - (uint32_t)a : (uint32_t)a, b < 0 ? 0u - (uint32_t)b : (uint32_t)b);
    return (a < 0) != (b < 0) ? (int32_t)(0u - size) : (int32_t)size;
}

float __addsf3(float a, float b);
float __subsf3(float a, float b);
float __mulsf3(float a, float b);
float __floatsisf(int32_t x);
float __floatunsisf(uint32_t x);
uint32_t __fixunssfsi(float x);

#define SIGN 0x80000000u
#define INFINITE 0x7f800000u
#define NO_NUMBER 0x7fc00000u
#define LEADING 30 /* the bit of a mantissa that counts 1, with seven bits behind those that are kept */

static uint32_t word_of(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static float float_of(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* A right shift that keeps in the lowest bit whether anything was lost. */
static uint32_t shifted(uint32_t x, int by)
{
    if (by > 31)
        return x != 0;
    return by == 0 ? x : x >> by | ((x & (((uint32_t)1 << by) - 1)) != 0);
}

/* The float of a mantissa whose leading bit is LEADING, or that is zero, to the nearest, ties to even. */
static float rounded(uint32_t sign, int exponent, uint32_t mantissa)
{
    if (mantissa == 0)
        return float_of(sign);
    if (exponent >= 255)
        return float_of(sign | INFINITE);
    if (exponent <= 0) {
        mantissa = shifted(mantissa, 1 - exponent);
        exponent = 0;
    }
    const uint32_t rest = mantissa & 0x7f, kept = mantissa >> 7;
    const uint32_t more = rest > 0x40 || (rest == 0x40 && (kept & 1));
    const uint32_t base = exponent == 0 ? 0 : ((uint32_t)exponent << 23) - 0x800000u;
    return float_of(sign | (base + kept + more));
}

/* The mantissa with its leading bit at LEADING, if it is a normal number, and the exponent. */
static uint32_t opened(uint32_t word, int *exponent)
{
    const uint32_t fraction = word & 0x7fffffu;
    *exponent = (int)(word >> 23 & 0xff);
    if (*exponent == 0) {
        *exponent = 1;
        return fraction << 7;
    }
    return (fraction | 0x800000u) << 7;
}

static uint32_t normalized(uint32_t mantissa, int *exponent)
{
    for (; mantissa != 0 && !(mantissa >> LEADING); mantissa <<= 1)
        --*exponent;
    return mantissa;
}

float __addsf3(float x, float y)
{
    uint32_t a = word_of(x), b = word_of(y);
    if ((a & ~SIGN) < (b & ~SIGN)) {
        const uint32_t swap = a;
        a = b, b = swap;
    }
    if ((a & ~SIGN) >= INFINITE) {
        const int nothing = (a & ~SIGN) > INFINITE || ((b & ~SIGN) == INFINITE && ((a ^ b) & SIGN));
        return float_of(nothing ? NO_NUMBER : a);
    }
    int exponent, other;
    uint32_t m = opened(a, &exponent), n = opened(b, &other);
    n = shifted(n, exponent - other);
    if (((a ^ b) & SIGN) == 0) {
        m += n;
        if (m >> 31) {
            m = shifted(m, 1);
            exponent++;
        }
        m = normalized(m, &exponent);
        return rounded(a & SIGN, exponent, m);
    }
    m -= n;
    if (m == 0)
        return 0;
    m = normalized(m, &exponent);
    return rounded(a & SIGN, exponent, m);
}

float __subsf3(float x, float y)
{
    return __addsf3(x, float_of(word_of(y) ^ SIGN));
}

float __mulsf3(float x, float y)
{
    const uint32_t a = word_of(x), b = word_of(y), sign = (a ^ b) & SIGN;
    const uint32_t sizes[2] = {a & ~SIGN, b & ~SIGN};
    if (sizes[0] > INFINITE || sizes[1] > INFINITE)
        return float_of(NO_NUMBER);
    if (sizes[0] == INFINITE || sizes[1] == INFINITE)
        return float_of(sizes[0] == 0 || sizes[1] == 0 ? NO_NUMBER : sign | INFINITE);
    int ea, eb;
    uint32_t m = opened(a, &ea), n = opened(b, &eb);
    m = normalized(m, &ea), n = normalized(n, &eb);
    const uint64_t product = __umulsidi3(m, n); /* leading at 60 or 61 */
    int exponent = ea + eb - 127;
    uint32_t high = (uint32_t)(product >> 32) << 2 | (uint32_t)product >> 30;
    const uint32_t lost = ((uint32_t)product & 0x3fffffffu) != 0;
    if (high >> 31) {
        high = shifted(high, 1);
        exponent++;
    }
    return rounded(sign, exponent, high | lost);
}

float __floatunsisf(uint32_t x)
{
    int exponent = 127 + LEADING;
    if (x >> 31) {
        x = shifted(x, 1);
        exponent++;
    }
    x = normalized(x, &exponent);
    return rounded(0, exponent, x);
}

float __floatsisf(int32_t x)
{
    const float size = __floatunsisf(x < 0 ? 0u - (uint32_t)x : (uint32_t)x);
    return float_of(word_of(size) | (x < 0 ? SIGN : 0));
}

uint32_t __fixunssfsi(float x)
{
    const uint32_t word = word_of(x);
    const int exponent = (int)(word >> 23 & 0xff) - 127;
    const uint32_t mantissa = (word & 0x7fffffu) | 0x800000u;
    if (word & SIGN || exponent < 0)
        return 0;
    return exponent > 31 ? 0xffffffffu : exponent >= 23 ? mantissa << (exponent - 23) : mantissa >> (23 - exponent);
}
