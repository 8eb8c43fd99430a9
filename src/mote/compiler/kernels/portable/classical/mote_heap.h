/* mote_heap.h: heaps of indices, ordered as those of the C++ library that LiteRT is built with: among equals the order is
 * the one that they leave. An index comes before another where its key is greater; the last of all is on top. */
#ifndef MOTE_HEAP_H
#define MOTE_HEAP_H

#include "mote_common.h"

/* Put a value into a hole, and lift it. */
static inline void mote_heap_lift(int32_t *heap, int32_t hole, int32_t top, int32_t value, const float *key) {
    while (hole > top && key[heap[(hole - 1) / 2]] > key[value]) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = value;
}

/* Let the hole at `top` sink to the bottom, then lift the value from there. */
static inline void mote_heap_sink(int32_t *heap, int32_t top, int32_t length, int32_t value, const float *key) {
    int32_t hole = top, child = 2 * top + 2;
    for (; child < length; child = 2 * child + 2) {
        if (key[heap[child]] > key[heap[child - 1]]) {
            child--;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    if (child == length) {
        heap[hole] = heap[child - 1];
        hole = child - 1;
    }
    mote_heap_lift(heap, hole, top, value, key);
}

/* Take the last of all away, from a heap that is not empty. */
static inline int32_t mote_heap_pop(int32_t *heap, int32_t length, const float *key) {
    const int32_t found = heap[0];
    if (length > 1) {
        mote_heap_sink(heap, 0, length - 1, heap[length - 1], key);
    }
    return found;
}

/* Where the `count` greatest of n keys are, from the greatest on: the first entries of `heap`, which has n. */
static inline void mote_heap_largest(const float *key, int32_t n, int32_t count, int32_t *heap) {
    for (int32_t i = 0; i < n; i++) {
        heap[i] = i;
    }
    for (int32_t top = count / 2 - 1; top >= 0; top--) {
        mote_heap_sink(heap, top, count, heap[top], key);
    }
    for (int32_t i = count; i < n && count > 0; i++) {
        if (key[heap[i]] > key[heap[0]]) {
            const int32_t value = heap[i];
            heap[i] = heap[0];
            mote_heap_sink(heap, 0, count, value, key);
        }
    }
    for (int32_t last = count - 1; last > 0; last--) {
        const int32_t value = heap[last];
        heap[last] = heap[0];
        mote_heap_sink(heap, 0, last, value, key);
    }
}

#endif
