/* mote_image.h: a model as data. docs/deploy/image-format.md describes every byte.
 *
 * An image is little-endian and read in place: the address of its first byte is a multiple of 8, and so is the offset of
 * every section. Offsets are in bytes from the first byte of the image. Nothing in an image is to be believed before
 * mote_init has checked it.
 */
#ifndef MOTE_IMAGE_H
#define MOTE_IMAGE_H

#include <stdint.h>

#define MOTE_IMAGE_MAGIC 0x45544f4du /* "MOTE" */
#define MOTE_IMAGE_FORMAT 1u
#define MOTE_IMAGE_HEADER 192u
#define MOTE_SIGNATURE_MAGIC 0x4e474953u /* "SIGN", behind the image */

enum { /* features: what a runtime must know to run an image */
    MOTE_FEATURE_STATES = 1u << 0,
    MOTE_FEATURE_PUSHED = 1u << 1,  /* the input is handed over row by row */
    MOTE_FEATURE_CONTROL = 1u << 2, /* jumps */
    MOTE_FEATURE_FUSED = 1u << 3,   /* products of float32 are added without being rounded first */
    MOTE_FEATURE_ALIGNED = 1u << 4, /* kernels load words from multiples of four only */
    MOTE_FEATURE_WIDE = 1u << 5,    /* places in `rows` take four bytes each instead of two */
    MOTE_FEATURE_TRAINS = 1u << 6,  /* states are mote_trained_t */
    MOTE_FEATURES = (1u << 7) - 1u
};

enum { /* memories, beside those of the arena, which are 0 to 3 */
    MOTE_MEMORY_STATES = 0x10,
    MOTE_MEMORY_IMAGE = 0x11,
    MOTE_MEMORY_NONE = 0xff
};

enum { /* forms of an op, after MOTE_RUN_WHOLE to MOTE_RUN_RING in mote_room.h, which call a kernel */
    MOTE_RUN_ARRIVAL = 6, /* the row that the caller hands over becomes row y of the output */
    MOTE_RUN_COPY = 7,    /* `hi` bytes from operand 0 to the output; they may overlap */
    MOTE_RUN_JUMP = 8,    /* to step `lo` of the schedule */
    MOTE_RUN_BRANCH = 9,  /* there, if the byte at operand 0 is zero */
    MOTE_RUN_REPEAT = 10  /* there, unless this is turn number `times`, counted from 1 */
};

enum { /* what states are for in training */
    MOTE_ROLE_NONE,
    MOTE_ROLE_LABEL,
    MOTE_ROLE_TARGET,
    MOTE_ROLE_LEARNED,
    MOTE_ROLE_OPTIMIZER,
    MOTE_ROLE_RATE,
    MOTE_ROLE_COUNT,
    MOTE_ROLE_LOSS,
    MOTE_ROLES
};

enum { MOTE_PLACE_STRIP, MOTE_PLACE_TABLE, MOTE_PLACE_RING };

enum { /* sections, in this order */
    MOTE_SECTION_KERNELS,  /* mote_needed_t */
    MOTE_SECTION_PORTS,    /* mote_port_t */
    MOTE_SECTION_OPS,      /* mote_op_t */
    MOTE_SECTION_OPERANDS, /* mote_operand_t */
    MOTE_SECTION_PLACES,   /* mote_location_t */
    MOTE_SECTION_SCHEDULE, /* uint16_t: which op is next; one step each */
    MOTE_SECTION_ROWS,     /* uint16_t or uint32_t: where rows lie, in units of four bytes */
    MOTE_SECTION_LISTS,    /* int32_t: rows that no formula describes */
    MOTE_SECTION_STATES,   /* mote_initial_t or mote_trained_t */
    MOTE_SECTION_TEXT,     /* names, each with a zero behind it */
    MOTE_SECTION_DATA,     /* parameters and the arrays that they point to */
    MOTE_SECTION_ABOUT,    /* JSON for tools */
    MOTE_SECTIONS
};

#define MOTE_STEP_ROWS 64u   /* rows that a step computes at most, */
#define MOTE_STEP_SHARE 256u /* or, of a tensor with many, this part of them */
#define MOTE_NO_LIST 0xffffffffu
#define MOTE_NO_COUNTER 0xffffu
#define MOTE_NO_PLACE 0xffffu

typedef struct {
    uint32_t offset, count;
} mote_section_t;

typedef struct {
    uint32_t magic;
    uint16_t format, header_bytes;
    uint32_t bytes; /* of the image, without a signature behind it */
    uint32_t crc;   /* CRC-32 of bytes 16 to the end */
    uint32_t version, features;
    uint8_t source[32]; /* SHA-256 of the model file */
    uint32_t arena[4];  /* bytes of each memory */
    uint32_t states;    /* bytes that are kept from one inference to the next, a multiple of 8 */
    uint16_t rings, counters, warm_up;
    uint16_t taps; /* the most row pointers of a step, those of output rows included */
    uint16_t inputs, outputs;
    uint32_t words; /* of the largest struct of parameters */
    mote_section_t sections[MOTE_SECTIONS];
    uint32_t product; /* which product it is for, as updates know it; 0: any */
} mote_header_t;

typedef struct {
    uint32_t id, name;
} mote_needed_t;

/* An input or output; inputs come first. */
typedef struct {
    uint32_t name;
    uint8_t dtype, rank, memory, reserved; /* dtype as in LiteRT's TensorType; an input that is pushed has no memory */
    uint32_t offset, bytes;
    float scale; /* 0: not quantized */
    int32_t zero_point;
    uint32_t shape;     /* offset of `rank` words */
    uint32_t labels;    /* text with a line for each, or 0 */
    uint32_t row_bytes; /* of an input that is pushed: of each row */
} mote_port_t;

/* What an operator does when it is its turn. It runs `times` times in an inference; n counts from 0 on.
 * y = lists[list + n], or first + n * step. It computes rows y to min(y + group, last) - 1. */
typedef struct {
    uint32_t name;
    uint16_t kernel; /* which of `kernels`; 0xffff: none */
    uint8_t form, operands;
    uint32_t params;       /* offset of the words of its parameters */
    uint16_t operand, out; /* the first operand; the place of the output */
    uint32_t scratch, sums;
    uint8_t scratch_memory, sums_memory; /* 0xff: none */
    uint16_t counter;                    /* 0xffff: none, n is always 0 */
    int32_t lo, hi; /* WHOLE, EACH: rows or units; ROWS: `hi` rows at once; jumps: the target `lo`; COPY: `hi` bytes */
    int32_t first, step;
    uint32_t list;
    uint16_t times, group;
    int32_t last;
    uint32_t scratch_bytes, sums_bytes;
} mote_op_t;

/* Tap k of output row y is row start + y * step + k * spread of a place, or lists[list + n * taps + k], with y for n
 * where the op has a group of more than one row. A row that the place does not have is outside of the image. */
typedef struct {
    uint16_t place, taps;
    int32_t start, step, spread;
    uint32_t list;
} mote_operand_t;

/* Where the rows of a tensor lie: from byte `at` of a memory on, `row_bytes` apart; or row r at byte 4 * rows[at + r]; or
 * in a ring buffer from byte `at` on, whose oldest row is row 0. */
typedef struct {
    uint32_t row_bytes, rows, at;
    uint8_t memory, kind;
    uint16_t ring;
} mote_location_t;

/* What a part of the states holds after a reset. */
typedef struct {
    uint32_t at, bytes, data, fill; /* a copy of `data`, or bytes `fill` where that is 0 */
} mote_initial_t;

/* The same of an image that learns, in ascending order of `at`. It begins as a mote_weights_part_t does, with what its
 * values are compared with before a record of what was learned is believed. */
typedef struct {
    uint32_t at, bytes;
    int32_t low, high;
    uint8_t kind, role; /* MOTE_WEIGHTS_..., MOTE_ROLE_... */
    uint16_t reserved;
    uint32_t data, fill;
} mote_trained_t;

#endif
