/* The part of <string.h> that the kernels use, for compilers without a C library (zig); compiler-rt implements it. */
#ifndef MOTE_FREESTANDING_STRING_H
#define MOTE_FREESTANDING_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

#endif
