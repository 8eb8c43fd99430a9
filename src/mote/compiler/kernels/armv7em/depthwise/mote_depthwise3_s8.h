/* mote_depthwise3_s8.h: int8 depthwise convolution with 3x3 windows over planar rows, for cores with DSP instructions.
 *
 * A row of a channel is made in blocks of four outputs, and where its length is no multiple of four of a last block of
 * another size, which may be the only one. Registers: r0-r2 the rows, r3 the record, r10 and r11 two words of weights,
 * then sums from r4 on; inputs are in what is left. At the upper and the lower border one row is missing: these rows
 * have functions of their own, with two rows in r0 and r1 and the first row's weights at r2. Two or all three rows of
 * every window lie inside the image. Weights have 16 bits (w16) or 8 (w8): these are unpacked for each channel of each
 * row of outputs.
 *
 * Last blocks, by the number of outputs; with a `c` (closed) where the last output's third column is always padding:
 * stride 1: 3, 3c, 5, 5c, 6; stride 2: 1, 1c, 2, 2c, 3, 3c.
 */
#ifndef MOTE_DEPTHWISE3_S8_H
#define MOTE_DEPTHWISE3_S8_H

#include "mote_planar_s8.h"

#if MOTE_DSP
/* One row's share of a block. The first row's sums begin with the bias, which is where the last sum goes. */
#define MOTE_FROM_first(sum, bias) bias
#define MOTE_FROM_next(sum, bias) sum
#define MOTE_MAC(op, sum, x, w) op " " sum ", " x ", " w ", " sum "\n\t"
#define MOTE_MAC_FROM(op, sum, x, w, which, bias) op " " sum ", " x ", " w ", " MOTE_FROM_##which(sum, bias) "\n\t"

/* Columns 0 and 1, 2 and 3, 4 and 5 in r9, r12 and lr. */
#define MOTE_LOAD_6(row, step) \
    "ldrd r9, lr, [" row "], #" step "\n\t" \
    "uxtb16 r12, r9, ror #8\n\t" \
    "uxtb16 r9, r9\n\t" \
    "uxtb16 lr, lr\n\t"
/* Columns 0 and 1, 2 and 3 in r9 and r12. */
#define MOTE_LOAD_4(row, step) \
    "ldr r9, [" row "], #" step "\n\t" \
    "uxtb16 r12, r9, ror #8\n\t" \
    "uxtb16 r9, r9\n\t"

/* Stride 1: 14 instructions for 4 outputs, with the weights. */
#define MOTE_ROW3_s1_4(row, step, which) \
    MOTE_LOAD_6(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r7") \
    MOTE_MAC_FROM("smlatb", "r5", "r9", "r10", which, "r7") \
    MOTE_MAC_FROM("smlad", "r6", "r12", "r10", which, "r7") \
    MOTE_MAC_FROM("smlatb", "r7", "r12", "r10", which, "r7") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    MOTE_MAC("smlad", "r5", "r12", "r11") \
    MOTE_MAC("smlabt", "r6", "lr", "r11") \
    MOTE_MAC("smlad", "r7", "lr", "r11")

#define MOTE_ROW3_s1_3(row, step, which) \
    MOTE_LOAD_6(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r6") \
    MOTE_MAC_FROM("smlatb", "r5", "r9", "r10", which, "r6") \
    MOTE_MAC_FROM("smlad", "r6", "r12", "r10", which, "r6") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    MOTE_MAC("smlad", "r5", "r12", "r11") \
    MOTE_MAC("smlabt", "r6", "lr", "r11")

#define MOTE_ROW3_s1_3c(row, step, which) \
    MOTE_LOAD_4(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r6") \
    MOTE_MAC_FROM("smlatb", "r5", "r9", "r10", which, "r6") \
    MOTE_MAC_FROM("smlad", "r6", "r12", "r10", which, "r6") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    MOTE_MAC("smlad", "r5", "r12", "r11")

#define MOTE_ROW3_s1_5c(row, step, which) \
    MOTE_LOAD_6(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r8") \
    MOTE_MAC_FROM("smlatb", "r5", "r9", "r10", which, "r8") \
    MOTE_MAC_FROM("smlad", "r6", "r12", "r10", which, "r8") \
    MOTE_MAC_FROM("smlatb", "r7", "r12", "r10", which, "r8") \
    MOTE_MAC_FROM("smlad", "r8", "lr", "r10", which, "r8") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    MOTE_MAC("smlad", "r5", "r12", "r11") \
    MOTE_MAC("smlabt", "r6", "lr", "r11") \
    MOTE_MAC("smlad", "r7", "lr", "r11")

#define MOTE_ROW3_s1_5(row, step, which) \
    "ldrd r9, lr, [" row "], #" step "\n\t" \
    "uxtb16 r12, r9, ror #8\n\t" \
    "uxtb16 r9, r9\n\t" \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r8") \
    MOTE_MAC_FROM("smlatb", "r5", "r9", "r10", which, "r8") \
    MOTE_MAC_FROM("smlad", "r6", "r12", "r10", which, "r8") \
    MOTE_MAC_FROM("smlatb", "r7", "r12", "r10", which, "r8") \
    "uxtb16 r9, lr, ror #8\n\t" \
    "uxtb16 lr, lr\n\t" \
    MOTE_MAC_FROM("smlad", "r8", "lr", "r10", which, "r8") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    MOTE_MAC("smlad", "r5", "r12", "r11") \
    MOTE_MAC("smlabt", "r6", "lr", "r11") \
    MOTE_MAC("smlad", "r7", "lr", "r11") \
    MOTE_MAC("smlabt", "r8", "r9", "r11")

/* Six sums leave two registers for inputs. */
#define MOTE_ROW3_s1_6(row, step, which) \
    "ldr r12, [" row "], #4\n\t" \
    "uxtb16 lr, r12, ror #8\n\t" \
    "uxtb16 r12, r12\n\t" \
    MOTE_MAC_FROM("smlad", "r4", "r12", "r10", which, "r9") \
    MOTE_MAC_FROM("smlatb", "r5", "r12", "r10", which, "r9") \
    "ldr r12, [" row "], #" step " - 4\n\t" \
    MOTE_MAC_FROM("smlad", "r6", "lr", "r10", which, "r9") \
    MOTE_MAC_FROM("smlatb", "r7", "lr", "r10", which, "r9") \
    MOTE_MAC("smlabt", "r4", "lr", "r11") \
    MOTE_MAC("smlad", "r5", "lr", "r11") \
    "uxtb16 lr, r12\n\t" \
    "uxtb16 r12, r12, ror #8\n\t" \
    MOTE_MAC("smlabt", "r6", "lr", "r11") \
    MOTE_MAC("smlad", "r7", "lr", "r11") \
    MOTE_MAC_FROM("smlad", "r8", "lr", "r10", which, "r9") \
    MOTE_MAC_FROM("smlatb", "r9", "lr", "r10", which, "r9") \
    MOTE_MAC("smlabt", "r8", "r12", "r11") \
    MOTE_MAC("smlad", "r9", "r12", "r11")

/* Stride 2: 15 instructions for 4 outputs, with the weights. The ninth column is the next block's first. */
#define MOTE_ROW3_s2_4(row, step, which) \
    "ldrd r9, lr, [" row "], #8\n\t" \
    "uxtb16 r12, r9, ror #8\n\t" \
    "uxtb16 r9, r9\n\t" \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r7") \
    MOTE_MAC_FROM("smlad", "r5", "r12", "r10", which, "r7") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    "uxtb16 r9, lr\n\t" \
    "uxtb16 r12, lr, ror #8\n\t" \
    "ldrb lr, [" row "]\n\t" \
    MOTE_MAC_FROM("smlad", "r6", "r9", "r10", which, "r7") \
    MOTE_MAC_FROM("smlad", "r7", "r12", "r10", which, "r7") \
    MOTE_MAC("smlabt", "r5", "r9", "r11") \
    MOTE_MAC("smlabt", "r6", "r12", "r11") \
    MOTE_MAC("smlabt", "r7", "lr", "r11")

#define MOTE_ROW3_s2_1c(row, step, which) \
    "ldr r9, [" row "], #" step "\n\t" \
    "uxtb16 r9, r9\n\t" \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r4")

#define MOTE_ROW3_s2_1(row, step, which) \
    MOTE_LOAD_4(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r4") \
    MOTE_MAC("smlabt", "r4", "r12", "r11")

#define MOTE_ROW3_s2_2c(row, step, which) \
    MOTE_LOAD_4(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r5") \
    MOTE_MAC_FROM("smlad", "r5", "r12", "r10", which, "r5") \
    MOTE_MAC("smlabt", "r4", "r12", "r11")

#define MOTE_ROW3_s2_2(row, step, which) \
    MOTE_LOAD_6(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r5") \
    MOTE_MAC_FROM("smlad", "r5", "r12", "r10", which, "r5") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    MOTE_MAC("smlabt", "r5", "lr", "r11")

#define MOTE_ROW3_s2_3c(row, step, which) \
    MOTE_LOAD_6(row, step) \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r6") \
    MOTE_MAC_FROM("smlad", "r5", "r12", "r10", which, "r6") \
    MOTE_MAC_FROM("smlad", "r6", "lr", "r10", which, "r6") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    MOTE_MAC("smlabt", "r5", "lr", "r11")

#define MOTE_ROW3_s2_3(row, step, which) \
    "ldrd r9, lr, [" row "], #" step "\n\t" \
    "uxtb16 r12, r9, ror #8\n\t" \
    "uxtb16 r9, r9\n\t" \
    MOTE_MAC_FROM("smlad", "r4", "r9", "r10", which, "r6") \
    MOTE_MAC_FROM("smlad", "r5", "r12", "r10", which, "r6") \
    MOTE_MAC("smlabt", "r4", "r12", "r11") \
    "uxtb16 r9, lr\n\t" \
    "uxtb16 r12, lr, ror #8\n\t" \
    MOTE_MAC_FROM("smlad", "r6", "r9", "r10", which, "r6") \
    MOTE_MAC("smlabt", "r5", "r9", "r11") \
    MOTE_MAC("smlabt", "r6", "r12", "r11")

/* The last sum's register, by the kind of block: the bias goes there. */
#define MOTE_BIAS_1 "r4"
#define MOTE_BIAS_1c "r4"
#define MOTE_BIAS_2 "r5"
#define MOTE_BIAS_2c "r5"
#define MOTE_BIAS_3 "r6"
#define MOTE_BIAS_3c "r6"
#define MOTE_BIAS_4 "r7"
#define MOTE_BIAS_5 "r8"
#define MOTE_BIAS_5c "r8"
#define MOTE_BIAS_6 "r9"

/* All sums of a block from three rows or from two, then the constants to scale them with. */
#define MOTE_SUMS3_3(stride, kind, step, form) \
    "ldm r3, {" MOTE_BIAS_##kind ", r10, r11}\n\t" MOTE_ROW3_##stride##_##kind("r0", step, first) \
    "ldrd r10, r11, [r3, #12]\n\t" MOTE_ROW3_##stride##_##kind("r1", step, next) \
    "ldrd r10, r11, [r3, #20]\n\t" MOTE_ROW3_##stride##_##kind("r2", step, next) MOTE_CONSTANTS3_##form
#define MOTE_SUMS3_2(stride, kind, step, form) \
    "ldr " MOTE_BIAS_##kind ", [r3]\n\t" \
    "ldrd r10, r11, [r2]\n\t" MOTE_ROW3_##stride##_##kind("r0", step, first) \
    "ldrd r10, r11, [r2, #8]\n\t" MOTE_ROW3_##stride##_##kind("r1", step, next) MOTE_CONSTANTS3_##form
#define MOTE_CONSTANTS3_relu "ldrd r10, r11, [r3, #28]\n\t"
#define MOTE_CONSTANTS3_linear MOTE_CONSTANTS3_relu "ldr r12, [r3, #36]\n\t"

/* The same for a block that is a channel's last: the record's pointer goes on to the next one. */
#define MOTE_ALL3_3(weights, stride, kind, step, form) \
    "ldm r3!, {" MOTE_BIAS_##kind ", r10, r11}\n\t" MOTE_ROW3_##stride##_##kind("r0", step, first) \
    "ldm r3!, {r10, r11}\n\t" MOTE_ROW3_##stride##_##kind("r1", step, next) \
    "ldm r3!, {r10, r11}\n\t" MOTE_ROW3_##stride##_##kind("r2", step, next) MOTE_LAST_CONSTANTS_##form
#define MOTE_ALL3_2(weights, stride, kind, step, form) \
    MOTE_SUMS3_2(stride, kind, step, form) MOTE_NEXT_RECORD_##weights##_2_##form
#define MOTE_LAST_CONSTANTS_relu "ldm r3!, {r10, r11}\n\t"
#define MOTE_LAST_CONSTANTS_linear "ldm r3!, {r10, r11, r12}\n\t"
#define MOTE_NEXT_RECORD_w16_3_relu "add r3, r3, #36\n\t"
#define MOTE_NEXT_RECORD_w16_3_linear "add r3, r3, #40\n\t"
#define MOTE_NEXT_RECORD_w16_2_relu MOTE_NEXT_RECORD_w16_3_relu "add r2, r2, #36\n\t"
#define MOTE_NEXT_RECORD_w16_2_linear MOTE_NEXT_RECORD_w16_3_linear "add r2, r2, #40\n\t"
#define MOTE_NEXT_RECORD_w8_3_relu ""
#define MOTE_NEXT_RECORD_w8_3_linear ""
#define MOTE_NEXT_RECORD_w8_2_relu ""
#define MOTE_NEXT_RECORD_w8_2_linear ""
#define MOTE_NEXT_RECORD_b8_3_relu ""
#define MOTE_NEXT_RECORD_b8_3_linear ""
#define MOTE_NEXT_RECORD_b8_2_relu ""
#define MOTE_NEXT_RECORD_b8_2_linear ""

/* Where a channel begins. w8: its record is made at `at` of the stack, with weights times 256, from the one that `from`
 * points to: 12 instructions, 14 with the constant for linear outputs. b8: with the bias that the pointer behind that one
 * points to, 3 more. */
#define MOTE_CHANNEL_w16_relu(at, from) "0:\n"
#define MOTE_CHANNEL_w16_linear(at, from) "0:\n"
#define MOTE_CHANNEL_w8_relu(at, from) MOTE_CHANNEL_W8(at, from, "")
#define MOTE_CHANNEL_w8_linear(at, from) MOTE_CHANNEL_W8(at, from, MOTE_CHANNEL_FIX(at))
#define MOTE_CHANNEL_b8_relu(at, from) MOTE_CHANNEL_W8(at, from, MOTE_CHANNEL_BIAS(from))
#define MOTE_CHANNEL_b8_linear(at, from) MOTE_CHANNEL_W8(at, from, MOTE_CHANNEL_FIX(at) MOTE_CHANNEL_BIAS(from))
#define MOTE_CHANNEL_FIX(at) \
    "ldr r5, [r3], #4\n\t" \
    "str r5, [sp, #36 + " at "]\n\t"
#define MOTE_CHANNEL_BIAS(from) \
    "ldr r5, [sp, #4 + " from "]\n\t" \
    "ldr r4, [r5], #4\n\t" \
    "str r5, [sp, #4 + " from "]\n\t"
#define MOTE_CHANNEL_W8(at, from, more) \
    "0:\n\t" \
    "ldr r3, [sp, #" from "]\n\t" \
    "ldm r3!, {r4, r6, r9, r11, r12, lr}\n\t" more \
    "str r3, [sp, #" from "]\n\t" \
    "mov r3, #0xff00ff00\n\t" \
    "and r5, r3, r6, lsl #8\n\t" \
    "and r6, r3, r6\n\t" \
    "and r7, r3, r9, lsl #8\n\t" \
    "and r9, r3, r9\n\t" \
    "and r10, r3, r11, lsl #8\n\t" \
    "and r11, r3, r11\n\t" \
    "add r3, sp, #" at "\n\t" \
    "stm r3, {r4-r7, r9-r12, lr}\n"

/* The sums as bytes. */
#define MOTE_BYTES_1(form, s) MOTE_PLANAR_SCALE_##form("r4") MOTE_PLANAR_BYTE("r4", s)
#define MOTE_BYTES_2(form, s) \
    MOTE_PLANAR_SCALE_##form("r4") MOTE_PLANAR_SCALE_##form("r5") MOTE_PLANAR_BYTE("r4", s) MOTE_PLANAR_BYTE("r5", s)
#define MOTE_BYTES_3(form, s) MOTE_BYTES_2(form, s) MOTE_PLANAR_SCALE_##form("r6") MOTE_PLANAR_BYTE("r6", s)
#define MOTE_BYTES_4(form, s) \
    MOTE_BYTES_2(form, s) MOTE_PLANAR_SCALE_##form("r6") MOTE_PLANAR_SCALE_##form("r7") \
    MOTE_PLANAR_BYTE("r6", s) MOTE_PLANAR_BYTE("r7", s)
#define MOTE_BYTES_5(form, s) MOTE_BYTES_4(form, s) MOTE_PLANAR_SCALE_##form("r8") MOTE_PLANAR_BYTE("r8", s)
#define MOTE_BYTES_6(form, s) \
    MOTE_BYTES_4(form, s) MOTE_PLANAR_SCALE_##form("r8") MOTE_PLANAR_SCALE_##form("r9") \
    MOTE_PLANAR_BYTE("r8", s) MOTE_PLANAR_BYTE("r9", s)
#define MOTE_BYTES_1c MOTE_BYTES_1
#define MOTE_BYTES_2c MOTE_BYTES_2
#define MOTE_BYTES_3c MOTE_BYTES_3
#define MOTE_BYTES_5c MOTE_BYTES_5

/* Where the last block's bytes go: to r10, and multiples of r11 (and r12, three times r11) behind it. */
#define MOTE_STORE_1 ""
#define MOTE_STORE_2 "strb r5, [r10, r11]\n\t"
#define MOTE_STORE_3 MOTE_STORE_2 "strb r6, [r10, r11, lsl #1]\n\t"
#define MOTE_STORE_5 \
    MOTE_STORE_3 "strb r7, [r10, r12]\n\t" \
    "strb r8, [r10, r11, lsl #2]\n\t"
#define MOTE_STORE_6 \
    MOTE_STORE_5 "add r12, r12, r11, lsl #1\n\t" \
    "strb r9, [r10, r12]\n\t"
#define MOTE_STORE_1c MOTE_STORE_1
#define MOTE_STORE_2c MOTE_STORE_2
#define MOTE_STORE_3c MOTE_STORE_3
#define MOTE_STORE_5c MOTE_STORE_5

/* Blocks of four outputs. r8 is where an output lies, less `wide`, so that it is not negative behind a channel's last
 * block, and then the channel's number. On the stack: where a block's four outputs lie for r8 = 0, the bytes from one
 * block to the next, `skip`, `wide` - 1 and the number of the last channel. Stride 1: 55 instructions a block from
 * three rows, 42 from two, and 10 a channel. */
#define MOTE_FOURS3_BEGIN(weights) \
    "push {r4-r11, lr}\n\t" MOTE_BEGIN3_##weights \
    "ldm r0, {r0, r4, r5, r11}\n\t" MOTE_FRAME3_##weights \
    "add r6, r2, r5\n\t" \
    "add r7, r6, r4\n\t" \
    "add r8, r7, r4\n\t" \
    "add r9, r8, r4\n\t" \
    "lsl r10, r4, #2\n\t" \
    "sub r12, r5, #1\n\t" \
    "sub lr, r4, #1\n\t" \
    "push {r6-r12, lr}\n\t" \
    "rsb r8, r5, #0\n\t"
#define MOTE_FOURS3_STORE \
    "ldm sp, {r9-r12, lr}\n\t" \
    "strb r4, [r9, r8]\n\t" \
    "strb r5, [r10, r8]\n\t" \
    "strb r6, [r11, r8]\n\t" \
    "strb r7, [r12, r8]\n\t" \
    "adds r8, r8, lr\n\t" \
    "bmi 1b\n\t"
#define MOTE_FOURS3_NEXT(weights, rows, form) \
    "add r9, sp, #20\n\t" \
    "ldm r9, {r9-r11}\n\t" \
    "cmp r8, r11\n\t" \
    "sub r8, r8, r10\n\t" MOTE_SKIP_##rows MOTE_NEXT_RECORD_##weights##_##rows##_##form \
    "bne 0b\n\t" \
    "add sp, sp, #32\n\t" MOTE_END3_##weights
#define MOTE_SKIP_2 \
    "add r0, r0, r9\n\t" \
    "add r1, r1, r9\n\t"
#define MOTE_SKIP_3 MOTE_SKIP_2 "add r2, r2, r9\n\t"

/* Pointers to the rows, the record and, where there are two rows, the first one's weights. w8: the record is made on
 * the stack, below the pointer to the next one; b8: and behind that one to the next bias. */
#define MOTE_BEGIN3_w16 ""
#define MOTE_BEGIN3_w8 ""
#define MOTE_BEGIN3_b8 "ldr lr, [r0, #" MOTE_PLANAR_BIASES "]\n\t"
#define MOTE_FRAME3_w16 ""
#define MOTE_FRAME3_w8 \
    "push {r0}\n\t" \
    "sub sp, sp, #40\n\t" \
    "mov r0, sp\n\t"
#define MOTE_FRAME3_b8 \
    "push {r0, lr}\n\t" \
    "sub sp, sp, #40\n\t" \
    "mov r0, sp\n\t"
#define MOTE_END3_w16 "pop {r4-r11, pc}\n\t"
#define MOTE_END3_w8 "add sp, sp, #44\n\t" MOTE_END3_w16
#define MOTE_END3_b8 "add sp, sp, #48\n\t" MOTE_END3_w16
#define MOTE_ROWS3_3 \
    "mov r3, r0\n\t" \
    "ldm r1, {r0-r2}\n\t"
#define MOTE_ROWS3_2 \
    "add r2, r0, r3\n\t" \
    "mov r3, r0\n\t" \
    "ldm r1, {r0, r1}\n\t"

#define MOTE_FOURS3_ASM(weights, rows, stride, form, s) \
    MOTE_FOURS3_BEGIN(weights) MOTE_ROWS3_##rows MOTE_CHANNEL_##weights##_##form("32", "72") \
        "1:\n\t" MOTE_SUMS3_##rows(stride, 4, "4", form) MOTE_BYTES_4(form, s) MOTE_FOURS3_STORE \
            MOTE_FOURS3_NEXT(weights, rows, form)

/* The last block. On the stack: where its first output lies, the number of channels, three times as many, and where
 * the first output of the channel behind the last one would lie. Five outputs: 62 instructions a channel. */
#define MOTE_LAST3_BEGIN(weights) \
    "push {r4-r11, lr}\n\t" MOTE_BEGIN3_##weights \
    "ldm r0, {r0, r5, r6, r7, r8}\n\t" MOTE_FRAME3_##weights \
    "add r4, r2, r6\n\t" \
    "add r6, r5, r5, lsl #1\n\t" \
    "add r7, r4, r5\n\t" \
    "push {r4-r7}\n\t"
#define MOTE_LAST3_COLUMN_2 \
    "add r0, r0, r8\n\t" \
    "add r1, r1, r8\n"
#define MOTE_LAST3_COLUMN_3 "add r2, r2, r8\n\t" MOTE_LAST3_COLUMN_2
#define MOTE_LAST3_STORE(weights, kind) \
    "ldm sp, {r10-r12, lr}\n\t" MOTE_STORE_##kind \
    "strb r4, [r10], #1\n\t" \
    "cmp r10, lr\n\t" \
    "str r10, [sp]\n\t" \
    "bne 0b\n\t" \
    "add sp, sp, #16\n\t" MOTE_END3_##weights

#define MOTE_LAST3_ASM(weights, rows, stride, kind, line, form, s) \
    MOTE_LAST3_BEGIN(weights) MOTE_ROWS3_##rows MOTE_LAST3_COLUMN_##rows MOTE_CHANNEL_##weights##_##form("16", "56") \
        "\t" MOTE_ALL3_##rows(weights, stride, kind, line, form) MOTE_BYTES_##kind(form, s) \
            MOTE_LAST3_STORE(weights, kind)

#define MOTE_DEPTHWISE3_FOURS_ASM(id, weights, stride, form, s) \
    MOTE_PLANAR_ASM(mote_##id##_3rows, MOTE_FOURS3_ASM(weights, 3, stride, form, s)) \
    MOTE_PLANAR_ASM(mote_##id##_2rows, MOTE_FOURS3_ASM(weights, 2, stride, form, s))
#define MOTE_DEPTHWISE3_LAST_ASM(id, weights, stride, kind, line, form, s) \
    MOTE_PLANAR_ASM(mote_##id##_3rows, MOTE_LAST3_ASM(weights, 3, stride, kind, line, form, s)) \
    MOTE_PLANAR_ASM(mote_##id##_2rows, MOTE_LAST3_ASM(weights, 2, stride, kind, line, form, s))

/* One kind of block of an output row. In a record the first row's weights lie behind 4 bytes, the next behind 12. */
#define MOTE_DEPTHWISE3_PASS(id, p, rows, out) \
    if (rows[0] == NULL) { \
        mote_##id##_2rows(p, rows + 1, out, 12); \
    } else if (rows[2] == NULL) { \
        mote_##id##_2rows(p, rows, out, 4); \
    } else { \
        mote_##id##_3rows(p, rows, out, 0); \
    }
#define MOTE_DEPTHWISE3_CODE(id, text) MOTE_PLANAR_ASM(mote_##id, text)
#define MOTE_DEPTHWISE3_ROW_ONE(id, weights, stride, form, s) MOTE_DEPTHWISE3_PASS(id, p, rows, out)
#define MOTE_DEPTHWISE3_ROW_TWO(fours, last, weights, stride, form, s) \
    MOTE_DEPTHWISE3_PASS(fours, p, rows, out) \
    MOTE_DEPTHWISE3_PASS(last, p, rows, out)
#else
#define MOTE_DEPTHWISE3_CODE(id, text)
#define MOTE_DEPTHWISE3_FOURS_ASM(id, weights, stride, form, s)
#define MOTE_DEPTHWISE3_LAST_ASM(id, weights, stride, kind, line, form, s)
#define MOTE_DEPTHWISE3_ROW_ONE(id, weights, stride, form, s) \
    mote_planar_row(p, rows, out, mote_planar_##weights, mote_planar_##stride, mote_planar_##form, s);
#define MOTE_DEPTHWISE3_ROW_TWO(fours, last, weights, stride, form, s) \
    MOTE_DEPTHWISE3_ROW_ONE(fours, weights, stride, form, s)
#endif

/* The functions of a kernel: a row, and rows lo..hi-1. */
#define MOTE_DEPTHWISE3_KERNEL(id, row) \
    typedef mote_planar_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id##_row(const mote_planar_t *p, const int8_t *const *rows, int8_t *out) { row } \
    MOTE_NOINLINE void mote_##id(const mote_planar_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi) { \
        mote_planar_rows(p, in, out, lo, hi, mote_##id##_row); \
    }

/* What a model instantiates, once for each that it needs: a kernel for rows of 4, 8, 12.. outputs, one for rows that
 * are a last block (of lines of so many bytes), and one for rows that begin with the former and end with the latter.
 * Weights are w16 or w8, the stride is s1 or s2, the form relu or linear: whether negative results vanish in the
 * activation. */
#define MOTE_DEPTHWISE3_FOURS(weights, stride, form, s) \
    MOTE_DEPTHWISE3_FOURS_(depthwise3_##weights##_##stride##_##form##_##s, weights, stride, form, s)
/* One for rows that are a last block, with code of its own for its number of channels: of the rows of a window that are
 * there, id_3rows and id_2rows (armv7em/depthwise/depthwise3_assembly.py). */
#define MOTE_DEPTHWISE3_WRITTEN(id, weights, stride, form, s) \
    MOTE_DEPTHWISE3_KERNEL(id, MOTE_DEPTHWISE3_ROW_ONE(id, weights, stride, form, s))
#define MOTE_DEPTHWISE3_FOURS_(id, weights, stride, form, s) \
    MOTE_DEPTHWISE3_FOURS_ASM(id, weights, stride, form, #s) \
    MOTE_DEPTHWISE3_KERNEL(id, MOTE_DEPTHWISE3_ROW_ONE(id, weights, stride, form, s))
#define MOTE_DEPTHWISE3_LAST(weights, stride, kind, line, form, s) \
    MOTE_DEPTHWISE3_LAST_(depthwise3_##weights##_##stride##_##kind##_##line##_##form##_##s, weights, stride, kind, \
                          line, form, s)
#define MOTE_DEPTHWISE3_LAST_(id, weights, stride, kind, line, form, s) \
    MOTE_DEPTHWISE3_LAST_ASM(id, weights, stride, kind, #line, form, #s) \
    MOTE_DEPTHWISE3_KERNEL(id, MOTE_DEPTHWISE3_ROW_ONE(id, weights, stride, form, s))
#define MOTE_DEPTHWISE3_BOTH(weights, stride, kind, line, form, s) \
    MOTE_DEPTHWISE3_KERNEL( \
        depthwise3_##weights##_##stride##_4_##kind##_##line##_##form##_##s, \
        MOTE_DEPTHWISE3_ROW_TWO(depthwise3_##weights##_##stride##_##form##_##s, \
                                depthwise3_##weights##_##stride##_##kind##_##line##_##form##_##s, weights, stride, \
                                form, s))

#endif
