/* The functions of the runtime with types that Rust declares: status as uint32_t, pointers for structs. */
#include "mote_kernels.h"
#include "mote_runtime.h"

/* What src/lib.rs holds an interpreter in. */
typedef char mote_rust_fits[sizeof(mote_interpreter_t) <= 96 ? 1 : -1];

uint32_t mote_rust_needs(const void *image, size_t bytes, mote_needs_t *needs);
uint32_t mote_rust_init(mote_interpreter_t *it, const void *image, size_t bytes, void *arena, size_t arena_bytes,
                        void *state, size_t state_bytes);
uint32_t mote_rust_invoke(mote_interpreter_t *it);
uint32_t mote_rust_step(mote_interpreter_t *it);
uint32_t mote_rust_push(mote_interpreter_t *it, const void *rows, size_t bytes);
uint32_t mote_rust_reset(mote_interpreter_t *it);
uint8_t *mote_rust_port(const mote_interpreter_t *it, uint32_t output, size_t index, size_t *bytes);

uint32_t mote_rust_needs(const void *image, size_t bytes, mote_needs_t *needs) {
    return (uint32_t)mote_needs(image, bytes, needs);
}

uint32_t mote_rust_init(mote_interpreter_t *it, const void *image, size_t bytes, void *arena, size_t arena_bytes,
                        void *state, size_t state_bytes) {
    const mote_memory_t memory = {{arena, NULL, NULL, NULL}, {arena_bytes, 0, 0, 0}, state, state_bytes};
    return (uint32_t)mote_init(it, &mote_kernels, image, bytes, &memory, NULL);
}

uint32_t mote_rust_invoke(mote_interpreter_t *it) { return (uint32_t)mote_invoke(it); }

uint32_t mote_rust_step(mote_interpreter_t *it) { return (uint32_t)mote_step(it); }

uint32_t mote_rust_push(mote_interpreter_t *it, const void *rows, size_t bytes) {
    mote_tensor_t input;
    if (mote_input_info(it, 0, &input) != MOTE_OK || input.row_bytes == 0 || bytes % input.row_bytes != 0) {
        return (uint32_t)MOTE_UNSUPPORTED;
    }
    return (uint32_t)mote_push(it, rows, bytes / input.row_bytes);
}

uint32_t mote_rust_reset(mote_interpreter_t *it) { return (uint32_t)mote_reset(it); }

uint8_t *mote_rust_port(const mote_interpreter_t *it, uint32_t output, size_t index, size_t *bytes) {
    mote_tensor_t tensor;
    const mote_status status = output ? mote_output_info(it, index, &tensor) : mote_input_info(it, index, &tensor);
    *bytes = status == MOTE_OK ? tensor.bytes : 0;
    if (status != MOTE_OK) {
        return NULL;
    }
    return output ? (uint8_t *)(uintptr_t)mote_output(it, index) : (uint8_t *)mote_input(it, index);
}
