#ifndef LOOKUP_TABLES_H
#define LOOKUP_TABLES_H

#include <stdint.h>

/* Called once, by the init of the model: 0 when the tables can be used. */
int lookup_init(void);

/* One function: 256 bytes of table, from -128 on. */
void lookup_1(const int8_t *tables, const int8_t *in, int8_t *out, uint16_t count);

/* Two functions of one tensor: pairs of bytes. */
void lookup_2(const int8_t *tables, const int8_t *in, int8_t *first, int8_t *second, uint16_t count);

/* The same from a copy of the tables in working memory, for parts whose flash is slow. */
void lookup_1_in_ram(const int8_t *tables, int8_t *copy, const int8_t *in, int8_t *out, uint16_t count);
void lookup_2_in_ram(const int8_t *tables, int8_t *copy, const int8_t *in, int8_t *first, int8_t *second,
                     uint16_t count);

#endif
