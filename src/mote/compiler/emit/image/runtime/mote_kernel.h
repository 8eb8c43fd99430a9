/* mote_kernel.h: what the runtime knows of a kernel.
 *
 * A kernel is known by its id, the CRC-32 of its name and of the names of its parameters: an image says which ids it
 * needs, a firmware has a table of the entries that were linked into it. The functions of an entry are thin: they unpack
 * a mote_call_t into the arguments of the kernel itself. `mote runtime` writes them.
 */
#ifndef MOTE_KERNEL_H
#define MOTE_KERNEL_H

#include <stdint.h>

#include "mote_settings.h"

#include "mote_room.h"

#if UINTPTR_MAX < 0xffffffffu
#error "Mote's runtime needs pointers of at least 32 bits; for this core compile the model with mote compile"
#endif

/* Everything that a step hands to its kernel. */
typedef struct {
    const void *const *in; /* WHOLE, EACH, RING: a pointer for each operand; ROW, ROWS: the row pointers, those of one
                              operand behind those of another; SUMS: the row */
    void *const *outs;     /* ROWS: `count` output rows */
    void *out;             /* the others: the output, or its row; RING: the buffer */
    void *scratch, *sums;  /* NULL where there is none */
    int32_t lo, hi;        /* WHOLE, EACH: output rows lo..hi-1, or hi units */
    int32_t y;             /* ROW: the output row; SUMS: the tap of the window */
    int32_t count;         /* ROWS: how many output rows */
    int32_t part;          /* SUMS: bit 0 in the first call, bit 1 in the last */
    uint16_t *oldest;      /* RING: the oldest row of the buffer */
    uint32_t done;         /* all ones; a kernel whose accelerator has failed sets it to 0 */
} mote_call_t;

/* What runs a kernel: `p` is its struct of parameters. */
typedef void mote_function_t(const void *p, const mote_call_t *call);

/* The struct is made from words of the image: word i is the i-th number or pointer in it, those of nested structs
 * included, in the order of the C text. On a 32-bit core the struct is these words; on a 64-bit host word i goes to
 * `offsets[i]`. Words that are pointers hold an offset in the image, or 0 for NULL. */
typedef struct {
    uint32_t id;
    mote_function_t *run;  /* WHOLE, EACH; of an ADDS kernel SUMS; of a ring buffer RING */
    mote_function_t *row;  /* ROW, or NULL */
    mote_function_t *rows; /* ROWS, or NULL */
    int (*fits)(const void *p, const mote_room_t *room);
    const uint16_t *pointers; /* which words are pointers, or NULL where none is */
    const uint16_t *offsets;  /* of each word in the struct; NULL on 32-bit cores */
    uint16_t words;
    uint8_t pointer_count;
    uint8_t operands; /* how many tensors it reads */
    uint8_t forms;    /* bit MOTE_RUN_...: it can be called so */
} mote_kernel_t;

/* The kernels of a firmware, in ascending order of their ids, at most 65535. */
typedef struct {
    const mote_kernel_t *const *entries;
    uint32_t count;
} mote_kernels_t;

#endif
