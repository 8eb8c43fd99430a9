/* mote_npu_check.c: what mote_npu_check.h declares. */
#include "mote_npu_check.h"

#include <string.h>

enum { COP1 = 0x31504f43, ACTION_CONFIG = 1, ACTION_STREAM = 2, ACTION_NOP = 5 };
enum { OP_STOP = 0, OP_CONV = 2, OP_DEPTHWISE = 3, OP_POOL = 5, OP_ELEMENTWISE = 6, OP_DMA = 16 };

/* Registers are kept in rows of 16, by the last four bits of their codes: those of 16 bits of 0x100, 0x110, 0x120, 0x130
 * and 0x180, those of 32 bits and more of 0x00, 0x10, 0x20, 0x30, 0x80 and 0x90. */
enum { ROWS = 6, SHORTS = 16, LONGS = 8 };
enum { /* in rows of SHORTS */
    PAD_TOP = 0x00,
    PAD_LEFT = 0x01,
    PAD_RIGHT = 0x02,
    PAD_BOTTOM = 0x03,
    IFM_DEPTH = 0x04,
    IFM_PRECISION = 0x05,
    IFM_UPSCALE = 0x07,
    IFM_WIDTH0 = 0x0a, /* then HEIGHT0 and HEIGHT1; OFM and IFM2 have theirs in the same places */
    IFM_REGION = 0x0f,
    OFM_WIDTH = 0x11,
    OFM_HEIGHT = 0x12,
    OFM_DEPTH = 0x13,
    OFM_PRECISION = 0x14,
    KERNEL_WIDTH = 0x20,
    KERNEL_HEIGHT = 0x21,
    KERNEL_STRIDE = 0x22,
    PARALLEL_MODE = 0x23,
    ACCUMULATOR = 0x24,
    ACTIVATION = 0x25,
    WEIGHT_REGION = 0x28,
    SCALE_REGION = 0x29,
    DMA_SOURCE_REGION = 0x30,
    DMA_TARGET_REGION = 0x31,
    IFM2_BROADCAST = 0x40,
    IFM2_PRECISION = 0x45
};
enum { /* in rows of LONGS */
    BASE = 0, /* four; then strides. IFM: row 0, OFM: row 1, IFM2: row 4 */
    STRIDE_X = 4,
    STRIDE_Y = 5,
    STRIDE_C = 6,
    WEIGHT_BASE = 0x10, /* then WEIGHT_LENGTH, SCALE_BASE, SCALE_LENGTH; of the second core in row 5 */
    SCALE_BASE = 0x12,
    DMA_SOURCE = 0x18,
    DMA_TARGET = 0x19,
    DMA_LENGTH = 0x1a,
    WEIGHT1_BASE = 0x28,
    SCALE1_BASE = 0x2a
};

typedef struct {
    const uint32_t *sizes;
    uint32_t writable, internal; /* bytes of the NPU's own memory, of each core */
    uint32_t wide;               /* addresses have 40 bits: Ethos-U65 */
    uint16_t set[2][ROWS];       /* a bit for each register that was set */
    uint16_t shorts[ROWS * SHORTS];
    int64_t longs[ROWS * LONGS];
} mote_npu_t;

/* Registers that an operation needs: some of a row. */
static int mote_npu_has(const mote_npu_t *npu, uint32_t is_long, uint32_t row, uint32_t needed) {
    return (npu->set[is_long][row] & needed) == needed;
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

/* A register of 16 bits. */
static mote_npu_status mote_npu_set_short(mote_npu_t *npu, uint32_t number, uint32_t value) {
    uint32_t bits = mote_npu_bits[number], pairs = 0; /* pairs of bits that are never both 1, by the lower one */
    if (bits == 0 || (number == PARALLEL_MODE && !npu->wide)) {
        return MOTE_NPU_COMMAND;
    }
    if (number == IFM_PRECISION || number == OFM_PRECISION) {
        pairs = number == IFM_PRECISION ? 0x4100 : 0x4000; /* rounding, the operand that is scaled */
    } else if (bits == 0x707) {
        pairs = 0x200; /* one, two or three dimensions */
        bits = npu->wide ? bits : 0x107;
    } else if (number == IFM_UPSCALE || number == ACCUMULATOR) {
        pairs = 1;
    }
    npu->shorts[number] = (uint16_t)value;
    if ((value & ~bits) != 0 || (value & value >> 1 & pairs) != 0) {
        return MOTE_NPU_VALUE;
    }
    return number == ACTIVATION && ((0x00ff0019u >> (value & 31u) & 0x2du >> (value >> 12) & 1u) == 0) ? MOTE_NPU_VALUE
                                                                                                       : MOTE_NPU_OK;
}

/* A register of more bits. */
static mote_npu_status mote_npu_set_long(mote_npu_t *npu, uint32_t row, uint32_t column, uint32_t high, uint32_t low) {
    static const uint8_t known[ROWS] = {0x7f, 0x7f, 0x7f, 0x1f, 0x7f, 0x0f};
    const int maps = row < 2 || row == 4, constants = row == 2 || row == 5, length = constants && (column & 1u) != 0;
    uint32_t bits = npu->wide ? 0xff : 0; /* of the parameter */
    if (column >= LONGS || (known[row] >> column & 1u) == 0 ||
        (!npu->wide && (row == 5 || (row == 3 && column >= 3)))) { /* which Ethos-U55 does not have */
        return MOTE_NPU_COMMAND;
    }
    if (row == 2 && column >= 4) { /* scales: a shift and a factor */
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
        const int64_t sign = (int64_t)1 << (npu->wide ? 39 : 31);
        *at = ((*at & (2 * sign - 1)) ^ sign) - sign;
    }
    return MOTE_NPU_OK;
}

/* Set a register, if there is one. */
static mote_npu_status mote_npu_set(mote_npu_t *npu, uint32_t word, uint32_t value) {
    const uint32_t is_long = word >> 14 & 3u, code = word & 0x3fffu, of = code >> 4 & 15u, column = code & 15u;
    const uint32_t row = of < 4 ? of : of == 8 ? 4 : of == 9 && is_long ? 5 : ROWS;
    if (is_long > 1 || code >> 8 != 1u - is_long || row == ROWS) {
        return MOTE_NPU_COMMAND;
    }
    npu->set[is_long][row] = (uint16_t)(npu->set[is_long][row] | 1u << column);
    return is_long ? mote_npu_set_long(npu, row, column, word >> 16, value)
                   : mote_npu_set_short(npu, row * SHORTS + column, word >> 16);
}

/* Whether bytes lie behind a base pointer. */
static mote_npu_status mote_npu_touch(const mote_npu_t *npu, uint32_t region, int64_t begin, int64_t end, int writes) {
    if (begin < 0 || end > (int64_t)npu->sizes[region]) {
        return MOTE_NPU_OUTSIDE;
    }
    return writes && (npu->writable >> region & 1u) == 0 ? MOTE_NPU_READ_ONLY : MOTE_NPU_OK;
}

/* `longs` from `first` on: a base and a length, both multiples of 16. */
static mote_npu_status mote_npu_constants(const mote_npu_t *npu, uint32_t region, uint32_t first) {
    const int64_t base = npu->longs[first], length = npu->longs[first + 1];
    if (!mote_npu_has(npu, 0, 2, (uint32_t)1 << (region & 15u)) ||
        !mote_npu_has(npu, 1, first / LONGS, (uint32_t)3 << first % LONGS)) {
        return MOTE_NPU_UNSET;
    }
    if (((base | length) & 15) != 0) {
        return MOTE_NPU_ALIGNMENT;
    }
    return mote_npu_touch(npu, npu->shorts[region], base, base + length, 0);
}

/* The bytes of a feature map: rows, columns and channels in up to four tiles. Its registers lie in one row of each kind;
 * of its precision, 2 bits at `shift` say how large elements are, bits 6 and 7 the format. */
static mote_npu_status mote_npu_map(const mote_npu_t *npu, uint32_t row, uint32_t precision, uint32_t shift, uint32_t rows,
                                    uint32_t columns, uint32_t depth) {
    const uint16_t *const shorts = npu->shorts + row * SHORTS;
    const int64_t *const longs = npu->longs + row * LONGS;
    const uint32_t size = precision >> shift & 3u, bricks = precision >> 6 & 3u;
    const uint32_t w0 = shorts[IFM_WIDTH0] + 1u, h0 = shorts[IFM_WIDTH0 + 1] + 1u, h1 = shorts[IFM_WIDTH0 + 2] + 1u;
    if (!mote_npu_has(npu, 0, row, 0x9c00) || !mote_npu_has(npu, 1, row, 0x3f | bricks << 6)) {
        return MOTE_NPU_UNSET;
    }
    if (size == 3 || bricks > 1) {
        return MOTE_NPU_VALUE;
    }
    const int64_t bytes = (int64_t)1 << size;
    const int64_t x = bricks ? 16 * bytes : longs[STRIDE_X], y = longs[STRIDE_Y], c = bricks ? longs[STRIDE_C] : 0;
    const int64_t together = bricks ? 16 * bytes : depth * bytes;
    for (uint32_t tile = 0; tile < 4; tile++) {
        const uint32_t right = tile & 1u, height = right ? h1 : h0, lower = tile >> 1;
        if ((right && columns <= w0) || (lower && rows <= height)) {
            continue;
        }
        const int64_t steps[3] = {(lower ? rows - height : rows < height ? rows : height) - 1,
                                  (right ? columns - w0 : columns < w0 ? columns : w0) - 1,
                                  bricks ? (depth - 1) / 16 : 0};
        const int64_t strides[3] = {y, x, c};
        int64_t begin = longs[BASE + tile], end = begin + together, all = begin;
        for (uint32_t i = 0; i < 3; i++) {
            const int64_t reach = steps[i] * strides[i];
            *(reach < 0 ? &begin : &end) += reach;
            all |= strides[i];
        }
        if ((all & ((bricks ? 16 : bytes) - 1)) != 0) {
            return MOTE_NPU_ALIGNMENT;
        }
        const mote_npu_status status = mote_npu_touch(npu, shorts[IFM_REGION], begin, end, row == 1);
        if (status != MOTE_NPU_OK) {
            return status;
        }
    }
    return MOTE_NPU_OK;
}

/* Rows or columns of the input of a window, or 0. */
static uint32_t mote_npu_input(const mote_npu_t *npu, uint32_t made, uint32_t window, uint32_t step, uint32_t before,
                               uint32_t behind) {
    const uint32_t pads = (uint32_t)npu->shorts[before] + npu->shorts[behind];
    const uint32_t reach = (made - 1u) * step + npu->shorts[window] + 1u; /* at most 2^18 */
    const uint32_t read = reach > pads ? reach - pads : 0;
    return npu->shorts[IFM_UPSCALE] != 0 ? (read + 1u) / 2u : read;
}

/* The weights and the scales of a convolution. */
static mote_npu_status mote_npu_parameters(const mote_npu_t *npu, uint32_t depth) {
    mote_npu_status status = mote_npu_constants(npu, WEIGHT_REGION, WEIGHT_BASE);
    status = status ? status : mote_npu_constants(npu, SCALE_REGION, SCALE_BASE);
    int64_t scales = npu->longs[SCALE_BASE + 1];
    if (npu->shorts[PARALLEL_MODE] != 0) { /* on two cores */
        if (!mote_npu_has(npu, 1, 5, 0xa)) {
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
static mote_npu_status mote_npu_operate(const mote_npu_t *npu, uint32_t op, uint32_t mode) {
    const uint16_t *const shorts = npu->shorts;
    uint32_t rows = shorts[OFM_HEIGHT] + 1u, columns = shorts[OFM_WIDTH] + 1u;
    const uint32_t depth = shorts[OFM_DEPTH] + 1u, own = shorts[IFM_DEPTH] + 1u;
    const int conv = op == OP_CONV || op == OP_DEPTHWISE, each = op == OP_ELEMENTWISE;
    if (mode > (conv ? 0u : each ? 9u : 2u)) {
        return MOTE_NPU_VALUE;
    }
    if (!mote_npu_has(npu, 0, 0, each ? 0x30 : 0xbf) || !mote_npu_has(npu, 0, 1, 0x1e) ||
        (!each && !mote_npu_has(npu, 0, 2, 7))) {
        return MOTE_NPU_UNSET;
    }
    mote_npu_status status = mote_npu_map(npu, 1, shorts[OFM_PRECISION], 1, rows, columns, depth);
    if (status == MOTE_NPU_OK && each && (mode < 5 || mode > 7)) {
        const uint32_t broadcast = shorts[IFM2_BROADCAST];
        if (!mote_npu_has(npu, 0, 4, 1)) {
            return MOTE_NPU_UNSET;
        }
        if ((broadcast & 0x80) == 0) { /* not a number */
            if (!mote_npu_has(npu, 0, 4, 0x20)) {
                return MOTE_NPU_UNSET;
            }
            status = mote_npu_map(npu, 4, shorts[IFM2_PRECISION], 2, broadcast & 1u ? 1 : rows, broadcast & 2u ? 1 : columns,
                                  broadcast & 4u ? 1 : depth);
        }
    }
    if (!each) {
        const uint32_t stride = shorts[KERNEL_STRIDE];
        const uint32_t x = 1u + (stride & 1u) + (stride >> 5 & 2u), y = 1u + (stride >> 1 & 1u) + (stride >> 8 & 2u);
        rows = mote_npu_input(npu, rows, KERNEL_HEIGHT, y, PAD_TOP, PAD_BOTTOM);
        columns = mote_npu_input(npu, columns, KERNEL_WIDTH, x, PAD_LEFT, PAD_RIGHT);
        if (status == MOTE_NPU_OK && (rows == 0 || columns == 0 || shorts[IFM_UPSCALE] > 2)) {
            return MOTE_NPU_VALUE;
        }
    }
    if (status == MOTE_NPU_OK && conv) {
        status = mote_npu_parameters(npu, depth);
    }
    const uint32_t read = op == OP_CONV || (op == OP_POOL && mode == 2) || own > depth ? own : depth;
    return status ? status : mote_npu_map(npu, 0, shorts[IFM_PRECISION], 2, rows, columns, read);
}

/* A transfer. */
static mote_npu_status mote_npu_transfer(const mote_npu_t *npu) {
    const uint32_t source = npu->shorts[DMA_SOURCE_REGION], target = npu->shorts[DMA_TARGET_REGION];
    const int64_t from = npu->longs[DMA_SOURCE], to = npu->longs[DMA_TARGET], bytes = npu->longs[DMA_LENGTH];
    const int inside = target >> 8 & 1;
    if (!mote_npu_has(npu, 0, 3, 3) || !mote_npu_has(npu, 1, 3, 7)) {
        return MOTE_NPU_UNSET;
    }
    if (source >> 8 != 0 || target >> 9 != 0) {
        return MOTE_NPU_VALUE;
    }
    if (((npu->wide ? (inside ? to | bytes : 0) : from | to | bytes) & 15) != 0) {
        return MOTE_NPU_ALIGNMENT;
    }
    const mote_npu_status status = mote_npu_touch(npu, source, from, from + bytes, 0);
    if (status != MOTE_NPU_OK || !inside) {
        return status ? status : mote_npu_touch(npu, target, to, to + bytes, 1);
    }
    return to + bytes > (int64_t)npu->internal ? MOTE_NPU_OUTSIDE : MOTE_NPU_OK;
}

/* The commands of a stream, from `words` to `end`, which is not read; `words` ends where it was refused. */
static mote_npu_status mote_npu_run(mote_npu_t *npu, const uint32_t **words, const uint32_t *end) {
    mote_npu_status status = MOTE_NPU_OK;
    for (; *words < end; *words += 1) {
        const uint32_t word = **words, op = word & 0xffffu, mode = word >> 16;
        if (op == OP_STOP) {
            return *words + 1 == end ? MOTE_NPU_OK : MOTE_NPU_COMMAND;
        }
        if (op == OP_CONV || op == OP_DEPTHWISE || op == OP_POOL || op == OP_ELEMENTWISE) {
            status = mote_npu_operate(npu, op, mode);
        } else if (op == OP_DMA) {
            status = mode == 0 ? mote_npu_transfer(npu) : MOTE_NPU_VALUE;
        } else if (op > OP_DMA && op <= OP_DMA + 3) { /* waits for transfers and operations, PMU_MASK */
            status = mode > (op == OP_DMA + 1 ? 15u : op == OP_DMA + 2 ? 3u : 1u) ? MOTE_NPU_VALUE : MOTE_NPU_OK;
        } else {
            const uint32_t more = word >> 14 & 1u;
            if (more && end - *words < 2) {
                return MOTE_NPU_COMMAND;
            }
            status = mote_npu_set(npu, word, more ? (*words)[1] : 0);
            *words += status == MOTE_NPU_OK ? more : 0;
        }
        if (status != MOTE_NPU_OK) {
            return status;
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
            npu.wide = words[1] >> 28;
            macs = words[1] & 15u; /* their logarithm: with 512 two cores share the internal memory */
            npu.internal = (words[1] >> 8 & 0xffu) * 1024u >> (macs == 9);
            status = npu.wide > 1 || (words[1] >> 4 & 15u) != 0 || words[2] >> 28 != 1 || macs < (npu.wide ? 8u : 5u) ||
                             macs > (npu.wide ? 9u : 8u)
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
