/* host_agent.c: the agent on this computer, around a small model whose answers are known.
 *
 * As a shared library, `drive` hands it streams of bytes, a reset between two, and takes what it sends. As a target for
 * libFuzzer it takes any bytes, as they are or as messages whose sum is right. With -DSTANDALONE it is a program with a
 * host of its own: host_agent FRAMES RESETS SEED runs inferences over a line that damages frames both ways, with resets
 * at random moments, and ends with 1 at the first wrong answer or where nothing goes on. */
#include "mote_agent.h"
#include "mote_frame.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 33, SECOND = 8, RESULT = 20, SCRATCH = 64, IMAGE = 96, STEPS = 3 };

/* --- The model: three steps, the first in two parts, a state that counts inferences, memory that overlays ---------- */

static uint8_t *first, *second, *result, *scratch, *image, middle[FIRST];
static uint8_t inferences;
static uint32_t executed; /* in all */
static const uint8_t model_id[MOTE_AGENT_ID_BYTES] = {1, 2, 3}, runtime_id[MOTE_AGENT_ID_BYTES] = {4};

static uint32_t two(void) { return 2; }
static uint32_t one(void) { return 1; }
static uint32_t steps(void) { return STEPS; }

static void *input(uint32_t i, uint32_t *bytes) {
    *bytes = i == 0 ? FIRST : i == 1 ? SECOND : 0;
    return i == 0 ? first : i == 1 ? second : NULL;
}

static const void *output(uint32_t i, uint32_t *bytes) {
    *bytes = i == 0 ? RESULT : 0;
    return i == 0 ? result : NULL;
}

static int init(void) {
    inferences = 0;
    return 0;
}

static int run(void) {
    executed++;
    if (first[0] == 0xff && second[0] == 0xff) return 5;
    inferences++;
    for (int i = 0; i < FIRST; i++) middle[i] = (uint8_t)(first[i] * 3 + second[i % SECOND] + i);
    mote_agent_step(0, middle, 16);
    mote_agent_step(0, middle + 16, FIRST - 16);
    memset(first, 0xee, FIRST);
    memset(second, 0xee, SECOND);
    for (int i = 1; i < FIRST; i++) middle[i] = (uint8_t)(middle[i] + middle[i - 1]);
    mote_agent_step(1, middle, FIRST);
    for (int i = 0; i < RESULT; i++) result[i] = (uint8_t)((middle[i] ^ middle[i + 13]) + inferences);
    mote_agent_step(2, result, RESULT);
    return 0;
}

static int load(const void *data, uint32_t bytes) {
    return bytes < 4 || *(const uint8_t *)data != 'M' ? 9 : init();
}

const mote_model_t mote_model = {model_id, runtime_id, two, one, steps, input, output, init, run, load};

/* --- The port: bytes from and to whoever drives it; at the end of them the agent is left as by a reset ------------- */

static jmp_buf out_of_agent;
static uint32_t ticks;

static int next_byte(void);
static void take_byte(uint8_t byte);

int mote_port_read(void) { return next_byte(); }
void mote_port_write(const uint8_t *data, uint32_t bytes) {
    while (bytes-- != 0) take_byte(*data++);
}
uint32_t mote_port_cycles(void) { return ticks += 10; }
void mote_port_mark(unsigned step) { ticks += step; }
void mote_port_restart(void) { longjmp(out_of_agent, 1); }
void mote_port_fresh_caches(void) {}
void mote_port_new_code(void) { longjmp(out_of_agent, 1); } /* a call of code that is none: a trap */
void mote_port_identify(mote_agent_identity *identity) {
    identity->core = 7;
    identity->clock_hz = 1000;
    identity->counter = MOTE_COUNTER_HOOK;
}
const char *mote_port_target(void) { return "host"; }
void *mote_port_scratch(uint32_t *bytes) {
    *bytes = SCRATCH;
    return scratch;
}
void *mote_port_image(uint32_t *bytes) {
    *bytes = IMAGE;
    return image;
}
int mote_port_memory(uint32_t index, uint32_t *address, uint32_t *bytes) {
    *address = 0x1000 * index;
    *bytes = 100 + index;
    return index < 2;
}
uint8_t *mote_port_stack(void) { return NULL; }

#if MOTE_AGENT_UPDATES
/* An updater on the same line, its flash in memory. */
#include "mote_ota.h"

enum { SLOT = 4096, SECTOR = 512 };
static uint8_t flash[2 * SLOT + 2 * SECTOR], buffer[256];
static mote_update_t update;
static mote_ota_t ota;

static int erase_flash(void *context, uint32_t at, uint32_t bytes) {
    (void)context;
    memset(flash + at, 0xff, bytes);
    return 0;
}

static int write_flash(void *context, uint32_t at, const uint8_t *data, uint32_t bytes) {
    (void)context;
    for (uint32_t i = 0; i < bytes; i++) flash[at + i] &= data[i];
    return 0;
}

static const mote_update_settings_t settings = {
    .flash = {.base = flash, .unit = 8, .erase = erase_flash, .write = write_flash},
    .slot = {{0, SLOT, SECTOR}, {SLOT, SLOT, SECTOR}},
    .journal = {2 * SLOT, 2 * SECTOR, SECTOR},
    .buffer = buffer,
    .buffer_bytes = sizeof buffer,
    .trials = 1,
};

static void send_update(void *context, const uint8_t *data, uint32_t bytes) {
    (void)context;
    mote_port_write(data, bytes);
}

void mote_agent_update(uint32_t bytes) {
    if (ota.update == NULL) {
        memset(flash, 0xff, sizeof flash);
        (void)mote_update_boot(&update, &settings);
        ota.update = &update;
        ota.send = send_update;
        ota.frame = mote_agent_room(&ota.frame_bytes);
        mote_ota_reset(&ota);
    }
    mote_ota_answer(&ota, bytes);
}
#endif

/* Memory of exactly its size, so that a sanitizer sees what is outside. */
static void set_up(void) {
    if (first != NULL) return;
    first = calloc(1, FIRST);
    second = calloc(1, SECOND);
    result = calloc(1, RESULT);
    scratch = calloc(1, SCRATCH);
    image = calloc(1, IMAGE);
    if (first == NULL || second == NULL || result == NULL || scratch == NULL || image == NULL) abort();
}

/* --- Streams of bytes ----------------------------------------------------------------------------------------------- */

#ifndef STANDALONE
static const uint8_t *stream;
static uint32_t stream_bytes, stream_at;
static uint8_t *sent;
static uint32_t sent_bytes, sent_room;

static int next_byte(void) {
    if (stream_at == stream_bytes) longjmp(out_of_agent, 1);
    return stream[stream_at++];
}

static void take_byte(uint8_t byte) {
    if (sent_bytes < sent_room) sent[sent_bytes] = byte;
    sent_bytes++;
}

/* Hands over `count` streams, a reset in front of each. Returns the bytes that were sent; those of each in `ends`. */
uint32_t drive(const uint8_t *data, const uint32_t *lengths, uint32_t count, uint8_t *to, uint32_t room, uint32_t *ends);
uint32_t drive(const uint8_t *data, const uint32_t *lengths, uint32_t count, uint8_t *to, uint32_t room,
               uint32_t *ends) {
    volatile uint32_t turn = 0, offset = 0;
    set_up();
    sent = to;
    sent_room = room;
    sent_bytes = 0;
    for (; turn < count; turn++) {
        stream = data + offset;
        stream_bytes = lengths[turn];
        stream_at = 0;
        if (setjmp(out_of_agent) == 0) {
            mote_agent_reset();
            for (;;) mote_agent_poll();
        }
        offset += lengths[turn];
        ends[turn] = sent_bytes;
    }
    return sent_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t framed[1 << 16];
    uint32_t bytes = 0, ends[1];
    if (size == 0) return 0;
    if (data[0] == 0) return (int)(drive(data + 1, &(uint32_t){(uint32_t)size - 1}, 1, NULL, 0, ends) & 0);
    for (size_t at = 1; at < size && bytes < sizeof framed - 2100;) { /* messages whose sum is right */
        uint8_t whole[1024];
        uint32_t some = data[at++];
        some = some < size - at ? some : (uint32_t)(size - at);
        whole[0] = some > 0 ? data[at] : 0x20;
        whole[1] = some > 1 ? data[at + 1] : 0;
        if (data[0] == 1) (void)mote_put_word(whole + 2, 1); /* the session that IDENTIFY opens below */
        const uint32_t head = data[0] == 1 ? 6 : 2;
        if (some > 2) memcpy(whole + head, data + at + 2, some - 2);
        const uint32_t length = head + (some > 2 ? some - 2 : 0);
        at += some;
        (void)mote_put_word(whole + length, mote_frame_crc(0, whole, length));
        framed[bytes++] = 0x7e;
        for (uint32_t i = 0; i < length + 4; i++) {
            const int stuffed = whole[i] == 0x7e || whole[i] == 0x7d;
            if (stuffed) framed[bytes++] = 0x7d;
            framed[bytes++] = (uint8_t)(stuffed ? whole[i] ^ 0x20 : whole[i]);
        }
        framed[bytes++] = 0x7e;
    }
    (void)drive(framed, &bytes, 1, NULL, 0, ends);
    return 0;
}
#else

/* --- A host, and a line that damages ------------------------------------------------------------------------------- */

enum { SILENCE = 400 }; /* times that the device finds nothing before the host asks again */

static uint64_t seed = 1;
static uint32_t frames, damaged, resets, wanted_frames, wanted_resets, completed, stops, failures, until_reset;
static uint8_t line_in[4096];
static uint32_t line_bytes, line_at, silence, patience;

static uint32_t any(uint32_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % below;
}

static void fail(const char *what) {
    printf("%s: seed %llx, %u frames, %u resets, %u inferences\n", what, (unsigned long long)seed, frames, resets,
           completed);
    exit(1);
}

static uint8_t before[8][600]; /* frames that were sent, to come again late */
static uint32_t before_bytes[8], before_next;

/* Damages a frame: bits, bytes that are lost, that come twice or are others, one frame twice, noise, an old one. */
static void damage(const uint8_t *data, uint32_t bytes) {
    if (any(9) == 0) {
        const uint32_t which = any(8);
        if (line_bytes + before_bytes[which] + bytes > sizeof line_in) return;
        memcpy(line_in + line_bytes, before[which], before_bytes[which]);
        line_bytes += before_bytes[which];
        memcpy(line_in + line_bytes, data, bytes);
        line_bytes += bytes;
        damaged++;
        return;
    }
    uint8_t changed[2100];
    uint32_t fill = 0;
    const uint32_t how = any(8);
    const uint32_t at = any(bytes), span = 1 + any(8);
    for (uint32_t i = 0; i < bytes; i++) {
        const int hit = i >= at && i < at + span;
        if (how == 0 && hit) continue;
        if (how == 1 && i >= at) break;
        uint8_t byte = data[i];
        if (how == 2 && i == at) byte = (uint8_t)(byte ^ 1u << any(8));
        if (how == 3 && hit) byte = (uint8_t)any(256);
        changed[fill++] = byte;
        if (how == 4 && i == at) changed[fill++] = (uint8_t)any(256);
        if (how == 5 && hit) changed[fill++] = byte;
        if (how == 6 && i == at) changed[fill++] = 0x7e;
    }
    for (int turn = how == 7 ? 2 : 1; turn != 0; turn--) {
        if (line_bytes + fill > sizeof line_in) return;
        memcpy(line_in + line_bytes, changed, fill);
        line_bytes += fill;
    }
    damaged++;
}

static uint8_t asked[512];
static uint32_t asked_bytes;

/* Puts the question on the line, one in three damaged. */
static void put(void) {
    uint8_t framed[1100];
    uint32_t fill = 0;
    frames++;
    framed[fill++] = 0x7e;
    for (uint32_t i = 0; i < asked_bytes; i++) {
        const int stuffed = asked[i] == 0x7e || asked[i] == 0x7d;
        if (stuffed) framed[fill++] = 0x7d;
        framed[fill++] = (uint8_t)(stuffed ? asked[i] ^ 0x20 : asked[i]);
    }
    framed[fill++] = 0x7e;
    if (asked[0] != MOTE_AGENT_IDENTIFY && fill <= sizeof before[0]) {
        memcpy(before[before_next % 8], framed, fill);
        before_bytes[before_next++ % 8] = fill;
    }
    if (any(3) == 0) {
        damage(framed, fill);
    } else if (line_bytes + fill <= sizeof line_in) {
        memcpy(line_in + line_bytes, framed, fill);
        line_bytes += fill;
    }
    silence = 0;
    if (++patience > 5000) fail("nothing goes on");
}

/* What the host knows and does: an inference after another, from the beginning where the device has restarted. */
enum { OPEN, WRITE_FIRST, WRITE_SECOND, WRITE_REST, RUNS, READS, READ_TENSOR };
static int doing;
static uint32_t session = 1, since_open;
static uint8_t sequence, stopped_tensor[FIRST];
static uint32_t stopped_bytes;
static uint8_t given[FIRST], given_too[SECOND], inner[FIRST], summed[FIRST], expected[RESULT];

static void ask(uint8_t type, const void *data, uint32_t bytes) {
    asked[0] = type;
    asked[1] = ++sequence;
    (void)mote_put_word(asked + 2, session);
    if (bytes != 0) memcpy(asked + 6, data, bytes);
    asked_bytes = 6 + bytes;
    (void)mote_put_word(asked + asked_bytes, mote_frame_crc(0, asked, asked_bytes));
    asked_bytes += 4;
    put();
}

static void open_session(void) {
    session = 1 + any(0x7ffffffe);
    sequence = (uint8_t)any(256);
    since_open = 0;
    doing = OPEN;
    ask(MOTE_AGENT_IDENTIFY, NULL, 0);
}

static void write_to(uint8_t index, uint32_t offset, const uint8_t *data, uint32_t bytes) {
    uint8_t body[64] = {MOTE_AGENT_INPUT, index};
    (void)mote_put_word(body + 4, offset);
    memcpy(body + 8, data, bytes);
    ask(MOTE_AGENT_WRITE, body, 8 + bytes);
}

static void begin_inference(void) {
    for (int i = 0; i < FIRST; i++) given[i] = (uint8_t)any(256);
    for (int i = 0; i < SECOND; i++) given_too[i] = (uint8_t)any(256);
    if (any(10) == 0) given[0] = given_too[0] = 0xff;
    doing = WRITE_FIRST;
    write_to(0, 0, given, 20);
}

static uint32_t next_stop(void) { return any(2) == 0 ? MOTE_AGENT_NO_STOP : any(4); }

static void start(void) {
    uint8_t body[8];
    const int fresh = since_open == 0 || any(8) == 0;
    if (fresh) since_open = 0;
    const int fails = given[0] == 0xff && given_too[0] == 0xff;
    since_open += !fails;
    for (int i = 0; i < FIRST; i++) inner[i] = (uint8_t)(given[i] * 3 + given_too[i % SECOND] + i);
    memcpy(summed, inner, FIRST);
    for (int i = 1; i < FIRST; i++) summed[i] = (uint8_t)(summed[i] + summed[i - 1]);
    for (int i = 0; i < RESULT; i++) expected[i] = (uint8_t)((summed[i] ^ summed[i + 13]) + since_open);
    (void)mote_put_word(body, (fresh ? MOTE_AGENT_RESET_STATES : 0) | (any(2) ? MOTE_AGENT_MARKS : 0));
    (void)mote_put_word(body + 4, next_stop());
    doing = RUNS;
    ask(MOTE_AGENT_RUN, body, 8);
}

static void go_on(void) {
    uint8_t body[4];
    (void)mote_put_word(body, next_stop());
    doing = RUNS;
    ask(MOTE_AGENT_CONTINUE, body, 4);
}

/* The tensor of a stop must be that of its step: parts of the first step come in order. */
static void check_stop(const uint8_t *data, uint32_t bytes) {
    const uint32_t step = mote_word(data, 0), length = mote_word(data, 4);
    const uint8_t *const shown = data + 24;
    const uint8_t *right = step == 0 ? inner : step == 1 ? summed : expected;
    if (step == 0 && length == FIRST - 16) right = inner + 16;
    if (step >= STEPS || (step == 0 && length != 16 && length != FIRST - 16)) fail("a stop at a wrong place");
    if ((step == 1 && length != FIRST) || (step == 2 && length != RESULT)) fail("a tensor of a wrong length");
    if (bytes != 24 + length || memcmp(shown, right, length) != 0) fail("a wrong tensor");
    memcpy(stopped_tensor, shown, length);
    stopped_bytes = length;
    stops++;
    if (any(3) == 0) {
        uint8_t body[12] = {MOTE_AGENT_TENSOR};
        (void)mote_put_word(body + 8, length);
        doing = READ_TENSOR;
        ask(MOTE_AGENT_READ, body, 12);
    } else {
        go_on();
    }
}

static void ran(uint32_t status, const uint8_t *data, uint32_t bytes) {
    const int fails = given[0] == 0xff && given_too[0] == 0xff;
    if (status == MOTE_AGENT_STOPPED) {
        check_stop(data, bytes);
    } else if (status == MOTE_AGENT_MODEL_FAILED) {
        if (!fails || mote_word(data, 8) != 5) fail("a failure that is none");
        failures++;
        completed++;
        begin_inference();
    } else if (status == MOTE_AGENT_OK && !fails) {
        uint8_t body[12] = {MOTE_AGENT_OUTPUT};
        (void)mote_put_word(body + 8, RESULT);
        doing = READS;
        ask(MOTE_AGENT_READ, body, 12);
    } else {
        fail("a run that ends oddly");
    }
}

/* An answer to the question that was asked. */
static void answered(uint32_t status, const uint8_t *data, uint32_t bytes) {
    patience = 0;
    if (status == MOTE_AGENT_NO_SESSION) {
        open_session();
        return;
    }
    if (doing != RUNS && status != MOTE_AGENT_OK) fail("a question that is refused");
    switch (doing) {
    case OPEN: begin_inference(); break;
    case WRITE_FIRST: doing = WRITE_REST; write_to(0, 20, given + 20, FIRST - 20); break;
    case WRITE_REST: doing = WRITE_SECOND; write_to(1, 0, given_too, SECOND); break;
    case WRITE_SECOND: start(); break;
    case RUNS: ran(status, data, bytes); break;
    case READ_TENSOR:
        if (bytes != stopped_bytes || memcmp(data, stopped_tensor, bytes) != 0) fail("a tensor that changes");
        go_on();
        break;
    default:
        if (bytes != RESULT || memcmp(data, expected, RESULT) != 0) fail("a wrong answer");
        completed++;
        if (any(50) == 0) {
            open_session();
        } else {
            begin_inference();
        }
    }
}

static uint8_t heard[MOTE_AGENT_FRAME];
static mote_frame_t ear = {heard, sizeof heard, 0, 0, 1};

static void hear(uint8_t byte) {
    const uint32_t bytes = mote_frame_take(&ear, byte);
    if (bytes < 6 || heard[0] != (asked[0] | 0x80) || heard[1] != sequence) return;
    uint8_t kept[MOTE_AGENT_FRAME];
    memcpy(kept, heard, bytes);
    answered(mote_word(kept, 2), kept + 6, bytes - 6);
}

/* A reset may come before any byte, either way. */
static void maybe_reset(void) {
    if (resets >= wanted_resets || --until_reset != 0) return;
    until_reset = 1 + any(20000);
    resets++;
    longjmp(out_of_agent, 1);
}

static int next_byte(void) {
    maybe_reset();
    if (line_at < line_bytes) return line_in[line_at++];
    line_at = line_bytes = 0;
    if (frames >= wanted_frames && resets >= wanted_resets) longjmp(out_of_agent, 2);
    if (++silence > SILENCE || any(100) == 0) {
        if (patience % 20 == 19) {
            open_session();
        } else {
            put();
        }
    }
    return -1;
}

/* What the device sends is damaged as well. */
static void take_byte(uint8_t byte) {
    static uint32_t until = 100;
    maybe_reset();
    if (--until != 0) {
        hear(byte);
        return;
    }
    until = 1 + any(300);
    const uint32_t how = any(4);
    if (how == 0) return;
    if (how == 1) hear((uint8_t)any(256));
    hear((uint8_t)(how == 2 ? byte ^ 1u << any(8) : byte));
    damaged++;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    wanted_frames = (uint32_t)atol(arguments[1]);
    wanted_resets = (uint32_t)atol(arguments[2]);
    seed = 0x9e3779b97f4a7c15u ^ (uint64_t)atol(arguments[3]);
    until_reset = 1 + any(20000);
    set_up();
    open_session();
    if (setjmp(out_of_agent) != 2) {
        inferences = (uint8_t)any(256); /* memory after a reset is anything */
        for (int i = 0; i < FIRST; i++) first[i] = (uint8_t)any(256);
        mote_agent_reset();
        for (;;) mote_agent_poll();
    }
    printf("frames %u damaged %u resets %u inferences %u stops %u failures %u executed %u\n", frames, damaged, resets,
           completed, stops, failures, executed);
    return 0;
}
#endif
