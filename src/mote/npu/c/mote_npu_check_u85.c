/* mote_npu_check_u85.c: mote_npu_check() of streams for Ethos-U85. A device has this file or mote_npu_check.c. */
#include "mote_npu_check.h"

#include <string.h>

enum { COP1 = 0x31504f43, ACTION_CONFIG = 1, ACTION_STREAM = 2, ACTION_NOP = 5 };
enum { OP_STOP = 0, OP_CONV = 2, OP_DEPTHWISE = 3, OP_POOL = 5, OP_ELEMENTWISE = 6, OP_RESIZE = 7, OP_DMA = 16 };
enum { /* registers of 16 bits, by their codes less 0x100; those of IFM2 follow 0x80 behind those of IFM */
    PAD_TOP = 0x00,
    PAD_LEFT = 0x01,
    PAD_RIGHT = 0x02,
    PAD_BOTTOM = 0x03,
    IFM_DEPTH = 0x04,
    PRECISION = 0x05,
    UPSCALE = 0x07,
    IFM_BROADCAST = 0x08,
    WIDTH0 = 0x0a, /* then HEIGHT0 and HEIGHT1; OFM and IFM2 have theirs in the same places */
    REGION = 0x0f,
    OFM_WIDTH = 0x11,
    OFM_HEIGHT = 0x12,
    OFM_DEPTH = 0x13,
    OFM_PRECISION = 0x14,
    KERNEL_WIDTH = 0x20,
    KERNEL_HEIGHT = 0x21,
    KERNEL_STRIDE = 0x22,
    ACCUMULATOR = 0x24,
    ACTIVATION = 0x25,
    WEIGHT_REGION = 0x28,
    SCALE_REGION = 0x29,
    WEIGHT_FORMAT = 0x2e,
    SOURCE_REGION = 0x30,
    TARGET_REGION = 0x31,
    SIZE0 = 0x32,
    SIZE1 = 0x33,
    INDEX_REGION = 0x34,
    IFM2_BROADCAST = 0x80
};
enum { /* registers of more bits, by their codes */
    STRIDE_X = 0x04,
    STRIDE_Y = 0x05,
    STRIDE_C = 0x06,
    WEIGHT_BASE = 0x20, /* then its length; of other decoders from 0x90 on */
    SCALE_BASE = 0x22,
    SOURCE = 0x30,
    TARGET = 0x31,
    LENGTH = 0x32,
    SOURCE_STRIDE = 0x33, /* two, then the target's */
    INDEX = 0x37,
    INDEX_MAX = 0x38,
    INDEX_SKIP = 0x39
};
enum { SHORTS = 0x90, LONGS = 0x98, INTERNAL = MOTE_NPU_REGIONS, TABLES = 2048 };

typedef struct {
    const uint32_t *sizes;
    uint32_t writable, cores;
    mote_npu_status status;      /* the first thing that was wrong with an operation */
    uint8_t has[SHORTS + LONGS]; /* whether a register was set */
    uint16_t shorts[SHORTS];
    int64_t longs[LONGS];
} mote_npu_t;

static void mote_npu_require(mote_npu_t *npu, int good, mote_npu_status otherwise) {
    npu->status = npu->status == MOTE_NPU_OK && !good ? otherwise : npu->status;
}

/* A register that an operation needs. */
static uint32_t mote_npu_short(mote_npu_t *npu, uint32_t number) {
    mote_npu_require(npu, npu->has[number], MOTE_NPU_UNSET);
    return npu->shorts[number];
}

static int64_t mote_npu_long(mote_npu_t *npu, uint32_t number) {
    mote_npu_require(npu, npu->has[SHORTS + number], MOTE_NPU_UNSET);
    return npu->longs[number];
}

/* The bits that registers of 16 bits have, 0 where there is no register: rows 0x100 to 0x130, and 0x180. */
static const uint16_t mote_npu_bits[5 * 16] = {
    0x007f, 0x007f, 0x00ff, 0x00ff, 0xffff, 0xc04d, 0x0000, 0x0003,
    0x000f, 0xffff, 0xffff, 0xffff, 0xffff, 0x0000, 0x0000, 0x0007,
    0x0000, 0xffff, 0xffff, 0xffff, 0xff47, 0x007f, 0x007f, 0x03ff,
    0xffff, 0x0000, 0xffff, 0xffff, 0xffff, 0x0000, 0x0000, 0x0007,
    0xffff, 0xffff, 0x027f, 0x0000, 0x0771, 0x10ff, 0xffff, 0xffff,
    0x0007, 0x0007, 0x07ff, 0x07ff, 0x0fff, 0x0fff, 0x0011, 0x0007,
    0x0f07, 0x0907, 0xffff, 0xffff, 0x0007, 0x0000, 0x0000, 0x0000,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000,
    0x000f, 0x0000, 0x0000, 0x0000, 0x0000, 0xc04d, 0x0000, 0x0000,
    0x0000, 0xffff, 0xffff, 0xffff, 0xffff, 0x0000, 0x0000, 0x0007};

/* Set a register of 16 bits. */
static mote_npu_status mote_npu_set_short(mote_npu_t *npu, uint32_t number, uint32_t value) {
    const uint32_t row = number >> 4;
    const uint32_t bits = row < 4 ? mote_npu_bits[number] : row == 8 ? mote_npu_bits[number - 64u] : 0;
    int good = (value & ~bits) == 0;
    if (bits == 0) {
        return MOTE_NPU_COMMAND;
    }
    if (number == UPSCALE) {
        good &= value < 3;
    } else if (number == IFM_BROADCAST || number == IFM2_BROADCAST) {
        good &= value <= 8;
    } else if (number == OFM_PRECISION) {
        good &= (value >> 12 & 3u) != 2; /* transposes 4 and 5 */
    } else if (number == ACCUMULATOR) {
        good &= (value >> 4 & 3u) != 3 && (value >> 8) < 6;
    } else if (number == ACTIVATION) {
        good &= (0xfb3u >> (value & 31u) & 1u) != 0;
    } else if (number == SOURCE_REGION) {
        good &= (value >> 9 & 3u) != 3;
    }
    npu->has[number] = 1;
    npu->shorts[number] = (uint16_t)value;
    return good ? MOTE_NPU_OK : MOTE_NPU_VALUE;
}

/* Set a register of more bits. */
static mote_npu_status mote_npu_set_long(mote_npu_t *npu, uint32_t number, uint32_t high, uint32_t low) {
    const uint32_t row = number >> 4, column = number & 15u;
    const int map = row < 2 || row == 8, stride = map && column >= STRIDE_X;
    uint32_t bits = 0xff, more = 0xffffffffu; /* of the parameter, of the data */
    if ((map && column > 6) || (row == 2 && column > 7) || (row == 3 && column > 9) || (row > 3 && row < 8) ||
        (row == 9 && column > 7) || row > 9) {
        return MOTE_NPU_COMMAND;
    }
    if (number >= 0x24 && number <= 0x26) { /* scales */
        bits = number == 0x24 ? 0xe7ff : 0x27ff;
        more = 0x7fffffff;
    } else if (number == 0x96 || number == 0x97) { /* steps of RESIZE */
        bits = 0x7fff;
        more = 0x07ff07ff;
    } else if (number == 0x27 || number == INDEX_MAX || ((row == 2 || row == 9) && (column & 1u) != 0)) {
        bits = 0;
        more = number == SCALE_BASE + 1 ? 0xfffff : number == INDEX_MAX ? 0x7fffffff : more;
    }
    int64_t value = (int64_t)((uint64_t)(high & 0xffu) << 32 | low);
    if (stride || (number >= SOURCE_STRIDE && number < INDEX) || number == INDEX_SKIP) { /* with a sign */
        value = (value ^ (int64_t)1 << 39) - ((int64_t)1 << 39);
    }
    npu->has[SHORTS + number] = 1;
    npu->longs[number] = value;
    return (high & ~bits) == 0 && (low & ~more) == 0 && (number != 0x24 || high >> 13 < 6) ? MOTE_NPU_OK
                                                                                          : MOTE_NPU_VALUE;
}

/* Bytes behind a base pointer, or of internal memory. */
static void mote_npu_touch(mote_npu_t *npu, uint32_t region, int64_t begin, int64_t end, int writes) {
    mote_npu_require(npu, begin >= 0 && end <= (int64_t)(region == INTERNAL ? TABLES : npu->sizes[region]),
                     MOTE_NPU_OUTSIDE);
    mote_npu_require(npu, !writes || region == INTERNAL || (npu->writable >> region & 1u) != 0, MOTE_NPU_READ_ONLY);
}

/* A base and a length, both multiples of 16. */
static int64_t mote_npu_constants(mote_npu_t *npu, uint32_t region, uint32_t first, int optional) {
    const int64_t length = mote_npu_long(npu, first + 1);
    const uint32_t at = mote_npu_short(npu, region);
    if (length != 0 || !optional) {
        const int64_t base = mote_npu_long(npu, first);
        mote_npu_require(npu, ((base | length) & 15) == 0, MOTE_NPU_ALIGNMENT);
        mote_npu_touch(npu, at, base, base + length, 0);
    }
    return length;
}

/* Whether a feature map is in memory. */
static int mote_npu_stored(mote_npu_t *npu, uint32_t precision) {
    const uint32_t storage = mote_npu_short(npu, precision) >> 14;
    mote_npu_require(npu, storage != 1, MOTE_NPU_VALUE);
    return storage == 0;
}

/* The bytes of a feature map, whose registers begin at `row`: rows, columns and channels in up to four tiles. */
static void mote_npu_map(mote_npu_t *npu, uint32_t row, const uint32_t shape[3]) {
    const uint32_t number = row == 0x10 ? OFM_PRECISION : row + PRECISION;
    if (!mote_npu_stored(npu, number)) {
        return;
    }
    const uint32_t precision = npu->shorts[number], bricks = precision >> 6 & 1u, region = mote_npu_short(npu, row + REGION);
    const uint32_t w0 = mote_npu_short(npu, row + WIDTH0) + 1u, h0 = mote_npu_short(npu, row + WIDTH0 + 1) + 1u;
    const uint32_t h1 = mote_npu_short(npu, row + WIDTH0 + 2) + 1u, rows = shape[0], columns = shape[1], depth = shape[2];
    const int64_t bytes = (int64_t)1 << (precision >> (row == 0x10 ? 1 : 2) & 3u), unit = bricks ? 16 : bytes;
    const int64_t own = mote_npu_long(npu, row + STRIDE_X);
    const int64_t strides[3] = {mote_npu_long(npu, row + STRIDE_Y), bricks ? 16 * bytes : own,
                                bricks ? mote_npu_long(npu, row + STRIDE_C) : 0};
    for (uint32_t tile = 0; tile < 4; tile++) {
        const uint32_t right = tile & 1u, height = right ? h1 : h0, lower = tile >> 1;
        int64_t begin = mote_npu_long(npu, row + tile), end = begin + (bricks ? 16 : depth) * bytes, all = begin;
        if ((right && columns <= w0) || (lower && rows <= height)) {
            continue;
        }
        const int64_t steps[3] = {(lower ? rows - height : rows < height ? rows : height) - 1,
                                  (right ? columns - w0 : columns < w0 ? columns : w0) - 1,
                                  bricks ? (depth - 1) / 16 : 0};
        for (uint32_t i = 0; i < 3; i++) {
            const int64_t reach = steps[i] * strides[i];
            *(reach < 0 ? &begin : &end) += reach;
            all |= strides[i];
        }
        mote_npu_require(npu, (all & (unit - 1)) == 0, MOTE_NPU_ALIGNMENT);
        mote_npu_touch(npu, region, begin, end, row == 0x10);
    }
}

/* A feature map that is repeated along rows, columns or channels, unless it is a number. */
static void mote_npu_broadcast(mote_npu_t *npu, uint32_t row, uint32_t mode, const uint32_t made[3]) {
    const uint32_t shape[3] = {mode & 1u ? 1 : made[0], mode & 2u ? 1 : made[1], mode & 4u ? 1 : made[2]};
    if (mode != 8) {
        mote_npu_map(npu, row, shape);
    }
}

/* Rows or columns of the input of a window. */
static uint32_t mote_npu_covered(mote_npu_t *npu, uint32_t made, uint32_t window, uint32_t step, uint32_t before,
                                 uint32_t behind) {
    const uint32_t pads = mote_npu_short(npu, before) + mote_npu_short(npu, behind);
    const uint32_t reach = (made - 1u) * step + mote_npu_short(npu, window) + 1u; /* at most 2^18 */
    const uint32_t read = reach > pads ? reach - pads : 1u;
    mote_npu_require(npu, reach > pads, MOTE_NPU_VALUE);
    return mote_npu_short(npu, UPSCALE) != 0 ? (read + 1u) / 2u : read;
}

/* An operation that computes. */
static void mote_npu_operate(mote_npu_t *npu, uint32_t op, uint32_t mode) {
    static const uint8_t orders[8] = {0x24, 0x21, 0x18, 0x09, 0, 0, 0x12, 0x06}; /* axes of a transpose, 2 bits each */
    const uint32_t made[3] = {mote_npu_short(npu, OFM_HEIGHT) + 1u, mote_npu_short(npu, OFM_WIDTH) + 1u,
                              mote_npu_short(npu, OFM_DEPTH) + 1u};
    const uint32_t precision = mote_npu_short(npu, OFM_PRECISION), order = orders[precision >> 11 & 7u];
    const uint32_t stored[3] = {made[order & 3u], made[order >> 2 & 3u], made[order >> 4 & 3u]};
    const int conv = op == OP_CONV || op == OP_DEPTHWISE, weights = op == OP_CONV && mode == 1;
    mote_npu_map(npu, 0x10, stored);
    if (op == OP_ELEMENTWISE) {
        if ((mode < 5 || mode > 7) && mode != 36) {
            mote_npu_broadcast(npu, 0x80, mote_npu_short(npu, IFM2_BROADCAST), made);
        }
        mote_npu_broadcast(npu, 0, mote_npu_short(npu, IFM_BROADCAST), made);
    } else if (weights) {
        const uint32_t shape[3] = {1, made[2], mote_npu_short(npu, IFM_DEPTH) + 1u};
        mote_npu_require(npu, made[0] == 1, MOTE_NPU_VALUE);
        mote_npu_map(npu, 0x80, shape);
    } else if ((mote_npu_short(npu, ACCUMULATOR) >> 4 & 3u) == 2) {
        mote_npu_map(npu, 0x80, made);
    }
    if (conv && !weights) {
        (void)mote_npu_short(npu, WEIGHT_FORMAT);
        for (uint32_t core = 0; core < npu->cores; core++) {
            (void)mote_npu_constants(npu, WEIGHT_REGION, core == 0 ? WEIGHT_BASE : 0x8eu + 2u * core, 1);
        }
    }
    if ((precision & 0x100) == 0) {
        const int64_t scales = mote_npu_constants(npu, SCALE_REGION, SCALE_BASE, 0);
        mote_npu_require(npu, scales >= (int64_t)10 * made[2], MOTE_NPU_VALUE);
    }
    if (op != OP_ELEMENTWISE) {
        uint32_t shape[3] = {0, 0, made[2]};
        if (op == OP_RESIZE) {
            shape[0] = mote_npu_short(npu, KERNEL_HEIGHT) + 1u;
            shape[1] = mote_npu_short(npu, KERNEL_WIDTH) + 1u;
        } else {
            const uint32_t stride = mote_npu_short(npu, KERNEL_STRIDE);
            const uint32_t x = 1u + (stride & 1u) + (stride >> 5 & 2u), y = 1u + (stride >> 1 & 1u) + (stride >> 8 & 2u);
            shape[0] = mote_npu_covered(npu, made[0], KERNEL_HEIGHT, y, PAD_TOP, PAD_BOTTOM);
            shape[1] = mote_npu_covered(npu, made[1], KERNEL_WIDTH, x, PAD_LEFT, PAD_RIGHT);
        }
        if (mote_npu_stored(npu, PRECISION)) {
            const uint32_t own = mote_npu_short(npu, IFM_DEPTH) + 1u;
            shape[2] = op == OP_CONV || (op == OP_POOL && mode == 2) || own > made[2] ? own : made[2];
            mote_npu_map(npu, 0, shape);
        }
    }
    if (npu->has[ACTIVATION] && (npu->shorts[ACTIVATION] & 31u) != 0) {
        const uint32_t function = npu->shorts[ACTIVATION] & 31u, number = npu->shorts[ACTIVATION] >> 5 & 7u;
        const int64_t size = function == 1 || function == 4 ? 256 : function == 5 ? 512 : function == 7 ? 1024 : TABLES;
        mote_npu_touch(npu, INTERNAL, size * number, size * (number + 1), 0);
    }
}

/* One side of a transfer with strides, of rows that are counted or that indices name. */
static void mote_npu_side(mote_npu_t *npu, uint32_t region, int64_t at, int64_t inner, int64_t outer, uint32_t stride,
                          int writes) {
    const int64_t steps[2] = {inner, outer};
    int64_t begin = at, end = at + npu->longs[LENGTH];
    for (uint32_t i = 0; i < 2; i++) {
        if (steps[i] > 0) {
            const int64_t distance = mote_npu_long(npu, stride + i), most = ((int64_t)1 << 32) / steps[i] + 1;
            const int64_t limited = distance > most ? most : distance < -most ? -most : distance; /* outside already */
            *(limited < 0 ? &begin : &end) += steps[i] * limited;
        }
    }
    mote_npu_touch(npu, region, begin, end, writes);
}

/* A transfer. */
static void mote_npu_transfer(mote_npu_t *npu) {
    const uint32_t source = mote_npu_short(npu, SOURCE_REGION), target = mote_npu_short(npu, TARGET_REGION);
    const int64_t from = mote_npu_long(npu, SOURCE), to = mote_npu_long(npu, TARGET), bytes = mote_npu_long(npu, LENGTH);
    const uint32_t mode = source >> 9 & 3u, gathers = source >> 11 & 1u, scatters = target >> 11 & 1u;
    const uint32_t place = target >> 8 & 1u ? (uint32_t)INTERNAL : target & 7u;
    mote_npu_require(npu, (source >> 8 & 1u) == 0, MOTE_NPU_VALUE);
    mote_npu_require(npu, place != INTERNAL || ((to | bytes) & 15) == 0, MOTE_NPU_ALIGNMENT);
    if (mode == 0 && !gathers && !scatters) {
        mote_npu_touch(npu, source & 7u, from, from + bytes, 0);
        mote_npu_touch(npu, place, to, to + bytes, 1);
        return;
    }
    const int64_t inner = mote_npu_short(npu, SIZE0), outer = mode == 2 ? (int64_t)mote_npu_short(npu, SIZE1) : 1;
    mote_npu_require(npu, !(gathers && scatters) && inner > 0 && outer > 0, MOTE_NPU_VALUE);
    const int64_t named = gathers || scatters ? mote_npu_long(npu, INDEX_MAX) : 0;
    mote_npu_side(npu, source & 7u, from, gathers ? named : inner - 1, outer - 1, SOURCE_STRIDE, 0);
    mote_npu_side(npu, place, to, scatters ? named : inner - 1, outer - 1, SOURCE_STRIDE + 2, 1);
    if (gathers || scatters) {
        const int64_t first = mote_npu_long(npu, INDEX), skip = outer > 1 ? mote_npu_long(npu, INDEX_SKIP) : 0;
        mote_npu_require(npu, skip >= 0, MOTE_NPU_VALUE);
        mote_npu_require(npu, ((first | skip) & 3) == 0, MOTE_NPU_ALIGNMENT);
        mote_npu_touch(npu, mote_npu_short(npu, INDEX_REGION), first,
                       first + (outer - 1) * (4 * inner + skip) + 4 * inner, 0);
    }
}

/* Whether an operation has a mode. */
static int mote_npu_mode(uint32_t op, uint32_t mode) {
    switch (op) {
    case OP_CONV:
        return mode <= 1;
    case OP_POOL:
        return mode <= 7;
    case OP_ELEMENTWISE:
        return mode < 12 || (mode >= 16 && mode < 20) || (mode >= 33 && mode < 37) || mode == 42;
    case OP_RESIZE:
        return mode <= 2;
    case OP_DMA + 1: /* waits for transfers and operations, PMU_MASK */
        return mode <= 3;
    case OP_DMA + 2:
    case OP_DMA + 3:
        return mode <= 1;
    default:
        return mode == 0;
    }
}

/* The commands of a stream, from `words` to `end`, which is not read; `words` ends where it was refused. */
static mote_npu_status mote_npu_run(mote_npu_t *npu, const uint32_t **words, const uint32_t *end) {
    for (; *words < end; *words += 1) {
        const uint32_t word = **words, op = word & 0xffffu, value = word >> 16, code = word & 0x3fffu, more = word >> 14 & 3u;
        if (op == OP_STOP) {
            return *words + 1 == end ? MOTE_NPU_OK : MOTE_NPU_COMMAND;
        }
        if (op == OP_CONV || op == OP_DEPTHWISE || (op >= OP_POOL && op <= OP_RESIZE) || (op >= OP_DMA && op <= OP_DMA + 3)) {
            mote_npu_require(npu, mote_npu_mode(op, value), MOTE_NPU_VALUE);
            if (op < OP_DMA) {
                mote_npu_operate(npu, op, value);
            } else if (op == OP_DMA) {
                mote_npu_transfer(npu);
            }
        } else if (more == 0) {
            npu->status = code - 0x100u < SHORTS ? mote_npu_set_short(npu, code - 0x100u, value) : MOTE_NPU_COMMAND;
        } else if (more == 1 && code < LONGS && end - *words >= 2) {
            npu->status = mote_npu_set_long(npu, code, value, (*words)[1]);
            *words += npu->status == MOTE_NPU_OK;
        } else {
            npu->status = MOTE_NPU_COMMAND;
        }
        if (npu->status != MOTE_NPU_OK) {
            return npu->status;
        }
    }
    return MOTE_NPU_COMMAND;
}

mote_npu_status mote_npu_check(const void *payload, uint32_t bytes, const uint32_t sizes[MOTE_NPU_REGIONS],
                               uint32_t writable, uint32_t *at) {
    const uint32_t *words = (const uint32_t *)payload;
    const uint32_t *const end = words + bytes / 4u;
    mote_npu_status status = MOTE_NPU_OK;
    uint32_t unused, macs, config = 0, streams = 0;
    mote_npu_t npu;
    memset(&npu, 0, sizeof npu);
    npu.sizes = sizes;
    npu.writable = writable;
    at = at == NULL ? &unused : at;
    *at = 0;
    if (bytes % 4u != 0 || words == end || *words++ != COP1) {
        return MOTE_NPU_PAYLOAD;
    }
    while (words < end && status == MOTE_NPU_OK) {
        const uint32_t tag = *words, action = tag & 0xffu, left = (uint32_t)(end - words) - 1u;
        const uint32_t length = (tag & 0xff00u) << 8 | tag >> 16;
        *at = bytes - 4u * (left + 1u);
        if (action == ACTION_CONFIG && (tag & 0xff00ff00u) == 0 && config == 0 && left >= 2) {
            config = 1;
            macs = words[1] & 15u; /* their logarithm */
            npu.cores = (uint32_t)1 << (words[1] >> 12 & 3u);
            status = words[1] >> 28 != 2 || (words[1] >> 4 & 15u) != 1 || words[2] >> 28 != 2 || macs < 7 || macs > 11 ||
                             npu.cores > 4
                         ? MOTE_NPU_CORE
                         : MOTE_NPU_OK;
            words += 3;
        } else if (action == ACTION_STREAM && config == 1 && streams == 0 && length <= left &&
                   (bytes - 4u * left) % 16u == 0) {
            const uint32_t *const behind = words + 1 + length;
            streams = 1;
            words++;
            status = mote_npu_run(&npu, &words, behind);
            *at = bytes - 4u * (uint32_t)(end - words);
            words = behind;
        } else if (tag == ACTION_NOP) {
            words++;
        } else {
            status = MOTE_NPU_PAYLOAD;
        }
    }
    return status ? status : streams ? MOTE_NPU_OK : MOTE_NPU_PAYLOAD;
}
