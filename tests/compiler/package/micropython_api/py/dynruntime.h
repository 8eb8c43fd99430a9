/* The part of MicroPython's API for native modules that packages use, over that of CPython: the module becomes an
 * extension that Python itself runs. Names and meanings are those of MicroPython's manual. */
#ifndef TEST_DYNRUNTIME_H
#define TEST_DYNRUNTIME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

typedef PyObject *mp_obj_t;
typedef long mp_int_t;
typedef unsigned long mp_uint_t;
typedef struct {
    void *buf;
    size_t len;
} mp_buffer_info_t;
typedef struct {
    PyObject *module;
} mp_obj_fun_bc_t;
enum { MP_BUFFER_READ = 1, MP_BUFFER_WRITE = 2, MP_BUFFER_RW = 3 };

static jmp_buf raised; /* MicroPython's functions do not return where they raise */

#define MP_ERROR_TEXT(text) (text)
#define mp_raise_ValueError(text) (PyErr_SetString(PyExc_ValueError, text), longjmp(raised, 1))
#define mp_const_none (Py_NewRef(Py_None))
#define mp_obj_new_int(value) PyLong_FromLong(value)
#define mp_obj_get_float_to_f(object) ((float)PyFloat_AsDouble(object))
#define mp_obj_new_float_from_f(value) PyFloat_FromDouble((double)(value))
#define mp_obj_get_int(object) PyLong_AsLong(object)

static inline void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *info, mp_uint_t flags) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, flags & MP_BUFFER_WRITE ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) {
        longjmp(raised, 1);
    }
    info->buf = view.buf;
    info->len = (size_t)view.len;
    PyBuffer_Release(&view); /* the caller holds the object */
}

#define CALLED(name, call) \
    static PyObject *name##_called(PyObject *self, PyObject *const *given, Py_ssize_t count) { \
        (void)self, (void)given; \
        if (count != name##_arity) { \
            PyErr_SetString(PyExc_TypeError, "another number of arguments"); \
            return NULL; \
        } \
        return setjmp(raised) == 0 ? call : NULL; \
    } \
    static PyMethodDef name = {#name, (PyCFunction)(void (*)(void))name##_called, METH_FASTCALL, NULL}
#define DEFINED(name, arity, call) const int name##_arity = arity; CALLED(name, call)
#define MP_DEFINE_CONST_FUN_OBJ_0(name, f) DEFINED(name, 0, f())
#define MP_DEFINE_CONST_FUN_OBJ_1(name, f) DEFINED(name, 1, f(given[0]))
#define MP_DEFINE_CONST_FUN_OBJ_2(name, f) DEFINED(name, 2, f(given[0], given[1]))
#define MP_DEFINE_CONST_FUN_OBJ_3(name, f) DEFINED(name, 3, f(given[0], given[1], given[2]))

#define MP_OBJ_FROM_PTR(pointer) PyCFunction_New(pointer, NULL)
#define mp_store_global(name, object) PyModule_AddObject(self->module, name, object)
#define MP_DYNRUNTIME_INIT_ENTRY (void)n_args, (void)n_kw, (void)args;
#define MP_DYNRUNTIME_INIT_EXIT return Py_None;

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args);

#endif
