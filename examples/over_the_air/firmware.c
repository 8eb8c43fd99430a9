/* firmware.c: firmware whose model is data, for the board MPS2 AN386 (Cortex-M4) in QEMU.
 *
 * It runs the model of the active slot once after each reset and says what came out on the second serial port; the
 * first one carries updates (`mote ota --serial`). Flash is played by RAM that a reset leaves alone. On a part, the
 * functions below that touch `flash` are those of its flash controller, and the rest stays as it is.
 */
#include "mote_ed25519.h"
#include "mote_kernels.h"
#include "mote_ota.h"
#include "mote_runtime.h"
#include "public_key.h"

#include <string.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UPDATES 0x40004000u /* CMSDK serial ports */
#define TEXT 0x40005000u
#define INTERRUPTS 0xe000e000u
#define RESET_CONTROL 0xe000ed0cu

enum { SLOT = 256 * 1024, SECTOR = 4096, UNIT = 8, FORMATTED = 0x464c4153, MOST_OUTPUTS = 16 };

/* In RAM that nothing initialises. */
static struct {
    uint32_t formatted, reserved;
    uint8_t data[2 * SLOT + 2 * SECTOR];
} flash __attribute__((section(".kept"), aligned(8)));

static uint64_t arena[8 * 1024], state[128];
static const mote_memory_t memory = {{arena}, {sizeof arena}, state, sizeof state};
static uint8_t buffer[256], frame[512];
static mote_update_t update;
static mote_interpreter_t model;

static void put_byte(uint32_t port, uint8_t byte) {
    while ((REGISTER(port + 4) & 1u) != 0) {}
    REGISTER(port) = byte;
}

static void put_text(const char *text) {
    while (*text != 0) put_byte(TEXT, (uint8_t)*text++);
}

static void put_number(int32_t number) {
    char digits[12], *at = digits + sizeof digits - 1;
    uint32_t left = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
    *at = 0;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (number < 0) *--at = '-';
    put_text(" ");
    put_text(at);
}

static int erase_flash(void *context, uint32_t at, uint32_t bytes) {
    (void)context;
    memset(flash.data + at, 0xff, bytes);
    return 0;
}

static int write_flash(void *context, uint32_t at, const uint8_t *data, uint32_t bytes) {
    (void)context;
    for (uint32_t i = 0; i < bytes; i++) flash.data[at + i] &= data[i];
    return 0;
}

/* Whether this firmware can run an image: asked before an update is accepted. No inference is under way then. */
static int accept(void *context, const void *image, uint32_t bytes) {
    mote_problem_t problem = {"", "", 0};
    (void)context;
    if (mote_init(&model, &mote_kernels, image, bytes, &memory, &problem) == MOTE_OK) return 0;
    put_text("refused: ");
    put_text(problem.what);
    put_text(" ");
    put_text(problem.name);
    put_text("\n");
    return 1;
}

static const mote_update_settings_t settings = {
    .flash = {.base = flash.data, .unit = UNIT, .erase = erase_flash, .write = write_flash},
    .slot = {{0, SLOT, SECTOR}, {SLOT, SLOT, SECTOR}},
    .journal = {2 * SLOT, 2 * SECTOR, SECTOR},
    .buffer = buffer,
    .buffer_bytes = sizeof buffer,
    .product = 7,
    .trials = 1,
    .keys = &mote_public_key,
    .key_count = 1,
    .verify = mote_ed25519_verify,
    .accept = accept,
};

static void send(void *context, const uint8_t *data, uint32_t bytes) {
    (void)context;
    for (uint32_t i = 0; i < bytes; i++) put_byte(UPDATES, data[i]);
}

static void restart(void *context) {
    (void)context;
    REGISTER(RESET_CONTROL) = 0x05fa0004u;
    for (;;) {}
}

/* One inference over an input that is always the same. Whether all went well. */
static int run(const void *image, uint32_t bytes) {
    mote_tensor_t input, output;
    if (mote_init(&model, &mote_kernels, image, bytes, &memory, NULL) != MOTE_OK) return 0;
    if (mote_input_info(&model, 0, &input) != MOTE_OK || mote_output_info(&model, 0, &output) != MOTE_OK) return 0;
    uint8_t *in = mote_input(&model, 0);
    for (uint32_t i = 0; i < input.bytes; i++) in[i] = (uint8_t)(i * 37 + 11);
    if (mote_invoke(&model) != MOTE_OK) return 0;
    const int8_t *out = mote_output(&model, 0);
    for (uint32_t i = 0; i < output.bytes && i < MOST_OUTPUTS; i++) put_number(out[i]);
    put_text("\n");
    return 1;
}

/* Finds the model, runs it, and confirms it where it was new and has run. */
static void begin(void) {
    mote_update_info_t info;
    uint32_t bytes;
    (void)mote_update_boot(&update, &settings);
    mote_update_info(&update, &info);
    const void *image = mote_update_image(&update, &bytes);
    if (image == NULL) {
        put_text("no model\n");
        return;
    }
    put_text("version");
    put_number((int32_t)info.version);
    put_text(":");
    if (run(image, bytes)) (void)mote_update_confirm(&update);
}

int main(void) {
    REGISTER(UPDATES + 16) = REGISTER(TEXT + 16) = 16; /* speed */
    REGISTER(UPDATES + 8) = 0xb;                       /* send, receive, and say so */
    REGISTER(TEXT + 8) = 1;
    REGISTER(INTERRUPTS + 0x100) = 1;                  /* the first port may wake the core */
    if (flash.formatted != FORMATTED) {
        memset(flash.data, 0xff, sizeof flash.data);
        flash.formatted = FORMATTED;
    }
    begin();
    mote_ota_t ota = {.update = &update, .send = send, .restart = restart, .frame = frame, .frame_bytes = sizeof frame};
    mote_ota_reset(&ota);
    for (;;) {
        while ((REGISTER(UPDATES + 4) & 2u) != 0) {
            const uint8_t byte = (uint8_t)REGISTER(UPDATES);
            mote_ota_receive(&ota, &byte, 1);
        }
        REGISTER(UPDATES + 12) = 2;        /* what comes from here on wakes the core */
        REGISTER(INTERRUPTS + 0x280) = 1;
        if ((REGISTER(UPDATES + 4) & 2u) == 0) __asm__ volatile("wfi");
    }
}

/* What runs before main. */
extern uint32_t stack_top[], data_image[], data_start[], data_end[], bss_start[], bss_end[];

void start(void);
void start(void) {
    __asm__ volatile("cpsid i"); /* interrupts wake the core, and nothing more */
    REGISTER(0xe000ed88u) = 0xfu << 20; /* the floating-point unit */
    for (uint32_t *to = data_start, *from = data_image; to < data_end;) *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
    (void)main();
}

static void trap(void) {
    put_text("trap\n");
    for (;;) {}
}

typedef void (*vector_t)(void);
__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    (vector_t)(uintptr_t)stack_top, start, trap, trap, trap, trap, trap,
};
