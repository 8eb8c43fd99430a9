/* mote_npu_check.c: mote_npu_check() of streams for Ethos-U55 and Ethos-U65. */
#include "mote_npu_stream.h"

enum { PARALLEL_MODE = 0x23, SCALE1_BASE = WEIGHT1_BASE + 2 };

/* Whether addresses have 40 bits: Ethos-U65. */
static int mote_npu_wide(const mote_npu_t *npu) {
    return npu->kind != 0;
}

static int mote_npu_configure(mote_npu_t *npu, uint32_t config, uint32_t architecture) {
    const uint32_t macs = config & 15u; /* their logarithm: with 512 two cores share the internal memory */
    npu->kind = config >> 28;
    npu->internal = (config >> 8 & 0xffu) * 1024u >> (macs == 9);
    return npu->kind <= 1 && (config >> 4 & 15u) == 0 && architecture >> 28 == 1 && macs >= (npu->kind ? 8u : 5u) &&
           macs <= (npu->kind ? 9u : 8u);
}

/* The bits that registers of 16 bits have, 0 where there is no register. */
static const uint16_t mote_npu_bits[5 * SHORTS] = {
    0x007f, 0x007f, 0x00ff, 0x00ff, 0xffff, 0xc34d, 0x0000, 0x0003,
    0x0000, 0xffff, 0xffff, 0xffff, 0xffff, 0x003f, 0x0000, 0x0007,
    0x0000, 0xffff, 0xffff, 0xffff, 0xc147, 0x003f, 0x001f, 0x007f,
    0xffff, 0x0000, 0xffff, 0xffff, 0xffff, 0x0000, 0x0000, 0x0007,
    0xffff, 0xffff, 0x027f, 0x0001, 0x0003, 0x701f, 0xffff, 0xffff,
    0x0007, 0x0007, 0x0000, 0x0000, 0x0000, 0x003f, 0x0000, 0x0003,
    0x0707, 0x0707, 0xffff, 0xffff, 0x0000, 0x0000, 0x0000, 0x0000,
    0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000,
    0x00c7, 0xffff, 0x0000, 0x0000, 0x0000, 0x004d, 0x0000, 0x0000,
    0x0000, 0xffff, 0xffff, 0xffff, 0xffff, 0x003f, 0x0000, 0x0007};

static mote_npu_status mote_npu_set_short(const mote_npu_t *npu, uint32_t number, uint32_t value) {
    uint32_t bits = mote_npu_bits[number], pairs = 0; /* pairs of bits that are never both 1, by the lower one */
    if (bits == 0 || (number == PARALLEL_MODE && !mote_npu_wide(npu))) {
        return MOTE_NPU_COMMAND;
    }
    if (number == IFM_PRECISION || number == OFM_PRECISION) {
        pairs = number == IFM_PRECISION ? 0x4100 : 0x4000; /* rounding, the operand that is scaled */
    } else if (bits == 0x707) {
        pairs = 0x200; /* one, two or three dimensions */
        bits = mote_npu_wide(npu) ? bits : 0x107;
    } else if (number == IFM_UPSCALE || number == ACCUMULATOR) {
        pairs = 1;
    }
    if ((value & ~bits) != 0 || (value & value >> 1 & pairs) != 0) {
        return MOTE_NPU_VALUE;
    }
    return number == ACTIVATION && ((0x00ff0019u >> (value & 31u) & 0x2du >> (value >> 12) & 1u) == 0) ? MOTE_NPU_VALUE
                                                                                                       : MOTE_NPU_OK;
}

static mote_npu_status mote_npu_set_long(mote_npu_t *npu, uint32_t row, uint32_t column, uint32_t high, uint32_t low) {
    static const uint8_t known[ROWS] = {0x7f, 0x7f, 0x7f, 0x1f, 0x7f, 0x0f};
    const int maps = row <= OFM || row == IFM2;
    const int length = (row == PARAMETERS || row == FURTHER) && (column & 1u) != 0;
    uint32_t bits = mote_npu_wide(npu) ? 0xff : 0; /* of the parameter */
    if ((known[row] >> column & 1u) == 0 ||
        (!mote_npu_wide(npu) && (row == FURTHER || (row == DMA && column >= 3)))) { /* which Ethos-U55 does not have */
        return MOTE_NPU_COMMAND;
    }
    if (row == PARAMETERS && column >= 4) { /* scales: a shift and a factor */
        bits = column == 6 ? 0 : 0x3f;
        return (high & ~bits) != 0 || (column == 6 && low >> 16 != 0) ? MOTE_NPU_VALUE : MOTE_NPU_OK;
    }
    if (length) {
        bits = 0;
    } else if (maps && column >= STRIDE_X && low >> 31 != 0 && high == 0xff) {
        bits = 0xff; /* the sign of a negative stride, which Ethos-U55 does not look at */
    }
    if ((high & ~bits) != 0 || (length && column == 3 && low >> 20 != 0)) {
        return MOTE_NPU_VALUE;
    }
    int64_t *const at = npu->longs + row * LONGS + column;
    *at = (int64_t)((uint64_t)high << 32 | low);
    if (maps && column >= STRIDE_X) { /* with a sign */
        const int64_t sign = (int64_t)1 << (mote_npu_wide(npu) ? 39 : 31);
        *at = ((*at & (2 * sign - 1)) ^ sign) - sign;
    }
    return MOTE_NPU_OK;
}

/* A feature map whose precision was set, with elements of at most 32 bits. */
static mote_npu_status mote_npu_elements(const mote_npu_t *npu, uint32_t row, uint32_t number, const uint32_t shape[3]) {
    const uint32_t precision = npu->shorts[number];
    if (!mote_npu_has(npu, 0, row, (uint32_t)1 << (number & 15u))) {
        return MOTE_NPU_UNSET;
    }
    return (precision >> (row == OFM ? 1 : 2) & 3u) == 3 ? MOTE_NPU_VALUE : mote_npu_map(npu, row, precision, shape);
}

/* The weights and the scales of a convolution. */
static mote_npu_status mote_npu_parameters(const mote_npu_t *npu, uint32_t depth) {
    mote_npu_status status = mote_npu_constants(npu, WEIGHT_REGION, WEIGHT_BASE);
    status = status ? status : mote_npu_constants(npu, SCALE_REGION, SCALE_BASE);
    int64_t scales = npu->longs[SCALE_BASE + 1];
    if (npu->shorts[PARALLEL_MODE] != 0) { /* on two cores */
        if (!mote_npu_has(npu, 1, FURTHER, 0xa)) {
            return status ? status : MOTE_NPU_UNSET;
        }
        for (uint32_t first = WEIGHT1_BASE; first <= SCALE1_BASE; first += 2) { /* none where the length is 0 */
            if (status == MOTE_NPU_OK && npu->longs[first + 1] != 0) {
                status = mote_npu_constants(npu, first == WEIGHT1_BASE ? WEIGHT_REGION : SCALE_REGION, first);
            }
        }
        scales += npu->longs[SCALE1_BASE + 1];
    }
    return status ? status : scales < (int64_t)10 * depth ? MOTE_NPU_VALUE : MOTE_NPU_OK;
}

/* A convolution, a pool or an element-wise operation. */
static mote_npu_status mote_npu_compute(const mote_npu_t *npu, uint32_t op, uint32_t mode) {
    const uint16_t *const shorts = npu->shorts;
    uint32_t shape[3] = {shorts[OFM_HEIGHT] + 1u, shorts[OFM_WIDTH] + 1u, shorts[OFM_DEPTH] + 1u};
    const uint32_t own = shorts[IFM_DEPTH] + 1u;
    const int conv = op == OP_CONV || op == OP_DEPTHWISE, each = op == OP_ELEMENTWISE;
    if (mode > (conv ? 0u : each ? 9u : 2u)) {
        return MOTE_NPU_VALUE;
    }
    if (!mote_npu_has(npu, 0, IFM, 0x10) || !mote_npu_has(npu, 0, OFM, 0xe)) {
        return MOTE_NPU_UNSET;
    }
    mote_npu_status status = mote_npu_elements(npu, OFM, OFM_PRECISION, shape);
    if (status == MOTE_NPU_OK && each && (mode < 5 || mode > 7)) {
        const uint32_t broadcast = shorts[IFM2_BROADCAST];
        const uint32_t second[3] = {broadcast & 1u ? 1 : shape[0], broadcast & 2u ? 1 : shape[1],
                                    broadcast & 4u ? 1 : shape[2]};
        if (!mote_npu_has(npu, 0, IFM2, 1)) {
            return MOTE_NPU_UNSET;
        }
        if ((broadcast & 0x80) == 0) { /* not a number */
            status = mote_npu_elements(npu, IFM2, IFM2_PRECISION, second);
        }
    }
    if (status == MOTE_NPU_OK && conv) {
        status = mote_npu_parameters(npu, shape[2]);
    }
    if (each) {
        shape[2] = own > shape[2] ? own : shape[2];
    } else if (status == MOTE_NPU_OK) {
        status = mote_npu_window(npu, op, mode, shape);
    }
    return status ? status : mote_npu_elements(npu, IFM, IFM_PRECISION, shape);
}

/* A transfer. */
static mote_npu_status mote_npu_transfer(const mote_npu_t *npu) {
    const uint32_t source = npu->shorts[DMA_SOURCE_REGION], target = npu->shorts[DMA_TARGET_REGION];
    const int64_t from = npu->longs[DMA_SOURCE], to = npu->longs[DMA_TARGET], bytes = npu->longs[DMA_LENGTH];
    if (!mote_npu_has(npu, 0, DMA, 3) || !mote_npu_has(npu, 1, DMA, 7)) {
        return MOTE_NPU_UNSET;
    }
    if (source >> 8 != 0 || target >> 9 != 0) {
        return MOTE_NPU_VALUE;
    }
    if (((mote_npu_wide(npu) ? (target >> 8 ? to | bytes : 0) : from | to | bytes) & 15) != 0) {
        return MOTE_NPU_ALIGNMENT;
    }
    const mote_npu_status status = mote_npu_touch(npu, source, from, from + bytes, 0);
    return status ? status : mote_npu_touch(npu, target >> 8 ? (uint32_t)INTERNAL : target, to, to + bytes, 1);
}

static mote_npu_status mote_npu_operate(mote_npu_t *npu, uint32_t op, uint32_t mode) {
    switch (op) {
    case OP_CONV:
    case OP_DEPTHWISE:
    case OP_POOL:
    case OP_ELEMENTWISE:
        return mote_npu_compute(npu, op, mode);
    case OP_DMA:
        return mode == 0 ? mote_npu_transfer(npu) : MOTE_NPU_VALUE;
    case OP_DMA_WAIT:
        return mode <= 15 ? MOTE_NPU_OK : MOTE_NPU_VALUE;
    case OP_KERNEL_WAIT:
        return mode <= 3 ? MOTE_NPU_OK : MOTE_NPU_VALUE;
    case OP_PMU_MASK:
        return mode <= 1 ? MOTE_NPU_OK : MOTE_NPU_VALUE;
    default:
        return MOTE_NPU_COMMAND;
    }
}
