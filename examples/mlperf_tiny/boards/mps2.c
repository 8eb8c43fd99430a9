/* mps2.c: QEMU's boards MPS2 AN385, AN386 and AN500 with a Cortex-M3, M4 or M7. Their clocks count instructions. */
#include "firmware.h"
#include "mlperf.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define DUAL_TIMER 0x40002000u /* CMSDK: counts 25 MHz / 16 down from 2^32 - 1, for 45 minutes */
#define LEDS 0x40028000u       /* the pins: bits 0 to 2 */
#define UART_STATUS 0x4000400Cu
#define ENABLED 0xE000E100u /* NVIC: interrupt 0 is that a character was received */
#define PENDING 0xE000E280u

void board_begin(void)
{
    REGISTER(DUAL_TIMER + 0x0) = 0xFFFFFFFFu;
    REGISTER(DUAL_TIMER + 0x8) = 0x86u; /* enabled, divided by 16, 32 bits */
    REGISTER(LEDS) = 1u << PIN_TIMESTAMP | 1u << PIN_DETECTED;
    __asm__ volatile("cpsid i"); /* interrupts wake the core, and nothing else */
    REGISTER(ENABLED) = 1u;
}

int board_read(int wait)
{
    const int character = mote_read();
    if (character == BOARD_NOTHING && wait) {
        __asm__ volatile("wfi");
        REGISTER(UART_STATUS) = 2u;
        REGISTER(PENDING) = 1u;
    }
    return character;
}

uint32_t board_microseconds(void)
{
    const uint32_t ticks = 0xFFFFFFFFu - REGISTER(DUAL_TIMER + 0x4);
    return (uint32_t)((uint64_t)ticks * 16u / 25u);
}

void board_set(int pin, int high)
{
    const uint32_t others = REGISTER(LEDS) & ~(1u << pin);
    REGISTER(LEDS) = others | (uint32_t)high << pin;
}
