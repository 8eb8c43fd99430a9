/* nor.h: flash in memory that behaves as NOR flash does, and whose power can be cut in the middle of any operation. */
#ifndef NOR_H
#define NOR_H

#include "mote_update.h"

#define NOR_BYTES 16384u
#define NOR_SECTORS 64u /* of the smallest size, 256 bytes, for counting */

/* How an operation that is cut off leaves what it was working on. */
enum {
    TEAR_NOTHING,  /* it had not begun */
    TEAR_ALL,      /* it was done, but nobody was told */
    TEAR_BITS,     /* any of the bits that were to change have changed */
    TEAR_PREFIX,   /* it had come as far as byte nor_prefix */
    TEAR_GARBAGE,  /* up to there it is done, in the next unit or the rest of the sector some of the bits */
    TEAR_ZEROS,    /* erasing: bits were set to 0 first, as some flash does, up to byte nor_prefix */
    TEARS
};

extern uint8_t nor[NOR_BYTES];
extern uint32_t nor_unit;           /* bytes that are written at once */
extern uint32_t nor_operations;     /* so far */
extern uint32_t nor_cut;            /* the operation that power fails in, counted from 0; UINT32_MAX: none */
extern int nor_tear;                /* how */
extern uint32_t nor_prefix;
extern int nor_dead;                /* power has failed */
extern int nor_lasts;               /* only the operation fails, and power lasts */
extern int nor_failed;              /* one of the two has happened */
extern int nor_corrects;            /* units have error correction: what is torn cannot be read */
extern uint32_t nor_erases[NOR_SECTORS], nor_all_erases, nor_all_writes, nor_written_bytes;
extern uint32_t nor_last_bytes;     /* of the operation that power failed in */
extern int nor_last_is_write;

uint32_t nor_random(void);
extern uint32_t nor_seed;
void nor_power_on(void); /* no cut, nothing counted */
int nor_erase(void *context, uint32_t at, uint32_t bytes);
int nor_write(void *context, uint32_t at, const uint8_t *data, uint32_t bytes);
/* Fails where anything torn is read; so do reads by address, which the sanitizer sees. */
int nor_read(void *context, uint32_t at, uint8_t *data, uint32_t bytes);
void nor_restore(const uint8_t *data); /* all of it, as it was */
/* Fails the test. */
void fail(const char *what, const char *file, int line);
#define CHECK(condition) \
    do { \
        if (!(condition)) fail(#condition, __FILE__, __LINE__); \
    } while (0)

#endif
