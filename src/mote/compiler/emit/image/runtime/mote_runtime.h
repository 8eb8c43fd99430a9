/* mote_runtime.h: runs any model that `mote pack` has written, read in place from flash.
 *
 *     #include "mote_kernels.h" // mote_kernels: what `mote runtime` linked into this firmware
 *
 *     static uint64_t arena[8 * 1024], state[64]; // bytes as `mote pack` prints them, or as mote_needs says
 *     static mote_interpreter_t model;
 *     const mote_memory_t memory = {{arena}, {sizeof arena}, state, sizeof state};
 *     mote_problem_t problem;
 *     if (mote_init(&model, &mote_kernels, image, image_bytes, &memory, &problem) != MOTE_OK) {
 *         report(problem.what, problem.name);
 *     }
 *     memcpy(mote_input(&model, 0), my_data, my_bytes);
 *     if (mote_invoke(&model) == MOTE_OK) { use(mote_output(&model, 0)); }
 *
 * Order of calls: mote_init first; the others then in any order. Before mote_init, of an interpreter that is all zeros,
 * and after one that failed, functions return MOTE_NOT_READY, pointers are NULL, counts 0.
 *
 * Re-entrancy: all that changes lies in the interpreter and in the memory that it was given, so different interpreters
 * may run in different threads. One interpreter is for one thread: no call for it while another one has not returned.
 *
 * Memory: no heap, no recursion, no static variables. The image, the kernels and the memory must stay where they are
 * while the interpreter is used, and the image must not change: it is checked once, by mote_init, and believed from then
 * on. To replace a model, call mote_init again. Interpreters may share arenas where an inference of one has ended before
 * another begins and inputs are written before each: see mote_input. State blocks are never shared.
 *
 * Trust: mote_init refuses an image that would have a kernel read or write outside of the memory that it was given, or
 * outside of the image; it does not say whether the model is the one that you want. That is what a signature is for.
 * Whether a model with loops ends is its own matter: mote_step does one piece of work and returns.
 *
 * Models that learn on the device: mote_train.h.
 *
 * Compile the runtime and the kernels with -fwrapv: sums in kernels may wrap. Without it, and with a model that was
 * packed by others, the compiler may take what cannot happen for granted. Memory holds elements of several types, one
 * after another: compile without link-time optimization, or with -fno-strict-aliasing. Images are little-endian, and so
 * must the core be.
 */
#ifndef MOTE_RUNTIME_H
#define MOTE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "mote_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MOTE_STATUS_DEFINED
#define MOTE_STATUS_DEFINED
typedef enum {
    MOTE_OK = 0,
    MOTE_NOT_READY = 1,    /* init was not called, or has failed */
    MOTE_BAD_ARENA = 2,    /* the arena is missing, too small, or not aligned as the header says */
    MOTE_WRONG = 3,        /* the self-test found a difference */
    MOTE_BUSY = 4,         /* there is more to do: call step again */
    MOTE_WAITING = 5,      /* the next row of the input, or the next frame of a stream, is needed */
    MOTE_BROKEN = 6,       /* debug builds: a kernel wrote outside of its buffers */
    MOTE_BAD_STATE = 7,    /* the saved state is damaged, too short, or not one of this model */
    MOTE_DAMAGED = 8,      /* a constant in flash is not what it was when the model was compiled */
    MOTE_BAD_IMAGE = 9,    /* the runtime: the image is damaged, or no image */
    MOTE_NO_KERNEL = 10,   /* the runtime: the image needs a kernel that the firmware does not have */
    MOTE_UNSUPPORTED = 11, /* the runtime: the image needs a newer runtime, or one with larger limits */
    MOTE_FAILED = 12,      /* an accelerator failed: the outputs mean nothing */
    MOTE_BAD_FLASH = 13    /* flash failed, or is not described as it must be; what was saved before holds */
} mote_status;
#endif

/* Limits of this runtime, which cost stack; `mote runtime` sets them to what the kernels need. */
#ifndef MOTE_TAPS
#define MOTE_TAPS 32 /* pointers to rows, or to tensors, that a step takes; at least MOTE_OPERANDS */
#endif
#ifndef MOTE_PARAMETER_WORDS
#define MOTE_PARAMETER_WORDS 64 /* of the largest struct of parameters */
#endif

/* Bytes of memory that an image needs. */
typedef struct {
    uint32_t arena[4]; /* working memory, in as many kinds of memory as the model was planned for, fastest first */
    uint32_t state;    /* what lives from one inference to the next, and the place in the schedule */
} mote_needs_t;

/* Memory for an interpreter, at multiples of 8. Arenas that are not needed may be NULL. Without a state block, it is taken
 * from the end of the first arena, which then must be larger by as much. */
typedef struct {
    void *arena[4];
    size_t arena_bytes[4];
    void *state;
    size_t state_bytes;
} mote_memory_t;

/* Why an image was refused. */
typedef struct {
    const char *what; /* in words; never NULL */
    const char *name; /* of the kernel or layer, in the image; "" where none is to blame */
    uint32_t op;      /* the number of the layer, or UINT32_MAX */
} mote_problem_t;

/* An input or output. */
typedef struct {
    const char *name;
    const char *labels;    /* a line for each, or NULL */
    const uint32_t *shape; /* `rank` numbers */
    uint32_t bytes;        /* of all elements */
    uint32_t row_bytes;    /* of what mote_push_row takes at once */
    float scale;           /* real = scale * (q - zero_point); 0: not quantized */
    int32_t zero_point;
    uint8_t dtype; /* MOTE_FLOAT32 ... */
    uint8_t rank;
} mote_tensor_t;

enum { /* types of elements, as LiteRT numbers them */
    MOTE_FLOAT32 = 0,
    MOTE_INT32 = 2,
    MOTE_UINT8 = 3,
    MOTE_INT64 = 4,
    MOTE_BOOL = 6,
    MOTE_INT16 = 7,
    MOTE_COMPLEX64 = 8,
    MOTE_INT8 = 9,
    MOTE_UINT64 = 12,
    MOTE_UINT32 = 15,
    MOTE_UINT16 = 16
};

/* A model that is loaded. Its fields are the runtime's own. */
typedef struct {
    uint8_t *memory[6]; /* the arenas, the states, and the image, which is never written */
    const mote_kernels_t *kernels;
    uint16_t *oldest; /* behind the states: the oldest row of each ring buffer, inferences until the outputs mean
                         something, counters, the number of the entry of each kernel */
    uint32_t position; /* in the schedule, from 1 on; 0 before init */
} mote_interpreter_t;

/* What an image needs. Looks at its header only: MOTE_OK, MOTE_BAD_IMAGE or MOTE_UNSUPPORTED. `image` is a multiple of 8,
 * `bytes` is what can be read there: the image may be shorter. */
mote_status mote_needs(const void *image, size_t bytes, mote_needs_t *needs);

/* Check an image and make it ready to run. MOTE_BAD_IMAGE, MOTE_NO_KERNEL or MOTE_UNSUPPORTED: nothing can be done with
 * it, and `problem` says why, unless it is NULL. MOTE_BAD_ARENA: the memory is too small, missing or not aligned. Damage
 * that leaves an image consistent, in its weights, say, is seen by mote_image_crc only. */
mote_status mote_init(mote_interpreter_t *it, const mote_kernels_t *kernels, const void *image, size_t bytes,
                      const mote_memory_t *memory, mote_problem_t *problem);

/* Compare the CRC-32 over all of an image: MOTE_OK, MOTE_DAMAGED, or what mote_needs returns. Takes about 20
 * instructions a byte. */
mote_status mote_image_crc(const void *image, size_t bytes);

/* Inputs and outputs by number, from 0 on, or by name (-1: there is none). MOTE_UNSUPPORTED: there is none of this
 * number. */
size_t mote_input_count(const mote_interpreter_t *it);
size_t mote_output_count(const mote_interpreter_t *it);
int32_t mote_input_index(const mote_interpreter_t *it, const char *name);
int32_t mote_output_index(const mote_interpreter_t *it, const char *name);
mote_status mote_input_info(const mote_interpreter_t *it, size_t index, mote_tensor_t *info);
mote_status mote_output_info(const mote_interpreter_t *it, size_t index, mote_tensor_t *info);

/* Write inputs here, read outputs there; NULL where there is none of this number, and for an input that is pushed. Inputs
 * are overwritten by a run; outputs stay valid until inputs are written or the next run. */
void *mote_input(const mote_interpreter_t *it, size_t index);
const void *mote_output(const mote_interpreter_t *it, size_t index);

/* One inference: reads the inputs, writes the outputs. What the inputs held is lost. An inference that was begun with
 * mote_step is finished. MOTE_WAITING: the outputs mean nothing yet, because a stream has just begun, or the input is to
 * be pushed. */
mote_status mote_invoke(mote_interpreter_t *it);

/* The same in pieces, for a core that has other things to do as well: one piece of work, then MOTE_BUSY while there is
 * more to do, and what mote_invoke returns after the last one. */
mote_status mote_step(mote_interpreter_t *it);

/* For models whose input comes row by row (`mote pack --input rows`), top to bottom; of others MOTE_UNSUPPORTED. Hand over
 * the next `count` rows and do all that can be done with them. MOTE_WAITING: more rows are needed; MOTE_OK: they were the
 * last ones, the outputs are there, and the next row begins another inference. With more rows than this inference needs,
 * the next one begins at once, and the outputs are those of the last inference that has ended. */
mote_status mote_push(mote_interpreter_t *it, const void *rows, size_t count);

/* The same in pieces: hand over one row, then call mote_step while it is MOTE_BUSY. A row is taken only when nothing else
 * is left to do (MOTE_BUSY: it was not). */
mote_status mote_push_row(mote_interpreter_t *it, const void *row);

/* Forget everything, as after init: what the model remembers, and an inference that has begun. */
mote_status mote_reset(mote_interpreter_t *it);

/* Copy what is remembered from one inference to the next to memory of yours, mote_state_bytes of it, and back: the model
 * goes on from there. MOTE_BUSY in the middle of an inference. MOTE_BAD_STATE: there are fewer bytes than a state has, or
 * they are not what this image has saved (a version, the size, the image's header and a CRC-32 are compared); nothing has
 * changed. */
size_t mote_state_bytes(const mote_interpreter_t *it);
mote_status mote_save(const mote_interpreter_t *it, void *state, size_t bytes);
mote_status mote_restore(mote_interpreter_t *it, const void *state, size_t bytes);

/* What a status means, in words. */
const char *mote_status_text(mote_status status);

/* Where MOTE_RUNTIME_TRACE is defined as the name of a function when the runtime is compiled, it is called after each
 * call of a kernel: the number of the op, what was written (of running sums only when they are complete) and how many
 * bytes that is. Whole tensors are shown whole, the rest row by row, ring buffers from their oldest row on. */
#ifdef MOTE_RUNTIME_TRACE
void MOTE_RUNTIME_TRACE(uint32_t op, const void *data, size_t bytes);
#endif

#ifdef __cplusplus
}
#endif

#endif
