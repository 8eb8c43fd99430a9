/* mote_ed25519.c: verification of Ed25519 signatures.
 *
 * Numbers have 256 bits in eight words, the least first. Elements of the field (modulo p = 2^255 - 19) are any such
 * number, as 2^256 = 38 modulo p folds whatever carries out; they become less than p only to be compared. Points
 * are in extended coordinates: x = X / Z, y = Y / Z, x * y = T / Z, with the complete formulas of Hisil, Wong, Carter
 * and Dawson for -x^2 + y^2 = 1 + d x^2 y^2.
 */
#include "mote_ed25519.h"

#include <string.h>

#include "mote_sha512.h"

#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* its memory is given back before the next one takes its own */
#define INSIDE static inline __attribute__((always_inline))
#else
#define APART
#define INSIDE static inline
#endif

/* Cores that have no product of 64 bits. */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define SHORT_PRODUCTS 1
#else
#define SHORT_PRODUCTS 0
#endif

#define WORDS 8u
#define TOP_BIT 252u /* of numbers that are less than the order of the base point */

typedef struct {
    uint32_t word[WORDS];
} number_t;

typedef struct {
    number_t x, y, z, t;
} point_t;

/* A point as it is added: Y - X, Y + X, 2 Z, 2 d T. */
typedef struct {
    number_t less, more, z, t;
} addend_t;

static const number_t prime = {
    {0xffffffedu, 0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu, 0x7fffffffu}};
static const number_t order = { /* of the base point, L */
    {0x5cf5d3edu, 0x5812631au, 0xa2f79cd6u, 0x14def9deu, 0x00000000u, 0x00000000u, 0x00000000u, 0x10000000u}};
static const number_t curve_d = {
    {0x135978a3u, 0x75eb4dcau, 0x4141d8abu, 0x00700a4du, 0x7779e898u, 0x8cc74079u, 0x2b6ffe73u, 0x52036ceeu}};
static const number_t root_of_minus_one = {
    {0x4a0ea0b0u, 0xc4ee1b27u, 0xad2fe478u, 0x2f431806u, 0x3dfbd7a7u, 0x2b4d0099u, 0x4fc1df0bu, 0x2b832480u}};
static const number_t zero = {{0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}};
static const number_t one = {{1u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}};
static const number_t base_x = {
    {0x8f25d51au, 0xc9562d60u, 0x9525a7b2u, 0x692cc760u, 0xfdd6dc5cu, 0xc0a4e231u, 0xcd6e53feu, 0x216936d3u}};
static const number_t base_y = {
    {0x66666658u, 0x66666666u, 0x66666666u, 0x66666666u, 0x66666666u, 0x66666666u, 0x66666666u, 0x66666666u}};

static void number_read(number_t *to, const uint8_t *bytes) {
    uint32_t i;
    for (i = 0; i < WORDS; i++, bytes += 4)
        to->word[i] = (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

/* to += a * b + carry; returns what carries out of the word, which is never more than a word. */
INSIDE uint32_t word_add(uint32_t *to, uint32_t a, uint32_t b, uint32_t carry) {
#if defined(__ARM_FEATURE_DSP) && defined(__GNUC__) && !defined(__aarch64__)
    __asm__("umaal %0, %1, %2, %3" : "+r"(*to), "+r"(carry) : "r"(a), "r"(b));
    return carry;
#elif SHORT_PRODUCTS
    /* By halves: no sum of a product of two halves and two more halves is more than 32 bits. */
    const uint32_t low = (a & 0xffffu) * (b & 0xffffu) + (*to & 0xffffu) + (carry & 0xffffu);
    const uint32_t middle = (a >> 16) * (b & 0xffffu) + (*to >> 16) + (low >> 16);
    const uint32_t other = (a & 0xffffu) * (b >> 16) + (middle & 0xffffu) + (carry >> 16);
    *to = other << 16 | (low & 0xffffu);
    return (a >> 16) * (b >> 16) + (middle >> 16) + (other >> 16);
#else
    const uint64_t sum = (uint64_t)a * b + *to + carry;
    *to = (uint32_t)sum;
    return (uint32_t)(sum >> 32);
#endif
}

/* a - b; returns 1 where that is negative, and 2^256 too much. */
static uint32_t number_subtract(number_t *to, const number_t *a, const number_t *b) {
    uint32_t carry = 1; /* a - b = a + ~b + 1 - 2^256 */
    uint32_t i;
    for (i = 0; i < WORDS; i++) {
        uint32_t word = a->word[i];
        carry = word_add(&word, ~b->word[i], 1, carry);
        to->word[i] = word;
    }
    return 1u - carry;
}

/* Takes `limit` away once where the number is not less; returns 0 where it was. */
static uint32_t number_reduce(number_t *a, const number_t *limit) {
    number_t rest;
    if (number_subtract(&rest, a, limit) != 0u) return 0;
    *a = rest;
    return 1;
}

static uint32_t number_bit(const number_t *a, uint32_t i) { return a->word[i / 32u] >> (i % 32u) & 1u; }

/* A number of 512 bits modulo the order, bit by bit. */
static void number_modulo_order(number_t *to, const uint8_t bytes[64]) {
    uint32_t i, j;
    memset(to, 0, sizeof *to);
    for (i = 0; i < 512u; i++) { /* from the highest bit on */
        uint32_t carry = (uint32_t)bytes[63u - i / 8u] >> (7u - i % 8u) & 1u;
        for (j = 0; j < WORDS; j++) {
            const uint32_t word = to->word[j];
            to->word[j] = word << 1 | carry;
            carry = word >> 31;
        }
        (void)number_reduce(to, &order);
    }
}

/* to += from * by; returns what carries out of the eight words. */
static uint32_t row_add(uint32_t to[8], const uint32_t from[8], uint32_t by) {
    uint32_t carry = 0;
    uint32_t i;
#if defined(__GNUC__) && !SHORT_PRODUCTS
#pragma GCC unroll 8 /* most of the time is spent here */
#endif
    for (i = 0; i < WORDS; i++) carry = word_add(&to[i], from[i], by, carry);
    return carry;
}

/* Adds over * 2^256 modulo the prime; `over` is small. */
static void field_fold(number_t *a, uint32_t over) {
    while (over != 0u) {
        uint32_t carry = over * 38u;
        uint32_t i;
        for (i = 0; i < WORDS; i++) {
            a->word[i] += carry;
            carry = a->word[i] < carry;
        }
        over = carry;
    }
}

static void field_multiply(number_t *to, const number_t *a, const number_t *b) {
    uint32_t product[2u * WORDS] = {0};
    uint32_t i;
    for (i = 0; i < WORDS; i++) product[i + WORDS] = row_add(&product[i], a->word, b->word[i]);
    i = row_add(product, &product[WORDS], 38);
    memcpy(to, product, sizeof *to);
    field_fold(to, i);
}

static void field_add(number_t *to, const number_t *a, const number_t *b) {
    number_t sum = *a;
    const uint32_t over = row_add(sum.word, b->word, 1);
    *to = sum;
    field_fold(to, over);
}

static void field_subtract(number_t *to, const number_t *a, const number_t *b) {
    static const number_t fold = {{38u, 0u, 0u, 0u, 0u, 0u, 0u, 0u}};
    uint32_t borrow = number_subtract(to, a, b);
    while (borrow != 0u) borrow = number_subtract(to, to, &fold);
}

static void field_square(number_t *a, uint32_t times) {
    while (times-- > 0u) field_multiply(a, a, a);
}

/* Makes the number less than the prime: it is at most 2 p + 37. */
static void field_settle(number_t *a) {
    (void)number_reduce(a, &prime);
    (void)number_reduce(a, &prime);
}

static int field_equal(const number_t *a, const number_t *b) {
    number_t difference;
    field_subtract(&difference, a, b);
    field_settle(&difference);
    return memcmp(&difference, &zero, sizeof zero) == 0;
}

/* a to the power of 2^252 - 3 = 4 (2^250 - 1) + 1. From the power of 2^n - 1 follow those of 2^2n - 1 and 2^(n+1) - 1,
 * which gives n = 250 by its binary digits. */
static void field_power(number_t *to, const number_t *a) {
    const uint32_t ones = 250;
    number_t power = *a, before;
    uint32_t n = 1, digit;
    for (digit = 7; digit-- > 0u;) {
        before = power;
        field_square(&power, n);
        field_multiply(&power, &power, &before);
        n *= 2u;
        if ((ones >> digit & 1u) != 0u) {
            field_square(&power, 1);
            field_multiply(&power, &power, a);
            n++;
        }
    }
    field_square(&power, 2);
    field_multiply(to, &power, a);
}

/* 1 / a = a^(p - 2), and p - 2 = 8 (2^252 - 3) + 3. */
static void field_invert(number_t *to, const number_t *a) {
    number_t power;
    field_power(&power, a);
    field_square(&power, 3);
    field_multiply(&power, &power, a);
    field_multiply(&power, &power, a);
    field_multiply(to, &power, a);
}

/* The point with this x and y. */
static void point_make(point_t *p, const number_t *x, const number_t *y) {
    p->x = *x;
    p->y = *y;
    p->z = one;
    field_multiply(&p->t, x, y);
}

/* x = e f, y = g h, z = f g, t = e h: where all formulas end. */
static void point_finish(point_t *p, const number_t *e, const number_t *f, const number_t *g, const number_t *h) {
    field_multiply(&p->x, e, f);
    field_multiply(&p->y, g, h);
    field_multiply(&p->z, f, g);
    field_multiply(&p->t, e, h);
}

static void point_double(point_t *p) {
    number_t e, f, g, h;
    field_add(&e, &p->x, &p->y);
    field_square(&e, 1);
    field_square(&p->x, 1);
    field_square(&p->y, 1);
    field_square(&p->z, 1);
    field_add(&h, &p->x, &p->y);
    field_subtract(&e, &h, &e);
    field_subtract(&g, &p->x, &p->y);
    field_add(&f, &p->z, &p->z);
    field_add(&f, &f, &g);
    point_finish(p, &e, &f, &g, &h);
}

static void point_add(point_t *p, const addend_t *q) {
    number_t a, b, e, f, g;
    field_subtract(&a, &p->y, &p->x);
    field_multiply(&a, &a, &q->less);
    field_add(&b, &p->y, &p->x);
    field_multiply(&b, &b, &q->more);
    field_multiply(&p->t, &p->t, &q->t);
    field_multiply(&p->z, &p->z, &q->z);
    field_subtract(&e, &b, &a);
    field_subtract(&f, &p->z, &p->t);
    field_add(&g, &p->z, &p->t);
    field_add(&b, &b, &a);
    point_finish(p, &e, &f, &g, &b);
}

static void addend_make(addend_t *to, const point_t *p) {
    field_subtract(&to->less, &p->y, &p->x);
    field_add(&to->more, &p->y, &p->x);
    field_add(&to->z, &p->z, &p->z);
    field_multiply(&to->t, &p->t, &curve_d);
    field_add(&to->t, &to->t, &to->t);
}

/* A root of u / v; 0 where there is none. It is u v^3 (u v^7)^((p - 5) / 8), or that times the root of -1. */
static int field_root(number_t *to, const number_t *u, const number_t *v) {
    number_t cube, check, negative;
    field_multiply(&cube, v, v);
    field_multiply(&cube, &cube, v);
    field_multiply(&check, &cube, &cube);
    field_multiply(&check, &check, v);
    field_multiply(&check, &check, u);
    field_power(to, &check);
    field_multiply(to, to, &cube);
    field_multiply(to, to, u);

    field_multiply(&check, to, to);
    field_multiply(&check, &check, v);
    if (field_equal(&check, u)) return 1;
    field_subtract(&negative, &zero, u);
    field_multiply(to, to, &root_of_minus_one);
    return field_equal(&check, &negative);
}

/* The negative of the point that a key encodes; 0 where it encodes none, or not in the only way. */
APART static int point_read_negative(point_t *p, const uint8_t key[32]) {
    number_t x, y, u, v;
    number_read(&y, key);
    y.word[7] &= 0x7fffffffu;
    if (number_subtract(&u, &y, &prime) == 0u) return 0;
    field_multiply(&v, &y, &y); /* x^2 = (y^2 - 1) / (d y^2 + 1) */
    field_subtract(&u, &v, &one);
    field_multiply(&v, &v, &curve_d);
    field_add(&v, &v, &one);
    if (!field_root(&x, &u, &v)) return 0;
    field_settle(&x);
    if ((x.word[0] & 1u) == (uint32_t)key[31] >> 7) field_subtract(&x, &zero, &x);
    point_make(p, &x, &y);
    return 1;
}

/* Whether eight times the point is zero. A point whose x is 0 is zero or its own negative, and 8 p is not the latter. */
APART static int point_is_small(const point_t *p) {
    point_t eight = *p;
    uint32_t i;
    for (i = 0; i < 3u; i++) point_double(&eight);
    return field_equal(&eight.x, &zero);
}

/* p = [s] B + [k] p, with both numbers at once, from the highest bit on. */
APART static void point_combine(point_t *p, const number_t *s, const number_t *k) {
    addend_t addends[3]; /* B, p and B + p */
    point_t sum;
    uint32_t i;
    addend_make(&addends[1], p);
    point_make(&sum, &base_x, &base_y);
    addend_make(&addends[0], &sum);
    point_add(&sum, &addends[1]);
    addend_make(&addends[2], &sum);
    point_make(p, &zero, &one);
    for (i = 0; i <= TOP_BIT; i++) {
        const uint32_t which = number_bit(s, TOP_BIT - i) | number_bit(k, TOP_BIT - i) << 1;
        point_double(p);
        if (which != 0u) point_add(p, &addends[which - 1u]);
    }
}

/* The only encoding of a point: y, and in the highest bit whether x is odd. */
APART static void point_write(number_t *to, const point_t *p) {
    number_t x;
    field_invert(to, &p->z);
    field_multiply(&x, &p->x, to);
    field_multiply(to, &p->y, to);
    field_settle(&x);
    field_settle(to);
    to->word[7] |= x.word[0] << 31;
}

/* SHA-512 of R, the key and the message, modulo the order; 0 where the message cannot be read. */
APART static int hash_to_number(number_t *k, const uint8_t r[32], const uint8_t key[32],
                                const mote_message_t *message) {
    uint8_t block[MOTE_READ_BYTES];
    mote_sha512_t hash;
    uint32_t at, some;
    mote_sha512_begin(&hash);
    mote_sha512_update(&hash, r, 32);
    mote_sha512_update(&hash, key, 32);
    if (message->data != NULL) {
        mote_sha512_update(&hash, message->data, (size_t)message->bytes);
    } else {
        for (at = 0; at < message->bytes; at += some) {
            some = message->bytes - at < sizeof block ? message->bytes - at : (uint32_t)sizeof block;
            if (message->read(message->from, at, block, some) != 0) return 0;
            mote_sha512_update(&hash, block, (size_t)some);
        }
    }
    mote_sha512_end(&hash, block);
    number_modulo_order(k, block);
    return 1;
}

/* What is left once k is known: whether R = [S] B - [k] A. */
static mote_verdict_t check(const uint8_t signature[64], const uint8_t key[32], const number_t *s,
                              const number_t *k) {
    point_t p;
    number_t r, found;
    if (!point_read_negative(&p, key) || point_is_small(&p)) return MOTE_SIGNATURE_KEY;
    point_combine(&p, s, k);
    point_write(&found, &p);
    number_read(&r, signature);
    return memcmp(&found, &r, sizeof r) == 0 ? MOTE_SIGNATURE_VALID : MOTE_SIGNATURE_WRONG;
}

mote_verdict_t mote_ed25519_verify(void *context, const uint8_t signature[64], const uint8_t public_key[32],
                                     const mote_message_t *message) {
    number_t s, k;
    (void)context;
    number_read(&s, signature + 32);
    if (number_reduce(&s, &order) != 0u) return MOTE_SIGNATURE_WRONG;
    if (!hash_to_number(&k, signature, public_key, message)) return MOTE_SIGNATURE_UNREAD;
    return check(signature, public_key, &s, &k);
}
