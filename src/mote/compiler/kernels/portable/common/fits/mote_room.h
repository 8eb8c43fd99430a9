/* mote_room.h: what a step of an image may touch, for the functions that check a kernel's parameters before it runs.
 *
 * Parameters in an image come from outside. For every kernel there is a function `mote_<kernel>_fits(p, room)` that
 * returns 1 only where a call with these parameters, whatever the tensors and constant arrays hold, reads and writes
 * nothing but the room that it has, ends, divides by nothing that can be zero, and shifts by 0 to 31 bits. Sums and
 * products of values may wrap: the runtime is compiled with -fwrapv. Sizes are reckoned in 32 bits that do not wrap:
 * what is negative or does not fit an int32_t, as kernels reckon, is MOTE_MUCH, which nothing has room for.
 *
 * Arenas, working memory and sums begin at multiples of 8, places of rows in them at multiples of 4, so that all rows lie
 * at multiples of 4 where they have a multiple of 4 bytes.
 */
#ifndef MOTE_ROOM_H
#define MOTE_ROOM_H

#include "mote_common.h"

#define MOTE_MUCH UINT32_MAX
#define MOTE_OPERANDS 16 /* tensors that a step is given at most */
#define MOTE_LARGEST ((int32_t)1 << 24) /* of any number that rows, columns, channels, strides or steps are reckoned with */

/* How a step calls its kernel. */
enum {
    MOTE_RUN_WHOLE, /* mote_<name>(p, in..., out, units | lo, hi, scratch) over tensors in one piece */
    MOTE_RUN_ROW,   /* mote_<row>(p, rows, [y,] out, scratch): one output row from pointers to input rows */
    MOTE_RUN_EACH,  /* the function of MOTE_RUN_WHOLE for a row of each tensor: units of a row, or lo = 0 and hi = 1 */
    MOTE_RUN_ROWS,  /* mote_<rows>(p, rows, outs, count, scratch): up to `most` output rows at once */
    MOTE_RUN_SUMS,  /* mote_<name>(p, row, tap, part, sums, out, scratch): one input row into running sums */
    MOTE_RUN_RING   /* mote_ring(p, rows, buffer, &oldest) */
};

typedef struct {
    const uint8_t *image, *end;   /* arrays that parameters point to lie between these */
    int32_t form;                 /* MOTE_RUN_... */
    int32_t operands;             /* how many there are */
    uint32_t in[MOTE_OPERANDS];   /* bytes of each operand; by rows: of each of its rows; in a ring: of the new rows */
    uint32_t fixed;               /* a bit for each operand that lies in the image: no kernel may write it */
    uint32_t eights;              /* a bit for each operand whose rows all begin at multiples of 8 bytes, and bit
                                     MOTE_OPERANDS for the output; what is in one piece begins at a multiple of 4 */
    int32_t taps[MOTE_OPERANDS];  /* by rows: how many row pointers of each operand there are; EACH: how many of its rows
                                     lie one after another from the one on that is given */
    int32_t outside;              /* by rows: bit i is set where a row pointer of operand i may be NULL, for a row outside
                                     of the image */
    int32_t inside;               /* by rows: the fewest row pointers of the first operand that are not NULL in a call */
    int32_t start, step, spread;  /* ROW, ROWS: tap k of output row y is row start + y * step + k * spread of the first */
    int32_t rows;                 /* operand, which has so many rows; */
    const int32_t *list;          /* or, where this is not NULL, row list[n * taps[0] + k] of it, for n below */
    int32_t listed;               /* this; rows that it does not have are NULL */
    uint32_t out;                 /* bytes of the output; by rows: of each of its rows */
    const uint8_t *at[MOTE_OPERANDS], *to; /* WHOLE, RING: where operands and the output begin; else NULL */
    int32_t lo, hi;               /* WHOLE, EACH: output rows lo..hi-1, or hi units; ROW, ROWS: every output row that is
                                     computed, SUMS: every tap is in lo..hi-1; RING: the buffer has hi rows */
    int32_t most;                 /* ROWS: the largest count */
    uint32_t scratch, sums;       /* bytes of working memory and of running sums; addresses are multiples of 4 */
    uint32_t lent;                /* bytes of working memory that stand for an array where kernels call others; else 0 */
    const void *copied;           /* an array of which kernels that others call read a copy, or NULL: */
    uint32_t copies;              /* its bytes */
} mote_room_t;

/* a * b, or MOTE_MUCH. */
static inline uint32_t mote_much_times(uint32_t a, uint32_t b) {
    const uint64_t product = (uint64_t)a * b;
    return product > INT32_MAX ? MOTE_MUCH : (uint32_t)product;
}

/* a + b, or MOTE_MUCH. */
static inline uint32_t mote_much_plus(uint32_t a, uint32_t b) {
    const uint64_t sum = (uint64_t)a + b;
    return sum > INT32_MAX ? MOTE_MUCH : (uint32_t)sum;
}

/* A number of a parameter as a size. */
static inline uint32_t mote_size(int32_t x) { return x < 0 ? MOTE_MUCH : (uint32_t)x; }

/* Bytes of a times b elements of a size. */
static inline uint32_t mote_bytes_of(int32_t a, int32_t b, uint32_t size) {
    return mote_much_times(mote_much_times(mote_size(a), mote_size(b)), size);
}

static inline int mote_within(int32_t x, int32_t lo, int32_t hi) { return x >= lo && x <= hi; }

/* Whether an array that parameters point to has room for so many bytes in the image, at a multiple of `alignment`. A
 * pointer to the room itself stands for working memory that the kernel will put there. */
static inline int mote_holds(const mote_room_t *room, const void *array, uint32_t bytes, uint32_t alignment) {
    const uintptr_t at = (uintptr_t)array, begin = (uintptr_t)room->image, end = (uintptr_t)room->end;
    if (array == (const void *)room) {
        return bytes <= room->lent;
    }
    if (array == room->copied && bytes > room->copies) {
        return 0;
    }
    return at >= begin && at <= end && bytes <= end - at && at % alignment == 0;
}

/* Whether `bytes` of operand k, from byte `from` on, lie apart from the `made` bytes of the output from byte `to` on: what
 * kernels that copy a tensor ask for. Rows are not compared. */
static inline int mote_apart(const mote_room_t *room, int32_t k, uint32_t from, uint32_t bytes, uint32_t to,
                             uint32_t made) {
    const uintptr_t source = (uintptr_t)room->at[k] + (uintptr_t)from;
    const uintptr_t target = (uintptr_t)room->to + (uintptr_t)to;
    return room->to == NULL || (source - target >= made && target - source >= bytes);
}

#endif
