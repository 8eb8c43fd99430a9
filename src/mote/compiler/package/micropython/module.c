/* @NAME@_module.c: the native module. What is written to lies in buffers of Python's; there are no variables here. */
#include "py/dynruntime.h"

@INCLUDES@
@LIBRARY@
static mp_buffer_info_t buffer(mp_obj_t object, mp_uint_t flags) {
    mp_buffer_info_t info;
    mp_get_buffer_raise(object, &info, flags);
    return info;
}

/* The memory in a buffer of Python's from the first multiple of 8 on. */
static void *aligned(mp_obj_t object, size_t bytes) {
    const mp_buffer_info_t info = buffer(object, MP_BUFFER_RW);
    uint8_t *const begin = (uint8_t *)(((uintptr_t)info.buf + 7u) & ~(uintptr_t)7);
    if (info.len < bytes + (size_t)(begin - (uint8_t *)info.buf)) {
        mp_raise_ValueError(MP_ERROR_TEXT("too little memory"));
    }
    return begin;
}

static mp_obj_t copied(void *to, mp_obj_t from, size_t bytes) {
    const mp_buffer_info_t info = buffer(from, MP_BUFFER_READ);
    if (info.len != bytes) {
        mp_raise_ValueError(MP_ERROR_TEXT("another number of bytes than the input has"));
    }
    memcpy(to, info.buf, bytes);
    return mp_const_none;
}

static mp_obj_t given(mp_obj_t to, const void *from, size_t bytes) {
    const mp_buffer_info_t info = buffer(to, MP_BUFFER_WRITE);
    if (info.len != bytes) {
        mp_raise_ValueError(MP_ERROR_TEXT("another number of bytes than the output has"));
    }
    memcpy(info.buf, from, bytes);
    return mp_const_none;
}

@FUNCTIONS@
mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args) {
    MP_DYNRUNTIME_INIT_ENTRY
@GLOBALS@    MP_DYNRUNTIME_INIT_EXIT
}
