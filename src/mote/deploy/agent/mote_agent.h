/* mote_agent.h: the device's side of `mote run --board` and its like, over any line that carries bytes both ways.
 *
 * The host asks, the agent answers. Frames are those of updates (mote_frame.h): 0x7e, type, sequence number, data,
 * CRC-32, 0x7e. Types below MOTE_AGENT_IDENTIFY belong to updates (mote_ota.h). Bytes outside of frames are text for
 * `mote board log`. Words are little-endian.
 *
 * Every request but MOTE_AGENT_IDENTIFY begins with the session that MOTE_AGENT_IDENTIFY opened, every answer with a
 * status. A reset ends the session: whatever the host asks after it is refused, and the host begins the inference anew.
 * A request that comes again, because its answer was lost, is answered again and not executed again.
 *
 * The firmware links a port (the functions mote_port_...) and a glue to a model or to the runtime (mote_model_...),
 * calls mote_agent_reset once and mote_agent_poll for ever. The model's C is compiled with the hook between its steps
 * set to mote_agent_step (mote_agent_trace.h). No heap; one context calls everything.
 */
#ifndef MOTE_AGENT_H
#define MOTE_AGENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTE_AGENT_PROTOCOL 1u
#define MOTE_AGENT_ID_BYTES 16u /* of the hash of a model or a runtime */

/* Settings of a build, each 0 or 1: production firmware leaves out what changes the device. */
#ifndef MOTE_AGENT_RUNS
#define MOTE_AGENT_RUNS 1 /* write inputs, run, stop at steps */
#endif
#ifndef MOTE_AGENT_LOADS
#define MOTE_AGENT_LOADS 1 /* load images, write the scratch memory and call code in it, restart the device */
#endif
#ifndef MOTE_AGENT_FRAME
#define MOTE_AGENT_FRAME 512u /* bytes of a message, at least 160 */
#endif
#ifndef MOTE_AGENT_STEPS
#define MOTE_AGENT_STEPS 256u /* steps whose cycles are counted one by one */
#endif

enum {                           /* Requests: arguments -> results behind the status. */
    MOTE_AGENT_IDENTIFY = 0x20,  /* u32 session, not 0 -> the words of mote_agent_identity, the ids, a name */
    MOTE_AGENT_REGION = 0x21,    /* session, u8 region, u8 index, u16 0 -> u32 address, u32 bytes */
    MOTE_AGENT_READ = 0x22,      /* session, u8 region, u8 index, u16 0, u32 offset, u32 bytes -> bytes */
    MOTE_AGENT_WRITE = 0x23,     /* session, u8 region, u8 index, u16 0, u32 offset, bytes -> nothing */
    MOTE_AGENT_RUN = 0x24,       /* session, u32 flags, u32 stop -> mote_agent_result */
    MOTE_AGENT_CONTINUE = 0x25,  /* session, u32 stop -> mote_agent_result */
    MOTE_AGENT_LOAD = 0x26,      /* session, u32 bytes of MOTE_AGENT_IMAGE, u32 CRC-32 -> nothing */
    MOTE_AGENT_CALL = 0x27,      /* session, u32 offset in the scratch memory, u32 argument -> u32 value, u64 cycles */
    MOTE_AGENT_RESTART = 0x28,   /* session -> nothing; the device restarts after the answer */
    MOTE_AGENT_ANSWER = 0x80
};

enum {                     /* Regions of memory; index: */
    MOTE_AGENT_INPUT = 0,  /* an input */
    MOTE_AGENT_OUTPUT = 1, /* an output */
    MOTE_AGENT_TENSOR = 2, /* 0: the tensor, or the part of it, that the step computed where the model has stopped */
    MOTE_AGENT_CYCLES = 3, /* 0: a u64 for each step: the cycles of the last inference */
    MOTE_AGENT_SCRATCH = 4,/* 0: memory for code and data under tuning */
    MOTE_AGENT_IMAGE = 5,  /* 0: memory for an image that MOTE_AGENT_LOAD checks and opens */
    MOTE_AGENT_MEMORY = 6  /* a memory of the part, in the order of the target's file: not to be read */
};

enum {                             /* Flags of MOTE_AGENT_RUN. */
    MOTE_AGENT_RESET_STATES = 1,   /* states get their initial values first */
    MOTE_AGENT_MEASURE_STACK = 2,  /* the stack is painted before, and its deepest word looked for behind */
    MOTE_AGENT_MARKS = 4,          /* mote_port_mark is called at every step */
    MOTE_AGENT_KEEP_CACHES = 8     /* caches are not invalidated before the inference */
};
#define MOTE_AGENT_NO_STOP 0xffffffffu /* as `stop`: run to the end; else: stop behind the next part of a step >= it */

typedef enum { /* Statuses; those below 32 are of the model or the runtime where MOTE_AGENT_MODEL_FAILED says so. */
    MOTE_AGENT_OK = 0,
    MOTE_AGENT_STOPPED = 1,      /* behind a step: what it computed can be read */
    MOTE_AGENT_NO_SESSION = 2,   /* the device has restarted, or another host talks to it */
    MOTE_AGENT_MALFORMED = 3,    /* a message of the wrong length */
    MOTE_AGENT_UNKNOWN = 4,      /* a request that this build does not know */
    MOTE_AGENT_OUTSIDE = 5,      /* outside of the region, or there is no such region */
    MOTE_AGENT_STATE = 6,        /* not now: the model has stopped, or has not */
    MOTE_AGENT_NO_MODEL = 7,     /* no image was loaded */
    MOTE_AGENT_REFUSED = 8,      /* the image is damaged, not signed by a known key, or not for this runtime */
    MOTE_AGENT_MODEL_FAILED = 9, /* the model's function failed: `value` of the result has its status */
    MOTE_AGENT_STACK_FULL = 10   /* the stack was used up to its end: the results mean nothing */
} mote_agent_status;

typedef struct { /* The words of the answer to MOTE_AGENT_IDENTIFY, in this order; behind them the model's id, the
                    runtime's id, and the name of the target without a final 0. */
    uint32_t protocol, abilities;         /* abilities: bit n is set where request MOTE_AGENT_IDENTIFY + n is known */
    uint32_t message_bytes;               /* most bytes of a message, head and check included */
    uint32_t core;                        /* CPUID of a Cortex-M, marchid of a RISC-V, 0 where unknown */
    uint32_t clock_hz, counter_hz;        /* 0 where unknown */
    uint32_t counter;                     /* MOTE_COUNTER_... */
    uint32_t flash_waits;                 /* 0xffffffff where unknown */
    uint32_t inputs, outputs, steps, memories;
    uint32_t boots;                       /* a number that differs after a reset, as far as the port can tell */
} mote_agent_identity;

enum { MOTE_COUNTER_NONE, MOTE_COUNTER_DWT, MOTE_COUNTER_MCYCLE, MOTE_COUNTER_SYSTICK, MOTE_COUNTER_HOOK };

typedef struct { /* The answer to MOTE_AGENT_RUN and MOTE_AGENT_CONTINUE behind the status. */
    uint32_t step;       /* the step behind which the model has stopped */
    uint32_t bytes;      /* of MOTE_AGENT_TENSOR */
    uint32_t value;      /* the model's own status */
    uint32_t stack;      /* bytes, where it was measured */
    uint64_t cycles;     /* of the inference without the agent's part in it; of a stopped one up to here */
} mote_agent_result;

/* --- The agent --------------------------------------------------------------------------------------------------- */

void mote_agent_reset(void); /* after the device's reset */
void mote_agent_poll(void);  /* takes the bytes that are there, answers what is complete; returns */

/* The hook of the model's steps (mote_agent_trace.h), called with the tensor that a step, or a part of it, computed. */
void mote_agent_step(unsigned step, const void *data, size_t bytes);

/* --- The port: implemented for a board or an operating system ----------------------------------------------------- */

int mote_port_read(void);                                  /* the next byte, or -1 */
void mote_port_write(const uint8_t *data, uint32_t bytes); /* all of them */
uint32_t mote_port_cycles(void);                           /* a counter that counts up and wraps at 2^32 */
void mote_port_mark(unsigned step);                        /* for an energy meter: toggles a GPIO; may do nothing */
void mote_port_restart(void);                              /* restarts the device; may return where it cannot */
void mote_port_fresh_caches(void);                         /* invalidates caches of flash; may do nothing */
void mote_port_new_code(void);                             /* code was written to RAM: barriers, caches */
void mote_port_identify(mote_agent_identity *identity);    /* fills core, clocks, counter, flash_waits, boots */
const char *mote_port_target(void);                        /* the target's name */
/* The scratch memory and the memory for an image; bytes = 0: none. */
void *mote_port_scratch(uint32_t *bytes);
void *mote_port_image(uint32_t *bytes);
/* The memories of the part; 0 where there is no such index. */
uint32_t mote_port_memory(uint32_t index, uint32_t *bytes);
/* The lowest address of the stack that the model runs on, for its measurement; NULL: it is not measured. */
uint8_t *mote_port_stack(void);

/* --- The model: generated for a compiled one, mote_agent_runtime.c for images ------------------------------------- */

extern const uint8_t mote_model_id[MOTE_AGENT_ID_BYTES];   /* of the compiled model; zeros: none is compiled in */
extern const uint8_t mote_runtime_id[MOTE_AGENT_ID_BYTES]; /* of the runtime; zeros: none */
uint32_t mote_model_inputs(void);
uint32_t mote_model_outputs(void);
uint32_t mote_model_steps(void);
void *mote_model_input(uint32_t index, uint32_t *bytes);
const void *mote_model_output(uint32_t index, uint32_t *bytes);
int mote_model_init(void);  /* opens it, or sets its states to their initial values; 0: OK */
int mote_model_run(void);   /* one inference; 0: OK */
int mote_model_load(const void *image, uint32_t bytes); /* checks the signature where keys are known, and opens it */

#ifdef __cplusplus
}
#endif

#endif
