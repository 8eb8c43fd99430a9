/* From the reset to main: memories are set up, filled and cleared. */
#include "firmware.h"

int main(void);
#ifdef MOTE_AGENT
void mote_port_restart(void);
#endif

/* In the linker script. */
extern const uintptr_t mote_copies[], mote_copies_end[], mote_zeros[], mote_zeros_end[];

/* Called by start.S. */
void mote_boot(void);
void mote_fault(uint32_t cause, uint32_t pc);

static void copy(uint32_t *to, const uint32_t *from, uintptr_t bytes)
{
    for (uintptr_t i = 0; i < bytes / sizeof *to; i++) {
        to[i] = from[i];
    }
}

static void clear(uint32_t *to, uintptr_t bytes)
{
    for (uintptr_t i = 0; i < bytes / sizeof *to; i++) {
        to[i] = 0;
    }
}

void mote_boot(void)
{
    mote_set_up_memories();
    for (const uintptr_t *row = mote_copies; row < mote_copies_end; row += 3) {
        copy((uint32_t *)row[1], (const uint32_t *)row[0], row[2]);
    }
    for (const uintptr_t *row = mote_zeros; row < mote_zeros_end; row += 2) {
        clear((uint32_t *)row[0], row[1]);
    }
    mote_set_up_console();
    mote_exit(main());
}

void mote_fault(uint32_t cause, uint32_t pc)
{
    (void)fputs("fault ", stdout);
    mote_print_decimal(cause);
    (void)fputs(" at 0x", stdout);
    mote_print_hexadecimal(pc);
    (void)putchar('\n');
#ifdef MOTE_AGENT
    mote_port_restart(); /* the host is told that its session is over, and goes on */
#endif
    mote_exit(2);
}

/* newlib's math functions set errno, and its own errno brings a kilobyte of reentrancy state with it. */
int *__errno(void);
int *__errno(void)
{
    static int value;
    return &value;
}
