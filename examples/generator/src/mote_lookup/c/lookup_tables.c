#include "lookup_tables.h"

#include <string.h>

int lookup_init(void) {
    return 0; /* the driver of an accelerator would power it up here */
}

void lookup_1(const int8_t *tables, const int8_t *in, int8_t *out, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        out[i] = tables[in[i] + 128];
    }
}

void lookup_2(const int8_t *tables, const int8_t *in, int8_t *first, int8_t *second, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        const int8_t *pair = tables + 2 * (in[i] + 128);
        first[i] = pair[0];
        second[i] = pair[1];
    }
}

void lookup_1_in_ram(const int8_t *tables, int8_t *copy, const int8_t *in, int8_t *out, uint16_t count) {
    memcpy(copy, tables, 256);
    lookup_1(copy, in, out, count);
}

void lookup_2_in_ram(const int8_t *tables, int8_t *copy, const int8_t *in, int8_t *first, int8_t *second,
                     uint16_t count) {
    memcpy(copy, tables, 512);
    lookup_2(copy, in, first, second, count);
}
