/* mote_npu_check.h: whether a command stream of an Ethos-U touches only memory that it was given.
 *
 *     static const uint32_t bytes[MOTE_NPU_REGIONS] = {weights, scratch, scratch, input, output};
 *     uint32_t at;
 *     if (mote_npu_check(payload, payload_bytes, bytes, 1u << 1 | 1u << 2 | 1u << 4, &at) != MOTE_NPU_OK) { refuse(); }
 *
 * An Ethos-U reads and writes wherever a command stream tells it to, past any memory protection of the core. This decodes
 * a driver's payload and every command in it, keeps the registers, and works out which bytes of each base pointer each
 * operation and each transfer reads and writes. The stream is good where all of them lie in memory that is there, and those
 * that are written where writing is allowed. What it does not know, it refuses. docs/develop/ethos-u-format.md has the
 * rules; mote.hardware.npu.check decides alike in Python.
 *
 * No heap, no recursion; the time is proportional to the length of the stream; about 1 KB of stack. mote_npu_check.c is
 * for Ethos-U55 and Ethos-U65, mote_npu_check_u85.c for Ethos-U85: a device has one of them, with mote_npu_stream.h, and
 * streams for the other are refused. The payload is little-endian, and so must the core be.
 */
#ifndef MOTE_NPU_CHECK_H
#define MOTE_NPU_CHECK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTE_NPU_REGIONS 8 /* base pointers of a stream */

typedef enum {
    MOTE_NPU_OK = 0,
    MOTE_NPU_PAYLOAD = 1,   /* not a payload that the driver takes: its actions, or their lengths */
    MOTE_NPU_CORE = 2,      /* for another NPU */
    MOTE_NPU_COMMAND = 3,   /* a command that there is not, or none at the end that stops the NPU */
    MOTE_NPU_VALUE = 4,     /* a register has a value that it cannot have */
    MOTE_NPU_UNSET = 5,     /* an operation needs a register that was never set */
    MOTE_NPU_ALIGNMENT = 6, /* an address, a stride or a length is not a multiple of what the NPU asks for */
    MOTE_NPU_OUTSIDE = 7,   /* bytes outside of a base pointer's memory */
    MOTE_NPU_READ_ONLY = 8  /* bytes are written that may only be read */
} mote_npu_status;

/* Check a payload. `payload` is a multiple of 4; `sizes` are the bytes behind each base pointer, 0 where there is none;
 * bit n of `writable` says that base pointer n may be written. `at`, unless NULL, becomes the offset in the payload of the
 * word where it was refused. */
mote_npu_status mote_npu_check(const void *payload, uint32_t bytes, const uint32_t sizes[MOTE_NPU_REGIONS],
                               uint32_t writable, uint32_t *at);

#ifdef __cplusplus
}
#endif

#endif
