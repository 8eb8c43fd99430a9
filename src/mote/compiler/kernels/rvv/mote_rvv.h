/* mote_rvv.h: RISC-V's vectors of integers of up to 32 bits (Zve32x), with registers of 128 bits at least. */
#ifndef MOTE_RVV_H
#define MOTE_RVV_H

#include "mote_common.h"

#if defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_v_min_vlen) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
#if __riscv_v_min_vlen >= 128
#define MOTE_RVV 1
#endif
#endif
#ifndef MOTE_RVV
#define MOTE_RVV 0
#endif

#define MOTE_RVV_LANES 16 /* channels of a block: its sums are in four registers of 128 bits */

/* How channels become bytes, in blocks of 16 channels and the rest: biases, multipliers, then right shifts. */
typedef struct {
    int32_t round_once;   /* LiteRT's fully connected layers round once, halves up; other layers twice */
    int32_t zero, lo, hi; /* output zero point and the range of the fused activation */
    const int32_t *channel;
} mote_rvv_output_t;

/* The byte of channel c of a block of n. */
static inline int8_t mote_rvv_byte(int32_t sum, const int32_t *channel, int32_t c, int32_t n, const mote_rvv_output_t *o) {
    const int32_t mult = channel[n + c], shift = channel[2 * n + c];
    int32_t y;
    if (o->round_once) {
        y = (int32_t)(((int64_t)sum * mult) >> 32);
        y = ((y >> (shift - 1)) + 1) >> 1;
    } else {
        y = mote_shift_right(mote_high_mul(sum, mult), shift - 1);
    }
    return mote_clamp(MOTE_PLUS(y, o->zero), o->lo, o->hi);
}

#if MOTE_RVV

#if defined(__clang__) || __GNUC__ > 12
#define MOTE_RVV_CLOBBERS \
    "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "v0", "v1", \
        "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", \
        "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "vl", "vtype"
#else /* it knows no vector registers, and uses none */
#define MOTE_RVV_CLOBBERS \
    "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"
#endif

/* %0: where the channels of four pixels go; %1, %2: a list and its end; %3: mote_rvv_output_t; %4: weights; %5: channels. */
#define MOTE_RVV_32 "vsetvli zero, a3, e32, m4, ta, ma\n\t"
#define MOTE_RVV_16 "vsetvli zero, a3, e16, m2, ta, ma\n\t"
#define MOTE_RVV_8 "vsetvli zero, a3, e8, m1, ta, ma\n\t"

/* a0: weights, a1: constants, a2: channels left; the next block has a3 channels and 4 * a3 = t6 bytes of constants. */
#define MOTE_RVV_OPEN \
    "csrwi vxrm, 0\n\tmv a0, %4\n\tlw a1, 16(%3)\n\tmv a2, %5\n" \
    "1:\n\tli a3, 16\n\tbgeu a2, a3, 2f\n\tmv a3, a2\n2:\n\tslli t6, a3, 2\n\t" MOTE_RVV_32 "vle32.v v8, (a1)\n\t"
#define MOTE_RVV_COPY "vmv.v.v v12, v8\n\tvmv.v.v v16, v8\n\tvmv.v.v v20, v8\n\t"
#define MOTE_RVV_CLOSE "sub a2, a2, a3\n\tbnez a2, 1b\n\t"

/* Sums as numbers of the output's type; a4, a5, a6: zero, lo, hi. v24: multipliers, v28: shifts. */
#define MOTE_RVV_TWICE(sum) \
    "vsmul.vv " sum ", " sum ", v24\n\tvsra.vi v0, " sum ", 31\n\tvadd.vv " sum ", " sum ", v0\n\t"
#define MOTE_RVV_ONCE(sum) "vmulh.vv " sum ", " sum ", v24\n\t"
#define MOTE_RVV_NUMBER(sum) \
    "vssra.vv " sum ", " sum ", v28\n\tvadd.vx " sum ", " sum ", a4\n\tvmax.vx " sum ", " sum ", a5\n\t" \
    "vmin.vx " sum ", " sum ", a6\n\t"
#define MOTE_RVV_NUMBERS(twice, once, numbers) \
    MOTE_RVV_32 "add a1, a1, t6\n\tvle32.v v24, (a1)\n\tadd a1, a1, t6\n\tvle32.v v28, (a1)\n\tadd a1, a1, t6\n\t" \
                "lw a4, 4(%3)\n\tlw a5, 8(%3)\n\tlw a6, 12(%3)\n\tlw a7, 0(%3)\n\tbnez a7, 5f\n\t" twice \
                "j 6f\n5:\n\t" once "6:\n\t" numbers
#define MOTE_RVV_STORE(byte, at) "lw t0, " at "(%0)\n\tvse8.v " byte ", (t0)\n\tadd t0, t0, a3\n\tsw t0, " at "(%0)\n\t"
#define MOTE_RVV_FINISH4 \
    MOTE_RVV_NUMBERS(MOTE_RVV_TWICE("v8") MOTE_RVV_TWICE("v12") MOTE_RVV_TWICE("v16") MOTE_RVV_TWICE("v20"), \
                     MOTE_RVV_ONCE("v8") MOTE_RVV_ONCE("v12") MOTE_RVV_ONCE("v16") MOTE_RVV_ONCE("v20"), \
                     MOTE_RVV_NUMBER("v8") MOTE_RVV_NUMBER("v12") MOTE_RVV_NUMBER("v16") MOTE_RVV_NUMBER("v20")) \
    MOTE_RVV_16 "vnsra.wi v0, v8, 0\n\tvnsra.wi v2, v12, 0\n\tvnsra.wi v4, v16, 0\n\tvnsra.wi v6, v20, 0\n\t" \
    MOTE_RVV_8 "vnsra.wi v24, v0, 0\n\tvnsra.wi v25, v2, 0\n\tvnsra.wi v26, v4, 0\n\tvnsra.wi v27, v6, 0\n\t" \
    MOTE_RVV_STORE("v24", "0") MOTE_RVV_STORE("v25", "4") MOTE_RVV_STORE("v26", "8") MOTE_RVV_STORE("v27", "12")
#define MOTE_RVV_FINISH1 \
    MOTE_RVV_NUMBERS(MOTE_RVV_TWICE("v8"), MOTE_RVV_ONCE("v8"), MOTE_RVV_NUMBER("v8")) \
    MOTE_RVV_16 "vnsra.wi v0, v8, 0\n\t" MOTE_RVV_8 "vnsra.wi v24, v0, 0\n\t" MOTE_RVV_STORE("v24", "0")

/* Where the channels of four pixels go; where pixels are missing the last one stands in for them. */
static inline void mote_rvv_places(int8_t **to, int8_t *out, int32_t pixel, int32_t n) {
    to[0] = out;
    to[1] = out += n > 1 ? pixel : 0;
    to[2] = out += n > 2 ? pixel : 0;
    to[3] = out + (n > 3 ? pixel : 0);
}

#endif

#endif
