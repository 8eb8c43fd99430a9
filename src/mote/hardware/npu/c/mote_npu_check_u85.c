/* mote_npu_check_u85.c: mote_npu_check() of streams for Ethos-U85. */
#include "mote_npu_stream.h"

enum { /* in rows of SHORTS */
    IFM_BROADCAST = 0x08,
    WEIGHT_FORMAT = 0x2e,
    SIZE0 = 0x32,
    SIZE1 = 0x33,
    INDEX_REGION = 0x34
};
enum { /* in rows of LONGS */
    SOURCE_STRIDE = DMA_LENGTH + 1, /* two, then the target's */
    INDEX = DMA_LENGTH + 5,
    INDEX_MAX = DMA_LENGTH + 6,
    INDEX_SKIP = DMA_LENGTH + 7
};
enum { TABLES = 2048 }; /* bytes of internal memory */

static int mote_npu_configure(mote_npu_t *npu, uint32_t config, uint32_t architecture) {
    const uint32_t macs = config & 15u; /* their logarithm */
    npu->kind = (uint32_t)1 << (config >> 12 & 3u); /* weight decoders */
    npu->internal = TABLES;
    return config >> 28 == 2 && (config >> 4 & 15u) == 1 && architecture >> 28 == 2 && macs >= 7 && macs <= 11 &&
           npu->kind <= 4;
}

static void mote_npu_refuse(mote_npu_t *npu, mote_npu_status status) {
    npu->status = npu->status == MOTE_NPU_OK ? status : npu->status;
}

static void mote_npu_require(mote_npu_t *npu, int good, mote_npu_status otherwise) {
    mote_npu_refuse(npu, good ? MOTE_NPU_OK : otherwise);
}

/* Registers of a row that an operation needs. */
static void mote_npu_need(mote_npu_t *npu, uint32_t is_long, uint32_t row, uint32_t needed) {
    mote_npu_require(npu, mote_npu_has(npu, is_long, row, needed), MOTE_NPU_UNSET);
}

/* The bits that registers of 16 bits have, 0 where there is no register. */
static const uint16_t mote_npu_bits[5 * SHORTS] = {
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

static mote_npu_status mote_npu_set_short(const mote_npu_t *npu, uint32_t number, uint32_t value) {
    const uint32_t bits = mote_npu_bits[number];
    int good = (value & ~bits) == 0;
    (void)npu;
    if (bits == 0) {
        return MOTE_NPU_COMMAND;
    }
    if (number == IFM_UPSCALE) {
        good &= value < 3;
    } else if (number == IFM_BROADCAST || number == IFM2_BROADCAST) {
        good &= value <= 8;
    } else if (number == OFM_PRECISION) {
        good &= (value >> 12 & 3u) != 2; /* transposes 4 and 5 */
    } else if (number == ACCUMULATOR) {
        good &= (value >> 4 & 3u) != 3 && (value >> 8) < 6;
    } else if (number == ACTIVATION) {
        good &= (0xfb3u >> (value & 31u) & 1u) != 0;
    } else if (number == DMA_SOURCE_REGION) {
        good &= (value >> 9 & 3u) != 3;
    }
    return good ? MOTE_NPU_OK : MOTE_NPU_VALUE;
}

static mote_npu_status mote_npu_set_long(mote_npu_t *npu, uint32_t row, uint32_t column, uint32_t high, uint32_t low) {
    static const uint8_t columns[ROWS] = {7, 7, 8, 10, 7, 8};
    const uint32_t number = row * LONGS + column;
    const int stride = (row <= OFM || row == IFM2) && column >= STRIDE_X, scale = row == PARAMETERS && column >= 4;
    uint32_t bits = 0xff, more = 0xffffffffu; /* of the parameter, of the data */
    if (column >= columns[row]) {
        return MOTE_NPU_COMMAND;
    }
    if (scale && column < 7) {
        bits = column == 4 ? 0xe7ff : 0x27ff;
        more = 0x7fffffff;
    } else if (row == FURTHER && column >= 6) { /* steps of RESIZE */
        bits = 0x7fff;
        more = 0x07ff07ff;
    } else if (number == INDEX_MAX || ((row == PARAMETERS || row == FURTHER) && (column & 1u) != 0)) { /* lengths */
        bits = 0;
        more = number == SCALE_BASE + 1 ? 0xfffff : number == INDEX_MAX ? 0x7fffffff : more;
    }
    int64_t value = (int64_t)((uint64_t)(high & 0xffu) << 32 | low);
    if (stride || (number >= SOURCE_STRIDE && number < INDEX) || number == INDEX_SKIP) { /* with a sign */
        value = (value ^ (int64_t)1 << 39) - ((int64_t)1 << 39);
    }
    npu->longs[number] = value;
    return (high & ~bits) == 0 && (low & ~more) == 0 && (!scale || column != 4 || high >> 13 < 6) ? MOTE_NPU_OK
                                                                                                  : MOTE_NPU_VALUE;
}

/* Bytes that are read or written. */
static void mote_npu_access(mote_npu_t *npu, uint32_t region, int64_t begin, int64_t end, int writes) {
    mote_npu_refuse(npu, mote_npu_touch(npu, region, begin, end, writes));
}

/* Whether a feature map is in memory. */
static int mote_npu_stored(mote_npu_t *npu, uint32_t row, uint32_t number) {
    const uint32_t storage = npu->shorts[number] >> 14;
    mote_npu_need(npu, 0, row, (uint32_t)1 << number % SHORTS);
    mote_npu_require(npu, storage != 1, MOTE_NPU_VALUE);
    return storage == 0;
}

/* A feature map, unless it is not in memory. */
static void mote_npu_stored_map(mote_npu_t *npu, uint32_t row, const uint32_t shape[3]) {
    const uint32_t number = row == OFM ? OFM_PRECISION : row * SHORTS + IFM_PRECISION;
    if (mote_npu_stored(npu, row, number)) {
        mote_npu_refuse(npu, mote_npu_map(npu, row, npu->shorts[number], shape));
    }
}

/* A feature map that is repeated along rows, columns or channels, unless it is a number. */
static void mote_npu_broadcast(mote_npu_t *npu, uint32_t row, uint32_t number, const uint32_t made[3]) {
    const uint32_t mode = npu->shorts[number];
    const uint32_t shape[3] = {mode & 1u ? 1 : made[0], mode & 2u ? 1 : made[1], mode & 4u ? 1 : made[2]};
    mote_npu_need(npu, 0, row, (uint32_t)1 << number % SHORTS);
    if (mode != 8) {
        mote_npu_stored_map(npu, row, shape);
    }
}

/* An operation that computes. */
static void mote_npu_compute(mote_npu_t *npu, uint32_t op, uint32_t mode) {
    static const uint8_t orders[8] = {0x24, 0x21, 0x18, 0x09, 0, 0, 0x12, 0x06}; /* axes of a transpose, 2 bits each */
    const uint16_t *const shorts = npu->shorts;
    const uint32_t made[3] = {shorts[OFM_HEIGHT] + 1u, shorts[OFM_WIDTH] + 1u, shorts[OFM_DEPTH] + 1u};
    const uint32_t precision = shorts[OFM_PRECISION], order = orders[precision >> 11 & 7u], own = shorts[IFM_DEPTH] + 1u;
    const uint32_t stored[3] = {made[order & 3u], made[order >> 2 & 3u], made[order >> 4 & 3u]};
    const int each = op == OP_ELEMENTWISE, weights = op == OP_CONV && mode == 1;
    uint32_t shape[3] = {made[0], made[1], made[2]};
    mote_npu_need(npu, 0, OFM, 0xe);
    mote_npu_stored_map(npu, OFM, stored);
    if (each) {
        if ((mode < 5 || mode > 7) && mode != 36) {
            mote_npu_broadcast(npu, IFM2, IFM2_BROADCAST, made);
        }
        mote_npu_broadcast(npu, IFM, IFM_BROADCAST, made);
    } else if (weights) { /* which the second feature map has */
        const uint32_t second[3] = {1, made[2], own};
        mote_npu_need(npu, 0, IFM, 1u << IFM_DEPTH);
        mote_npu_require(npu, made[0] == 1, MOTE_NPU_VALUE);
        mote_npu_stored_map(npu, IFM2, second);
    } else {
        mote_npu_need(npu, 0, PARAMETERS, 1u << ACCUMULATOR % SHORTS);
        if ((shorts[ACCUMULATOR] >> 4 & 3u) == 2) {
            mote_npu_stored_map(npu, IFM2, made);
        }
    }
    if ((op == OP_CONV || op == OP_DEPTHWISE) && !weights) {
        mote_npu_need(npu, 0, PARAMETERS, 1u << WEIGHT_FORMAT % SHORTS | 1u << WEIGHT_REGION % SHORTS);
        for (uint32_t core = 0; core < npu->kind; core++) {
            const uint32_t first = core == 0 ? WEIGHT_BASE : WEIGHT1_BASE - 2u + 2u * core;
            mote_npu_need(npu, 1, first / LONGS, (uint32_t)2 << first % LONGS);
            if (npu->longs[first + 1] != 0) { /* some decoders may have none */
                mote_npu_refuse(npu, mote_npu_constants(npu, WEIGHT_REGION, first));
            }
        }
    }
    if ((precision & 0x100) == 0) {
        mote_npu_refuse(npu, mote_npu_constants(npu, SCALE_REGION, SCALE_BASE));
        mote_npu_require(npu, npu->longs[SCALE_BASE + 1] >= (int64_t)10 * made[2], MOTE_NPU_VALUE);
    }
    if (op == OP_RESIZE) {
        mote_npu_need(npu, 0, PARAMETERS, 3);
        shape[0] = shorts[KERNEL_HEIGHT] + 1u;
        shape[1] = shorts[KERNEL_WIDTH] + 1u;
        shape[2] = own > made[2] ? own : made[2];
    } else if (!each) {
        mote_npu_refuse(npu, mote_npu_window(npu, op, mode, shape));
    }
    if (!each && npu->status == MOTE_NPU_OK && mote_npu_stored(npu, IFM, IFM_PRECISION)) {
        mote_npu_need(npu, 0, IFM, 1u << IFM_DEPTH);
        mote_npu_stored_map(npu, IFM, shape);
    }
    if (mote_npu_has(npu, 0, PARAMETERS, 1u << ACTIVATION % SHORTS) && (shorts[ACTIVATION] & 31u) != 0) {
        const uint32_t function = shorts[ACTIVATION] & 31u, number = shorts[ACTIVATION] >> 5 & 7u;
        const int64_t size = function == 1 || function == 4 ? 256 : function == 5 ? 512 : function == 7 ? 1024 : TABLES;
        mote_npu_access(npu, INTERNAL, size * number, size * (number + 1), 0);
    }
}

/* One side of a transfer with strides: so many steps of each of two, of rows that are counted or that indices name. */
static void mote_npu_side(mote_npu_t *npu, uint32_t region, uint32_t at, uint32_t stride, const uint32_t steps[2]) {
    int64_t begin = npu->longs[at], end = begin + npu->longs[DMA_LENGTH];
    for (uint32_t i = 0; i < 2; i++, stride++) {
        if (steps[i] > 0) {
            const int64_t distance = npu->longs[stride], most = ((int64_t)1 << 32) / steps[i] + 1;
            const int64_t limited = distance > most ? most : distance < -most ? -most : distance; /* outside already */
            mote_npu_need(npu, 1, DMA, (uint32_t)1 << stride % LONGS);
            *(limited < 0 ? &begin : &end) += steps[i] * limited;
        }
    }
    mote_npu_access(npu, region, begin, end, at == DMA_TARGET);
}

/* A transfer. */
static void mote_npu_transfer(mote_npu_t *npu) {
    const uint32_t source = npu->shorts[DMA_SOURCE_REGION], target = npu->shorts[DMA_TARGET_REGION];
    const uint32_t mode = source >> 9 & 3u, gathers = source >> 11 & 1u, scatters = target >> 11 & 1u;
    const uint32_t place = target >> 8 & 1u ? (uint32_t)INTERNAL : target & 7u;
    mote_npu_need(npu, 0, DMA, 3);
    mote_npu_need(npu, 1, DMA, 7);
    mote_npu_require(npu, (source >> 8 & 1u) == 0, MOTE_NPU_VALUE);
    mote_npu_require(npu, place != INTERNAL || ((npu->longs[DMA_TARGET] | npu->longs[DMA_LENGTH]) & 15) == 0,
                     MOTE_NPU_ALIGNMENT);
    uint32_t reads[2] = {0, 0}, writes[2] = {0, 0};
    if (mode != 0 || gathers || scatters) {
        const uint32_t inner = npu->shorts[SIZE0], outer = mode == 2 ? npu->shorts[SIZE1] : 1u;
        mote_npu_need(npu, 0, DMA, mode == 2 ? 0xf : 7);
        mote_npu_require(npu, !(gathers && scatters) && inner > 0 && outer > 0, MOTE_NPU_VALUE);
        reads[0] = gathers ? (uint32_t)npu->longs[INDEX_MAX] : inner - 1u;
        writes[0] = scatters ? (uint32_t)npu->longs[INDEX_MAX] : inner - 1u;
        reads[1] = writes[1] = outer - 1u;
        if (gathers || scatters) {
            const int64_t first = npu->longs[INDEX], skip = outer > 1 ? npu->longs[INDEX_SKIP] : 0;
            mote_npu_need(npu, 1, DMA, (outer > 1 ? 7u : 3u) << INDEX % LONGS);
            mote_npu_need(npu, 0, DMA, 1u << INDEX_REGION % SHORTS);
            mote_npu_require(npu, skip >= 0, MOTE_NPU_VALUE);
            mote_npu_require(npu, ((first | skip) & 3) == 0, MOTE_NPU_ALIGNMENT);
            mote_npu_access(npu, npu->shorts[INDEX_REGION], first, first + (int64_t)4 * inner * outer + reads[1] * skip, 0);
        }
    }
    mote_npu_side(npu, source & 7u, DMA_SOURCE, SOURCE_STRIDE, reads);
    mote_npu_side(npu, place, DMA_TARGET, SOURCE_STRIDE + 2, writes);
}

static mote_npu_status mote_npu_operate(mote_npu_t *npu, uint32_t op, uint32_t mode) {
    static const uint8_t modes[] = {
        [OP_CONV] = 2, [OP_DEPTHWISE] = 1, [OP_POOL] = 8, [OP_ELEMENTWISE] = 43, [OP_RESIZE] = 3,
        [OP_DMA] = 1, [OP_DMA_WAIT] = 4, [OP_KERNEL_WAIT] = 2, [OP_PMU_MASK] = 2}; /* how many there are */
    static const uint32_t elementwise[2] = {0x000f0fff, 0x0000041e}; /* a bit for each mode that there is */
    if (op >= sizeof modes || modes[op] == 0) {
        return MOTE_NPU_COMMAND;
    }
    if (mode >= modes[op] || (op == OP_ELEMENTWISE && (elementwise[mode >> 5] >> (mode & 31u) & 1u) == 0)) {
        return MOTE_NPU_VALUE;
    }
    if (op < OP_DMA) {
        mote_npu_compute(npu, op, mode);
    } else if (op == OP_DMA) {
        mote_npu_transfer(npu);
    }
    return npu->status;
}
