/* mote_npu_stream.h: what the checks of all families share. mote_npu_check.c or mote_npu_check_u85.c includes it.
 *
 * It walks through a payload and its commands, keeps the registers, and works out the bytes of feature maps and constants.
 * The file that includes it knows the registers and the operations of its NPUs: it defines the four functions below. */
#ifndef MOTE_NPU_STREAM_H
#define MOTE_NPU_STREAM_H

#include "mote_npu_check.h"

#include <string.h>

enum { OP_STOP = 0, OP_CONV = 2, OP_DEPTHWISE = 3, OP_POOL = 5, OP_ELEMENTWISE = 6, OP_RESIZE = 7, OP_DMA = 16 };
enum { OP_DMA_WAIT = 17, OP_KERNEL_WAIT = 18, OP_PMU_MASK = 19, REGISTERS = 0x100 };

/* Registers are kept in rows of 16, by the last four bits of their codes: those of 16 bits of 0x100, 0x110, 0x120, 0x130
 * and 0x180, those of 32 bits and more of 0x00, 0x10, 0x20, 0x30, 0x80 and 0x90. Each feature map has a row of both. */
enum { IFM = 0, OFM = 1, PARAMETERS = 2, DMA = 3, IFM2 = 4, FURTHER = 5, ROWS = 6, SHORTS = 16, LONGS = 10 };
enum { /* in rows of SHORTS */
    PAD_TOP = 0x00,
    PAD_LEFT = 0x01,
    PAD_RIGHT = 0x02,
    PAD_BOTTOM = 0x03,
    IFM_DEPTH = 0x04,
    IFM_PRECISION = 0x05,
    IFM_UPSCALE = 0x07,
    WIDTH0 = 0x0a, /* of any feature map; then HEIGHT0 and HEIGHT1 */
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
    DMA_SOURCE_REGION = 0x30,
    DMA_TARGET_REGION = 0x31,
    IFM2_BROADCAST = 0x40,
    IFM2_PRECISION = 0x45
};
enum { /* in rows of LONGS */
    STRIDE_X = 4, /* of any feature map; before it are four bases */
    STRIDE_Y = 5,
    STRIDE_C = 6,
    WEIGHT_BASE = PARAMETERS * LONGS, /* then its length; of further cores from WEIGHT1_BASE on */
    SCALE_BASE = WEIGHT_BASE + 2,
    DMA_SOURCE = DMA * LONGS,
    DMA_TARGET = DMA_SOURCE + 1,
    DMA_LENGTH = DMA_SOURCE + 2,
    WEIGHT1_BASE = FURTHER * LONGS
};
enum { INTERNAL = MOTE_NPU_REGIONS }; /* the NPU's own memory, as if it were behind a base pointer */

typedef struct {
    const uint32_t *sizes;
    uint32_t writable, internal; /* bytes of the NPU's own memory, of each core */
    uint32_t kind;               /* what else the configuration says */
    mote_npu_status status;      /* the first thing that was wrong */
    uint16_t set[2][ROWS];       /* a bit for each register that was set */
    uint16_t shorts[ROWS * SHORTS];
    int64_t longs[ROWS * LONGS];
} mote_npu_t;

/* Whether a stream with the two words of this configuration is for one of these NPUs, whose memory is set. */
static int mote_npu_configure(mote_npu_t *npu, uint32_t config, uint32_t architecture);
/* Set a register of 16 bits: its value was stored already. */
static mote_npu_status mote_npu_set_short(const mote_npu_t *npu, uint32_t number, uint32_t value);
/* Set a register of more bits. */
static mote_npu_status mote_npu_set_long(mote_npu_t *npu, uint32_t row, uint32_t column, uint32_t high, uint32_t low);
/* An operation, a transfer or a wait. */
static mote_npu_status mote_npu_operate(mote_npu_t *npu, uint32_t op, uint32_t mode);

/* Whether registers of a row were set. */
static int mote_npu_has(const mote_npu_t *npu, uint32_t is_long, uint32_t row, uint32_t needed) {
    return (npu->set[is_long][row] & needed) == needed;
}

/* Set a register, if there is one. */
static mote_npu_status mote_npu_set(mote_npu_t *npu, uint32_t word, uint32_t value) {
    const uint32_t is_long = word >> 14 & 3u, code = word & 0x3fffu, of = code >> 4 & 15u, column = code & 15u;
    const uint32_t row = of < 4 ? of : of == 8 ? (uint32_t)IFM2 : of == 9 && is_long ? (uint32_t)FURTHER : (uint32_t)ROWS;
    if (is_long > 1 || code >> 8 != 1u - is_long || row == ROWS || (is_long && column >= LONGS)) {
        return MOTE_NPU_COMMAND;
    }
    npu->set[is_long][row] = (uint16_t)(npu->set[is_long][row] | 1u << column);
    if (is_long) {
        return mote_npu_set_long(npu, row, column, word >> 16, value);
    }
    npu->shorts[row * SHORTS + column] = (uint16_t)(word >> 16);
    return mote_npu_set_short(npu, row * SHORTS + column, word >> 16);
}

/* Whether bytes lie behind a base pointer, or in internal memory. */
static mote_npu_status mote_npu_touch(const mote_npu_t *npu, uint32_t region, int64_t begin, int64_t end, int writes) {
    if (begin < 0 || end > (int64_t)(region == INTERNAL ? npu->internal : npu->sizes[region])) {
        return MOTE_NPU_OUTSIDE;
    }
    return writes && (npu->writable >> region & 1u) == 0 ? MOTE_NPU_READ_ONLY : MOTE_NPU_OK;
}

/* `longs` from `first` on: a base and a length, both multiples of 16. */
static mote_npu_status mote_npu_constants(const mote_npu_t *npu, uint32_t region, uint32_t first) {
    const int64_t base = npu->longs[first], length = npu->longs[first + 1];
    if (!mote_npu_has(npu, 0, PARAMETERS, (uint32_t)1 << (region & 15u)) ||
        !mote_npu_has(npu, 1, first / LONGS, (uint32_t)3 << first % LONGS)) {
        return MOTE_NPU_UNSET;
    }
    if (((base | length) & 15) != 0) {
        return MOTE_NPU_ALIGNMENT;
    }
    return mote_npu_touch(npu, npu->shorts[region], base, base + length, 0);
}

/* The bytes of a feature map: rows, columns and channels in up to four tiles. Of its precision, which was set, two bits are
 * the logarithm of the bytes of an element, and bit 6 says that channels lie in bricks of 16. */
static mote_npu_status mote_npu_map(const mote_npu_t *npu, uint32_t row, uint32_t precision, const uint32_t shape[3]) {
    const uint16_t *const shorts = npu->shorts + row * SHORTS;
    const int64_t *const longs = npu->longs + row * LONGS;
    const uint32_t bricks = precision >> 6 & 1u, rows = shape[0], columns = shape[1], depth = shape[2];
    const uint32_t w0 = shorts[WIDTH0] + 1u, h0 = shorts[WIDTH0 + 1] + 1u, h1 = shorts[WIDTH0 + 2] + 1u;
    const int64_t bytes = (int64_t)1 << (precision >> (row == OFM ? 1 : 2) & 3u);
    const int64_t strides[3] = {longs[STRIDE_Y], bricks ? 16 * bytes : longs[STRIDE_X], bricks ? longs[STRIDE_C] : 0};
    if (!mote_npu_has(npu, 0, row, 0x9c00) || !mote_npu_has(npu, 1, row, 0x3f | bricks << 6)) {
        return MOTE_NPU_UNSET;
    }
    for (uint32_t tile = 0; tile < 4; tile++) {
        const uint32_t right = tile & 1u, height = right ? h1 : h0, lower = tile >> 1;
        if ((right && columns <= w0) || (lower && rows <= height)) {
            continue;
        }
        const int64_t steps[3] = {(lower ? rows - height : rows < height ? rows : height) - 1,
                                  (right ? columns - w0 : columns < w0 ? columns : w0) - 1,
                                  bricks ? (depth - 1) / 16 : 0};
        int64_t begin = longs[tile], end = begin + (bricks ? 16 : depth) * bytes, all = begin;
        for (uint32_t i = 0; i < 3; i++) {
            const int64_t reach = steps[i] * strides[i];
            *(reach < 0 ? &begin : &end) += reach;
            all |= strides[i];
        }
        if ((all & ((bricks ? 16 : bytes) - 1)) != 0) {
            return MOTE_NPU_ALIGNMENT;
        }
        const mote_npu_status status = mote_npu_touch(npu, shorts[REGION], begin, end, row == OFM);
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

/* The shape of the input of a convolution or a pool, given the output's. IFM_DEPTH is not asked for here. */
static mote_npu_status mote_npu_window(const mote_npu_t *npu, uint32_t op, uint32_t mode, uint32_t shape[3]) {
    const uint32_t stride = npu->shorts[KERNEL_STRIDE], own = npu->shorts[IFM_DEPTH] + 1u;
    const uint32_t x = 1u + (stride & 1u) + (stride >> 5 & 2u), y = 1u + (stride >> 1 & 1u) + (stride >> 8 & 2u);
    if (!mote_npu_has(npu, 0, IFM, 0x8f) || !mote_npu_has(npu, 0, PARAMETERS, 7)) {
        return MOTE_NPU_UNSET;
    }
    shape[0] = mote_npu_input(npu, shape[0], KERNEL_HEIGHT, y, PAD_TOP, PAD_BOTTOM);
    shape[1] = mote_npu_input(npu, shape[1], KERNEL_WIDTH, x, PAD_LEFT, PAD_RIGHT);
    shape[2] = op == OP_CONV || (op == OP_POOL && mode == 2) || own > shape[2] ? own : shape[2];
    return shape[0] == 0 || shape[1] == 0 ? MOTE_NPU_VALUE : MOTE_NPU_OK;
}

/* The commands of a stream, from `words` to `end`, which is not read; `words` ends where it was refused. */
static mote_npu_status mote_npu_run(mote_npu_t *npu, const uint32_t **words, const uint32_t *end) {
    for (; *words < end; *words += 1) {
        const uint32_t word = **words, op = word & 0xffffu, more = word >> 14 & 1u;
        if (op == OP_STOP) {
            return *words + 1 == end ? MOTE_NPU_OK : MOTE_NPU_COMMAND;
        }
        if (op < REGISTERS) {
            npu->status = mote_npu_operate(npu, op, word >> 16);
        } else if (more && end - *words < 2) {
            return MOTE_NPU_COMMAND;
        } else {
            npu->status = mote_npu_set(npu, word, more ? (*words)[1] : 0);
        }
        if (npu->status != MOTE_NPU_OK) {
            return npu->status;
        }
        *words += more;
    }
    return MOTE_NPU_COMMAND;
}

mote_npu_status mote_npu_check(const void *payload, uint32_t bytes, const uint32_t sizes[MOTE_NPU_REGIONS],
                               uint32_t writable, uint32_t *at) {
    enum { COP1 = 0x31504f43, CONFIG = 1, STREAM = 2, NOP = 5 };
    const uint32_t *words = (const uint32_t *)payload;
    const uint32_t *const end = words + bytes / 4u;
    uint32_t unused, config = 0, streams = 0;
    mote_npu_t npu;
    memset(&npu, 0, sizeof npu);
    npu.sizes = sizes;
    npu.writable = writable | 1u << INTERNAL;
    at = at == NULL ? &unused : at;
    *at = 0;
    if (bytes % 4u != 0 || words == end || *words++ != COP1) {
        return MOTE_NPU_PAYLOAD;
    }
    while (words < end && npu.status == MOTE_NPU_OK) {
        const uint32_t tag = *words, action = tag & 0xffu, left = (uint32_t)(end - words) - 1u;
        const uint32_t length = (tag & 0xff00u) << 8 | tag >> 16;
        *at = bytes - 4u * (left + 1u);
        if (action == CONFIG && (tag & 0xff00ff00u) == 0 && config == 0 && left >= 2) {
            config = 1;
            npu.status = mote_npu_configure(&npu, words[1], words[2]) ? MOTE_NPU_OK : MOTE_NPU_CORE;
            words += 3;
        } else if (action == STREAM && config == 1 && streams == 0 && length <= left && (bytes - 4u * left) % 16u == 0) {
            const uint32_t *const behind = words + 1 + length;
            streams = 1;
            words++;
            npu.status = mote_npu_run(&npu, &words, behind);
            *at = bytes - 4u * (uint32_t)(end - words);
            words = behind;
        } else if (tag == NOP) {
            words++;
        } else {
            npu.status = MOTE_NPU_PAYLOAD;
        }
    }
    return npu.status ? npu.status : streams ? MOTE_NPU_OK : MOTE_NPU_PAYLOAD;
}

#endif
