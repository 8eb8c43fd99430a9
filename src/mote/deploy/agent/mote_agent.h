/* mote_agent.h: the device's side of `mote run --board` and its like, over any line that carries bytes both ways.
 *
 * The host asks, the agent answers. Frames are those of updates (mote_frame.h): 0x7e, type, sequence number, data,
 * CRC-32, 0x7e. Types below MOTE_AGENT_IDENTIFY belong to updates (mote_ota.h). Bytes outside of frames are text for
 * `mote board log`. Words are little-endian, and so must be the core. docs/deploy/agent.md describes every message.
 *
 * Every request but MOTE_AGENT_IDENTIFY begins with the session that MOTE_AGENT_IDENTIFY opened, every answer with a
 * status. A reset ends the session: whatever the host asks after it is refused, and the host begins the inference anew.
 * Sequence numbers count up by one, modulo 256. The number of the last request again is that request again, because its
 * answer was lost: it is answered again and not executed again. One of the 128 numbers before it is ignored.
 *
 * The firmware links a port (the functions mote_port_...) and a model (mote_model), calls mote_agent_reset once and
 * mote_agent_poll for ever. The model's C is compiled with the hook between its steps set to mote_agent_step
 * (mote_agent_trace.h). No heap; one context calls everything.
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
#define MOTE_AGENT_STEPS 256u /* steps whose cycles are counted one by one: 8 bytes each */
#endif
#ifndef MOTE_AGENT_UPDATES
#define MOTE_AGENT_UPDATES 0 /* messages of updates on the same line are handed to mote_agent_update */
#endif

enum {                           /* Requests: arguments -> results behind the status. */
    MOTE_AGENT_IDENTIFY = 0x20,  /* u32 session, not 0 and new -> the words of mote_agent_identity, the ids, a name;
                                    of the session that is open: the same, and nothing changes */
    MOTE_AGENT_REGION = 0x21,    /* session, u8 region, u8 index, u16 0 -> u32 address, u32 bytes */
    MOTE_AGENT_READ = 0x22,      /* session, u8 region, u8 index, u16 0, u32 offset, u32 bytes -> bytes */
    MOTE_AGENT_WRITE = 0x23,     /* session, u8 region, u8 index, u16 0, u32 offset, bytes -> nothing */
    MOTE_AGENT_RUN = 0x24,       /* session, u32 flags, u32 stop -> mote_agent_result, and where it has
                                    stopped the first bytes of MOTE_AGENT_TENSOR, as many as the message holds */
    MOTE_AGENT_CONTINUE = 0x25,  /* session, u32 stop -> mote_agent_result */
    MOTE_AGENT_LOAD = 0x26,      /* session, u32 bytes of MOTE_AGENT_IMAGE, u32 CRC-32 -> nothing */
    MOTE_AGENT_CALL = 0x27,      /* session, u32 offset in the scratch memory (with Thumb's bit), u32 argument -> u32
                                    value, u64 cycles: calls a mote_agent_entry there */
    MOTE_AGENT_RESTART = 0x28,   /* session -> nothing; the device restarts after the answer */
    MOTE_AGENT_ANSWER = 0x80     /* in the type of an answer; the device ignores messages that have it */
};

enum {                     /* Regions of memory; index: */
    MOTE_AGENT_INPUT = 0,  /* an input; not where the model has stopped. A run may overwrite it */
    MOTE_AGENT_OUTPUT = 1, /* an output; from the end of a run that went well until something is written */
    MOTE_AGENT_TENSOR = 2, /* 0: the tensor, or the part of it, that the step computed where the model has stopped */
    MOTE_AGENT_CYCLES = 3, /* 0: a u64 for each step: the cycles of the last inference */
    MOTE_AGENT_SCRATCH = 4,/* 0: memory for code and data under tuning */
    MOTE_AGENT_IMAGE = 5,  /* 0: memory for an image that MOTE_AGENT_LOAD checks and opens */
    MOTE_AGENT_MEMORY = 6  /* a memory of the part, in the order of the target's file: not to be read */
};

enum {                             /* Flags of MOTE_AGENT_RUN. */
    MOTE_AGENT_RESET_STATES = 1,   /* states get their initial values first */
    MOTE_AGENT_MEASURE_STACK = 2,  /* the stack is painted before, and its deepest word looked for behind */
    MOTE_AGENT_MARKS = 4,          /* mote_port_mark is called at the beginning and behind every part of a step */
    MOTE_AGENT_KEEP_CACHES = 8     /* caches are not invalidated before the inference */
};
#define MOTE_AGENT_NO_STOP 0xffffffffu /* as `stop`: run to the end; else: stop behind the next part of a step >= it */
#define MOTE_AGENT_BEGIN 0xffffu       /* the step of the mark at the beginning of an inference */

typedef enum { /* Statuses. Results follow those of MOTE_AGENT_OK, _STOPPED, _MODEL_FAILED and _STACK_FULL only. */
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

#define MOTE_COUNTER_NONE 0
#define MOTE_COUNTER_DWT 1     /* CYCCNT of a Cortex-M */
#define MOTE_COUNTER_MCYCLE 2  /* of a RISC-V */
#define MOTE_COUNTER_SYSTICK 3
#define MOTE_COUNTER_HOOK 4    /* something else that counts counter_hz times a second */

typedef struct { /* The answer to MOTE_AGENT_RUN and MOTE_AGENT_CONTINUE behind the status. */
    uint32_t step;       /* the step behind which the model has stopped */
    uint32_t bytes;      /* of MOTE_AGENT_TENSOR */
    uint32_t value;      /* the model's own status */
    uint32_t stack;      /* bytes, where it was measured */
    uint64_t cycles;     /* of the inference without the agent's part in it; of a stopped one up to here */
} mote_agent_result;

/* --- The agent --------------------------------------------------------------------------------------------------- */

void mote_agent_reset(void); /* after the device's reset */
void mote_agent_poll(void);  /* takes the bytes that are there, up to the end of a message, and answers it */

/* The hook of the model's steps (mote_agent_trace.h), called with the tensor that a step, or a part of it, computed. */
void mote_agent_step(uint32_t step, const void *data, size_t bytes);

/* The room for a message, for an updater on the same line: `frame` and `frame_bytes` of its mote_ota_t. */
uint8_t *mote_agent_room(uint32_t *bytes);
#if MOTE_AGENT_UPDATES
/* Implemented by firmware with an updater: hands a message of so many bytes in mote_agent_room to mote_ota_answer. */
void mote_agent_update(uint32_t bytes);
#endif

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
/* The memories of the part; returns 0 where there is no such index. */
int mote_port_memory(uint32_t index, uint32_t *address, uint32_t *bytes);
/* The lowest address of the stack that the model runs on, for its measurement; NULL: it is not measured. */
uint8_t *mote_port_stack(void);

/* --- The model: generated for a compiled one, mote_agent_runtime.c for images ------------------------------------- */

typedef struct {
    const uint8_t *id;         /* MOTE_AGENT_ID_BYTES of the model's hash; zeros: there is none */
    const uint8_t *runtime_id; /* as many of the runtime's; zeros: there is none */
    uint32_t (*inputs)(void);
    uint32_t (*outputs)(void);
    uint32_t (*steps)(void);
    void *(*input)(uint32_t index, uint32_t *bytes);        /* NULL: there is none */
    const void *(*output)(uint32_t index, uint32_t *bytes); /* NULL: there is none */
    int (*init)(void); /* opens it, or sets its states to their initial values; 0: OK */
    int (*run)(void);  /* one inference; 0: OK */
    int (*load)(const void *image, uint32_t bytes); /* checks an image, its signature where keys are known, and opens
                                                       it; 0: OK. Of 0 bytes: closes the one that is open. NULL where
                                                       the model is compiled in */
} mote_model_t;

extern const mote_model_t mote_model; /* the firmware's own */

/* Code in the scratch memory that MOTE_AGENT_CALL calls, and what the agent does for it. It may be a model itself:
 * after `use`, inputs, outputs and runs are those of that one, until the scratch memory is written or a session begins. */
typedef struct {
    void (*step)(uint32_t step, const void *data, size_t bytes); /* mote_agent_step */
    uint32_t (*cycles)(void);                                    /* mote_port_cycles */
    int (*use)(const mote_model_t *model);                       /* initializes it, too; 0: OK */
} mote_agent_services;
typedef uint32_t (*mote_agent_entry)(uint32_t argument, const mote_agent_services *services);

#ifdef __cplusplus
}
#endif

#endif
