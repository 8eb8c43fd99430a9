/* virt.c: QEMU's board virt with a RISC-V core. Its clock counts instructions. */
#include "firmware.h"
#include "mlperf.h"

#define MTIME 0x0200BFF8u /* 10 MHz, 64 bits */
#define WORD(address) (*(volatile uint32_t *)(address))

void board_begin(void)
{
}

int board_read(int wait)
{
    (void)wait;
    return mote_read();
}

uint32_t board_microseconds(void)
{
    uint32_t high, low;
    do {
        high = WORD(MTIME + 4);
        low = WORD(MTIME);
    } while (high != WORD(MTIME + 4));
    return (uint32_t)(((uint64_t)high << 32 | low) / 10u);
}

/* The board has no pins. */
void board_set(int pin, int high)
{
    (void)pin;
    (void)high;
}
