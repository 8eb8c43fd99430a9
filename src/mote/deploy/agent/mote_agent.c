/* mote_agent.c: what the host asks for is done at most once, and answered as often as it is asked for. */
#include "mote_agent.h"

#include "mote_frame.h"

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif

#define SESSION 4u                                          /* bytes of the session in front of a request's arguments */
#define STATUS 4u                                           /* bytes of the status in front of an answer's results */
#define BEFORE (MOTE_FRAME_HEAD + STATUS)                   /* bytes of an answer in front of its results */
#define ROOM (MOTE_AGENT_FRAME - BEFORE - MOTE_FRAME_CHECK) /* most bytes of results */
#define RESULTS 6u                                          /* words of mote_agent_result */
#define NOBODY 0u                                           /* as a session */

typedef char mote_agent_frame_is_large_enough[MOTE_AGENT_FRAME >= 160u ? 1 : -1];

static uint8_t message[MOTE_AGENT_FRAME];
static mote_frame_t line = {message, sizeof message, 0, 0, 1};

/* All that the agent knows, in one place, which is smaller code than many. */
static struct {
    uint32_t session;       /* that is open */
    uint8_t type, sequence; /* of the request that was executed last, so that it is not executed twice, */
    uint32_t status;        /* and what was answered */
    uint32_t results[RESULTS];
    uint32_t result_words;
#if MOTE_AGENT_RUNS || MOTE_AGENT_LOADS
    const mote_model_t *model;
    int opened; /* what mote_model_t.init has returned */
#endif
#if MOTE_AGENT_RUNS
    uint8_t state, overflowed;
    uint8_t next_sequence; /* of the IDENTIFY that came while the model had stopped, */
    uint32_t next_session; /* and its session: opened when the model has run out */
    uint32_t flags, stop;
    uint32_t since;          /* when the agent gave the core to the model */
    uint32_t cost, interval; /* cycles between two calls of the hook that follow one another; of the last part */
    uint32_t stack;
    uint64_t total;
    const void *tensor;
    uint32_t tensor_bytes;
#endif
} own;

#if MOTE_AGENT_RUNS || MOTE_AGENT_LOADS
#define MODEL own.model
#else
#define MODEL (&mote_model)
#endif
#if MOTE_AGENT_RUNS
enum { IDLE, DONE, RUNNING, STOPPED }; /* DONE: the outputs are there */
#define HAS_STOPPED (own.state == STOPPED)
static uint64_t cycles[MOTE_AGENT_STEPS];
#else
#define HAS_STOPPED 0
#endif

static void send(void *context, const uint8_t *data, uint32_t bytes) {
    (void)context;
    mote_port_write(data, bytes);
}

/* Sends an answer whose results are `bytes` bytes in the message already. */
static void answer(uint8_t to, uint8_t number, uint32_t said, uint32_t bytes) {
    message[0] = (uint8_t)(to | MOTE_AGENT_ANSWER);
    message[1] = number;
    (void)mote_put_word(message + MOTE_FRAME_HEAD, said);
    mote_frame_send(message, BEFORE + bytes, send, NULL);
}

/* Answers the last request, with the results that were kept. */
static void answer_last(void) {
    uint32_t bytes = own.result_words * 4u;
    memcpy(message + BEFORE, own.results, (size_t)bytes);
#if MOTE_AGENT_RUNS
    if (own.status == MOTE_AGENT_STOPPED) {
        const uint32_t some = own.tensor_bytes < ROOM - bytes ? own.tensor_bytes : ROOM - bytes;
        if (some != 0) memcpy(message + BEFORE + bytes, own.tensor, (size_t)some);
        bytes += some;
    }
#endif
    answer(own.type, own.sequence, own.status, bytes);
}

static uint32_t abilities(void) {
    uint32_t known = 1u | 1u << (MOTE_AGENT_REGION - MOTE_AGENT_IDENTIFY) | 1u << (MOTE_AGENT_READ - MOTE_AGENT_IDENTIFY);
#if MOTE_AGENT_RUNS
    known |= 1u << (MOTE_AGENT_WRITE - MOTE_AGENT_IDENTIFY) | 1u << (MOTE_AGENT_RUN - MOTE_AGENT_IDENTIFY) |
             1u << (MOTE_AGENT_CONTINUE - MOTE_AGENT_IDENTIFY);
#endif
#if MOTE_AGENT_LOADS
    uint32_t bytes;
    known |= 1u << (MOTE_AGENT_WRITE - MOTE_AGENT_IDENTIFY) | 1u << (MOTE_AGENT_RESTART - MOTE_AGENT_IDENTIFY);
    if (mote_model.load != NULL) known |= 1u << (MOTE_AGENT_LOAD - MOTE_AGENT_IDENTIFY);
    (void)mote_port_scratch(&bytes);
    if (bytes != 0) known |= 1u << (MOTE_AGENT_CALL - MOTE_AGENT_IDENTIFY);
#endif
    return known;
}

/* Answers who this is. */
static void introduce(uint8_t number) {
    mote_agent_identity who;
    uint8_t *to = message + BEFORE;
    uint32_t memories = 0, address, bytes;
    memset(&who, 0, sizeof who);
    mote_port_identify(&who);
    while (mote_port_memory(memories, &address, &bytes) != 0) memories++;
    const uint32_t words[] = {
        MOTE_AGENT_PROTOCOL, abilities(), MOTE_AGENT_FRAME, who.core, who.clock_hz, who.counter_hz, who.counter,
        who.flash_waits, MODEL->inputs(), MODEL->outputs(), MODEL->steps(), memories, who.boots,
    };
    memcpy(to, words, sizeof words);
    to += sizeof words;
    memcpy(to, MODEL->id, MOTE_AGENT_ID_BYTES);
    memcpy(to + MOTE_AGENT_ID_BYTES, MODEL->runtime_id, MOTE_AGENT_ID_BYTES);
    to += 2u * MOTE_AGENT_ID_BYTES;
    const uint8_t *const end = message + BEFORE + ROOM;
    for (const char *name = mote_port_target(); *name != '\0' && to < end;) *to++ = (uint8_t)*name++;
    answer(MOTE_AGENT_IDENTIFY, number, MOTE_AGENT_OK, (uint32_t)(to - message) - BEFORE);
}

#if MOTE_AGENT_RUNS || MOTE_AGENT_LOADS
static int use(const mote_model_t *other) {
    MODEL = other;
    own.opened = other->init();
    return own.opened;
}
#endif

/* A session begins: nothing is left of the one before. */
static void begin(uint32_t number, uint8_t first) {
    own.session = number;
    own.type = MOTE_AGENT_IDENTIFY;
    own.sequence = first;
#if MOTE_AGENT_RUNS
    own.state = IDLE;
#endif
#if MOTE_AGENT_LOADS
    if (MODEL != &mote_model) (void)use(&mote_model);
#endif
}

/* A region and its bytes; NULL where there is none, or not now. */
static const void *region(const uint8_t *data, uint32_t *bytes) {
    const uint32_t index = data[1];
    *bytes = 0;
    (void)index;
    switch (data[0]) {
#if MOTE_AGENT_RUNS
    case MOTE_AGENT_INPUT: return MODEL->input(index, bytes);
    case MOTE_AGENT_OUTPUT: return MODEL->output(index, bytes);
    case MOTE_AGENT_TENSOR: *bytes = own.tensor_bytes; return index == 0 && HAS_STOPPED ? own.tensor : NULL;
    case MOTE_AGENT_CYCLES: {
        const uint32_t steps = MODEL->steps();
        *bytes = 8u * (steps < MOTE_AGENT_STEPS ? steps : MOTE_AGENT_STEPS);
        return index == 0 ? cycles : NULL;
    }
#endif
#if MOTE_AGENT_LOADS
    case MOTE_AGENT_SCRATCH: return index != 0 ? NULL : mote_port_scratch(bytes);
    case MOTE_AGENT_IMAGE: return index != 0 ? NULL : mote_port_image(bytes);
#endif
    default: return NULL;
    }
}

/* Where a part of a region lies; NULL where it is not wholly inside. */
static uint8_t *part(const uint8_t *data, uint32_t bytes) {
    uint32_t all;
    const uint32_t offset = mote_word(data, 4);
    const uint8_t *const from = (const uint8_t *)region(data, &all);
    return from == NULL || offset > all || bytes > all - offset ? NULL : (uint8_t *)(uintptr_t)(from + offset);
}

/* Whether the host may not read a region now: outputs are there behind a run only, and inputs not in it. */
static int is_early(uint8_t kind) {
#if MOTE_AGENT_RUNS
    if (kind == MOTE_AGENT_OUTPUT) return own.state != DONE;
    if (kind == MOTE_AGENT_INPUT) return HAS_STOPPED;
    if (kind == MOTE_AGENT_TENSOR) return !HAS_STOPPED;
#endif
    (void)kind;
    return 0;
}

/* Answers what changes nothing, and need not be kept. */
static void look(uint8_t kind, uint8_t number, const uint8_t *data, uint32_t bytes) {
    uint32_t said = MOTE_AGENT_OK, count = 0;
    if (kind == MOTE_AGENT_REGION) {
        uint32_t address = 0, all = 0;
        if (bytes != 4) {
            said = MOTE_AGENT_MALFORMED;
        } else if (data[0] == MOTE_AGENT_MEMORY) {
            said = mote_port_memory(data[1], &address, &all) != 0 ? MOTE_AGENT_OK : MOTE_AGENT_OUTSIDE;
        } else {
            const void *const from = region(data, &all);
            address = (uint32_t)(uintptr_t)from;
            said = from != NULL ? MOTE_AGENT_OK : MOTE_AGENT_OUTSIDE;
        }
        (void)mote_put_word(mote_put_word(message + BEFORE, address), all);
        count = said == MOTE_AGENT_OK ? 8 : 0;
    } else if (bytes != 12 || mote_word(data, 8) > ROOM) {
        said = MOTE_AGENT_MALFORMED;
    } else if (is_early(data[0])) {
        said = MOTE_AGENT_STATE;
    } else {
        const uint32_t some = mote_word(data, 8);
        const uint8_t *const from = part(data, some);
        if (from != NULL) {
            memcpy(message + BEFORE, from, (size_t)some);
            count = some;
        } else {
            said = MOTE_AGENT_OUTSIDE;
        }
    }
    answer(kind, number, said, count);
}

#if MOTE_AGENT_RUNS || MOTE_AGENT_LOADS
static uint32_t follow_write(const uint8_t *data, uint32_t bytes) {
    if (bytes < 8) return MOTE_AGENT_MALFORMED;
    if (HAS_STOPPED) return MOTE_AGENT_STATE;
    if (data[0] != MOTE_AGENT_INPUT && data[0] != MOTE_AGENT_SCRATCH && data[0] != MOTE_AGENT_IMAGE) {
        return MOTE_AGENT_OUTSIDE;
    }
    uint8_t *const to = part(data, bytes - 8u);
    if (to == NULL) return MOTE_AGENT_OUTSIDE;
#if MOTE_AGENT_RUNS
    own.state = IDLE;
#endif
#if MOTE_AGENT_LOADS
    if (data[0] == MOTE_AGENT_SCRATCH && MODEL != &mote_model) (void)use(&mote_model);
    if (data[0] == MOTE_AGENT_IMAGE && mote_model.load != NULL) own.opened = mote_model.load(to, 0); /* it is no more */
#endif
    memcpy(to, data + 8, (size_t)(bytes - 8u));
    return MOTE_AGENT_OK;
}
#endif

#if MOTE_AGENT_LOADS
static uint32_t follow_load(const uint8_t *data, uint32_t bytes) {
    uint32_t room;
    if (mote_model.load == NULL) return MOTE_AGENT_UNKNOWN;
    if (bytes != 8) return MOTE_AGENT_MALFORMED;
    if (HAS_STOPPED) return MOTE_AGENT_STATE;
    const uint32_t length = mote_word(data, 0);
    const void *const image = mote_port_image(&room);
    if (image == NULL || length > room) return MOTE_AGENT_OUTSIDE;
    if (mote_frame_crc(0, image, (size_t)length) != mote_word(data, 4)) return MOTE_AGENT_REFUSED;
#if MOTE_AGENT_RUNS
    own.state = IDLE;
#endif
    MODEL = &mote_model;
    own.opened = mote_model.load(image, length);
    return own.opened == 0 ? MOTE_AGENT_OK : MOTE_AGENT_REFUSED;
}

static uint32_t follow_call(const uint8_t *data, uint32_t bytes) {
    static const mote_agent_services services = {mote_agent_step, mote_port_cycles, use};
    uint32_t room;
    uint8_t *const scratch = (uint8_t *)mote_port_scratch(&room);
    if (room == 0) return MOTE_AGENT_UNKNOWN;
    if (bytes != 8) return MOTE_AGENT_MALFORMED;
    if (HAS_STOPPED) return MOTE_AGENT_STATE;
    const uint32_t offset = mote_word(data, 0), argument = mote_word(data, 4);
    if (offset >= room) return MOTE_AGENT_OUTSIDE;
#if MOTE_AGENT_RUNS
    own.state = IDLE;
#endif
    const uintptr_t address = (uintptr_t)scratch + (uintptr_t)offset;
    mote_agent_entry entry;
    memcpy(&entry, &address, sizeof entry);
    mote_port_new_code();
    const uint32_t before = mote_port_cycles();
    own.results[0] = entry(argument, &services);
    own.results[1] = mote_port_cycles() - before;
    own.results[2] = 0;
    own.result_words = 3;
    return MOTE_AGENT_OK;
}
#endif

#if MOTE_AGENT_RUNS
#define PAINT 0xa5c3a5c3u
#define BELOW 64u /* bytes below a local variable that may belong to the frame of its function */

/* The lowest word of the stack; NULL where its use is not measured. */
static volatile uint32_t *bottom(void) {
    const uintptr_t lowest = ((uintptr_t)mote_port_stack() + 3u) & ~(uintptr_t)3u;
    return (own.flags & MOTE_AGENT_MEASURE_STACK) != 0 ? (volatile uint32_t *)lowest : NULL;
}

static NOINLINE void paint(void) {
    volatile uint32_t here = PAINT;
    volatile uint32_t *at = bottom();
    if (at == NULL) return;
    for (const uintptr_t end = (uintptr_t)&here - BELOW; (uintptr_t)at < end; at++) *at = here;
}

/* How far the stack went below `top`. */
static NOINLINE void measure(uintptr_t top) {
    const volatile uint32_t *at = bottom();
    own.stack = 0;
    own.overflowed = 0;
    if (at == NULL) return;
    own.overflowed = *at != PAINT;
    while ((uintptr_t)at < top && *at == PAINT) at++;
    own.stack = (uint32_t)(top - (uintptr_t)at);
}

/* Keeps what is known of the inference up to here. */
static void report(uint32_t said, uint32_t step, uint32_t value) {
    own.status = said;
    own.results[0] = step;
    own.results[1] = own.tensor_bytes;
    own.results[2] = value;
    own.results[3] = own.stack;
    own.results[4] = (uint32_t)own.total;
    own.results[5] = (uint32_t)(own.total >> 32);
    own.result_words = RESULTS;
}

/* The core comes back from the model. */
static void count(uint32_t step, uint32_t now) {
    own.interval = now - own.since;
    own.interval = own.interval > own.cost ? own.interval - own.cost : 0;
    own.total += own.interval;
    if (step < MOTE_AGENT_STEPS) cycles[step] += own.interval;
}

NOINLINE void mote_agent_step(uint32_t step, const void *data, size_t bytes) {
    const uint32_t now = mote_port_cycles();
    if (own.state != RUNNING) return;
    count(step, now);
    if ((own.flags & MOTE_AGENT_MARKS) != 0) mote_port_mark((uint16_t)step);
    if (step >= own.stop) {
        own.state = STOPPED;
        own.tensor = data;
        own.tensor_bytes = (uint32_t)bytes;
        report(MOTE_AGENT_STOPPED, step, 0);
        answer_last();
        while (HAS_STOPPED) mote_agent_poll();
        own.tensor_bytes = 0;
    }
    own.since = mote_port_cycles();
}

/* What a call of the hook takes between two readings of the counter. */
static void calibrate(void) {
    own.cost = 0;
    own.stop = MOTE_AGENT_NO_STOP;
    mote_agent_step(MOTE_AGENT_BEGIN, message, 1); /* one after another, as the model calls it */
    mote_agent_step(MOTE_AGENT_BEGIN, message, 1);
    mote_agent_step(MOTE_AGENT_BEGIN, message, 1);
    own.cost = own.interval;
    own.total = 0;
}

static uint32_t follow_continue(const uint8_t *data, uint32_t bytes) {
    if (bytes != 4) return MOTE_AGENT_MALFORMED;
    if (!HAS_STOPPED) return MOTE_AGENT_STATE;
    own.stop = mote_word(data, 0);
    own.state = RUNNING;
    return MOTE_AGENT_STOPPED;
}

/* One inference. The request that it ends with is the last CONTINUE, or the RUN where the model has not stopped; both are
 * answered from here. */
static void run(void) {
    volatile uint32_t top = 0;
    const uint32_t last = own.stop;
    own.state = RUNNING;
    own.next_session = NOBODY;
    own.tensor_bytes = 0;
    own.stack = 0;
    memset(cycles, 0, sizeof cycles);
    if ((own.flags & MOTE_AGENT_KEEP_CACHES) == 0) mote_port_fresh_caches();
    const uint32_t wanted = own.flags;
    own.flags = 0;
    calibrate();
    own.flags = wanted;
    own.stop = last;
    paint();
    if ((own.flags & MOTE_AGENT_MARKS) != 0) mote_port_mark(MOTE_AGENT_BEGIN);
    own.since = mote_port_cycles();
    const int value = MODEL->run();
    count(MOTE_AGENT_STEPS, mote_port_cycles());
    measure((uintptr_t)&top);
    own.state = value == 0 && !own.overflowed ? DONE : IDLE;
    if (own.next_session != NOBODY) {
        begin(own.next_session, own.next_sequence);
        introduce(own.next_sequence);
        return;
    }
    report(own.overflowed ? MOTE_AGENT_STACK_FULL : value == 0 ? MOTE_AGENT_OK : MOTE_AGENT_MODEL_FAILED, 0, (uint32_t)value);
    answer_last();
}

static uint32_t follow_run(const uint8_t *data, uint32_t bytes) {
    if (bytes != 8) return MOTE_AGENT_MALFORMED;
    if (HAS_STOPPED) return MOTE_AGENT_STATE;
    if (MODEL->outputs() == 0) return MOTE_AGENT_NO_MODEL;
    own.flags = mote_word(data, 0);
    own.stop = mote_word(data, 4);
    own.state = IDLE;
    if ((own.flags & MOTE_AGENT_RESET_STATES) != 0) own.opened = MODEL->init();
    if (own.opened != 0) {
        own.tensor_bytes = 0;
        own.stack = 0;
        own.total = 0;
        report(MOTE_AGENT_MODEL_FAILED, 0, (uint32_t)own.opened);
        return MOTE_AGENT_MODEL_FAILED;
    }
    return MOTE_AGENT_STOPPED;
}
#else
void mote_agent_step(uint32_t step, const void *data, size_t bytes) {
    (void)step;
    (void)data;
    (void)bytes;
}
#endif

/* Does what is asked for; the status. MOTE_AGENT_STOPPED: the answer comes when the model stops or ends. */
static uint32_t follow(uint8_t kind, const uint8_t *data, uint32_t bytes) {
    switch (kind) {
#if MOTE_AGENT_RUNS || MOTE_AGENT_LOADS
    case MOTE_AGENT_WRITE: return follow_write(data, bytes);
#endif
#if MOTE_AGENT_RUNS
    case MOTE_AGENT_RUN: return follow_run(data, bytes);
    case MOTE_AGENT_CONTINUE: return follow_continue(data, bytes);
#endif
#if MOTE_AGENT_LOADS
    case MOTE_AGENT_LOAD: return follow_load(data, bytes);
    case MOTE_AGENT_CALL: return follow_call(data, bytes);
    case MOTE_AGENT_RESTART: return bytes == 0 ? MOTE_AGENT_OK : MOTE_AGENT_MALFORMED;
#endif
    default: (void)data, (void)bytes; return MOTE_AGENT_UNKNOWN;
    }
}

/* Opens a session, where it is another one, and answers who this is. */
static void identify(uint8_t number, uint32_t wanted, uint32_t bytes) {
    if (bytes != SESSION || wanted == NOBODY) {
        answer(MOTE_AGENT_IDENTIFY, number, MOTE_AGENT_MALFORMED, 0);
        return;
    }
#if MOTE_AGENT_RUNS
    if (wanted != own.session && HAS_STOPPED) { /* the model runs out first: mote_agent_step returns to it */
        own.next_session = wanted;
        own.next_sequence = number;
        own.stop = MOTE_AGENT_NO_STOP;
        own.state = RUNNING;
        return;
    }
#endif
    if (wanted != own.session) begin(wanted, number);
    introduce(number);
}

/* A whole message is there. */
static void handle(uint32_t bytes) {
    const uint8_t kind = message[0], number = message[1];
    const uint8_t *const data = message + MOTE_FRAME_HEAD + SESSION;
    if ((kind & MOTE_AGENT_ANSWER) != 0) return;
    if (kind < MOTE_AGENT_IDENTIFY) {
#if MOTE_AGENT_UPDATES
        if (!HAS_STOPPED) mote_agent_update(bytes);
#endif
        return;
    }
    bytes -= MOTE_FRAME_HEAD;
    const uint32_t whose = bytes < SESSION ? NOBODY : mote_word(message, MOTE_FRAME_HEAD);
    if (kind == MOTE_AGENT_IDENTIFY) {
        identify(number, whose, bytes);
        return;
    }
    if (whose == NOBODY || whose != own.session) {
        answer(kind, number, bytes < SESSION ? MOTE_AGENT_MALFORMED : MOTE_AGENT_NO_SESSION, 0);
        return;
    }
    bytes -= SESSION;
    const uint32_t age = (uint32_t)(uint8_t)(number - own.sequence);
    if (age >= 128 || (age == 0 && kind != own.type)) return;
    if (kind == MOTE_AGENT_REGION || kind == MOTE_AGENT_READ) {
        own.type = kind;
        own.sequence = number;
        look(kind, number, data, bytes);
        return;
    }
    if (age != 0) {
        own.type = kind;
        own.sequence = number;
        own.result_words = 0;
        own.status = follow(kind, data, bytes);
#if MOTE_AGENT_RUNS
        if (own.status == MOTE_AGENT_STOPPED) {
            if (kind == MOTE_AGENT_RUN) run();
            return;
        }
#endif
    }
    answer_last();
#if MOTE_AGENT_LOADS
    if (kind == MOTE_AGENT_RESTART && own.status == MOTE_AGENT_OK && age != 0) mote_port_restart();
#endif
}

void mote_agent_reset(void) {
    mote_frame_reset(&line);
    own.session = NOBODY;
#if MOTE_AGENT_RUNS
    own.state = IDLE;
#endif
#if MOTE_AGENT_RUNS || MOTE_AGENT_LOADS
    (void)use(&mote_model);
#endif
}

void mote_agent_poll(void) {
    for (int byte; (byte = mote_port_read()) >= 0;) {
        const uint32_t bytes = mote_frame_take(&line, (uint8_t)byte);
        if (bytes != 0) {
            handle(bytes);
            return;
        }
    }
}

uint8_t *mote_agent_room(uint32_t *bytes) {
    *bytes = sizeof message;
    return message;
}
