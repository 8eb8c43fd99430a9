/* fake_runtime.c: a runtime whose steps take as long as a test holds them. A model adds a number to each of its eight bytes,
 * in three steps; it has one input and one output. An image is {kind, number}: kind 0 is whole, 1 is pushed in rows of two
 * bytes, 2 is damaged, 3 is refused. */
#include "fake_runtime.h"

#include <string.h>

#include "mote_runtime.h"
#include "test_threads.h"

enum { BYTES = 8, ROW = 2, STEPS = 3 };

volatile int fake_held;
volatile long fake_begun, fake_steps;

static uint8_t kind, number, input[BYTES], output[BYTES];
static unsigned done, rows;

mote_status mote_image_crc(const void *image, size_t bytes) {
    return bytes < 2 ? MOTE_BAD_IMAGE : *(const uint8_t *)image == 2 ? MOTE_DAMAGED : MOTE_OK;
}

mote_status mote_init(mote_interpreter_t *it, const mote_kernels_t *kernels, const void *image, size_t bytes,
                      const mote_memory_t *memory, mote_problem_t *problem) {
    (void)kernels, (void)bytes;
    kind = ((const uint8_t *)image)[0];
    number = ((const uint8_t *)image)[1];
    done = rows = 0;
    it->position = 0;
    if (kind == 3 || memory->arena[0] == NULL) {
        *problem = (mote_problem_t){"no such kernel", "fake", 7};
        return MOTE_NO_KERNEL;
    }
    it->position = 1;
    return MOTE_OK;
}

static mote_status info_of(mote_tensor_t *info) {
    *info = (mote_tensor_t){"x", NULL, NULL, BYTES, ROW, 0.0f, 0, MOTE_INT8, 1};
    return MOTE_OK;
}

size_t mote_input_count(const mote_interpreter_t *it) { return it->position != 0; }
size_t mote_output_count(const mote_interpreter_t *it) { return it->position != 0; }
mote_status mote_input_info(const mote_interpreter_t *it, size_t index, mote_tensor_t *info) {
    return it->position == 0 ? MOTE_NOT_READY : index > 0 ? MOTE_UNSUPPORTED : info_of(info);
}
mote_status mote_output_info(const mote_interpreter_t *it, size_t index, mote_tensor_t *info) {
    return mote_input_info(it, index, info);
}
void *mote_input(const mote_interpreter_t *it, size_t index) { return it->position == 0 || index > 0 || kind == 1 ? NULL : input; }
const void *mote_output(const mote_interpreter_t *it, size_t index) { return it->position == 0 || index > 0 ? NULL : output; }

static mote_status advance(void) {
    unsigned i;
    fake_steps++;
    if (++done < STEPS) return MOTE_BUSY;
    done = 0;
    if (kind == 1 && rows < BYTES / ROW) return MOTE_WAITING;
    rows = 0;
    for (i = 0; i < BYTES; i++) output[i] = (uint8_t)(input[i] + number);
    memset(input, 0xee, sizeof input); /* a run overwrites its inputs */
    return MOTE_OK;
}

mote_status mote_step(mote_interpreter_t *it) {
    if (it->position == 0) return MOTE_NOT_READY;
    fake_begun++;
    while (fake_held) test_sleep(1);
    return advance();
}

mote_status mote_invoke(mote_interpreter_t *it) {
    mote_status status;
    do status = mote_step(it);
    while (status == MOTE_BUSY);
    return status;
}

mote_status mote_push_row(mote_interpreter_t *it, const void *row) {
    if (it->position == 0 || done != 0) return MOTE_BUSY;
    memcpy(&input[ROW * rows++], row, ROW);
    return advance();
}

mote_status mote_reset(mote_interpreter_t *it) {
    done = rows = 0;
    return it->position == 0 ? MOTE_NOT_READY : MOTE_OK;
}

const char *mote_status_text(mote_status status) { return status == MOTE_DAMAGED ? "damaged" : "other"; }
