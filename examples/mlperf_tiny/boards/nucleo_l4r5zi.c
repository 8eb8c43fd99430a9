/* nucleo_l4r5zi.c: the benchmark's reference board, whose registers nucleo_l4r5zi.toml sets up (RM0432). */
#include "firmware.h"
#include "mlperf.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIM2_CNT 0x40000024u /* microseconds */
#define PORT_B 0x48000400u
#define PORT_E 0x48001000u
#define PORT_F 0x48001400u
#define BSRR 0x18u /* sets the bits 0 to 15, clears them by the bits 16 to 31 */

static const struct {
    uint32_t port, bit;
} pins[] = {
    [PIN_TIMESTAMP] = {PORT_F, 13}, /* D7 */
    [PIN_PROCESSING] = {PORT_E, 9}, /* D6 */
    [PIN_DETECTED] = {PORT_B, 8},   /* D15 */
};

void board_begin(void)
{
    board_set(PIN_TIMESTAMP, 1);
    board_set(PIN_DETECTED, 1);
}

int board_read(int wait)
{
    (void)wait;
    return mote_read();
}

uint32_t board_microseconds(void)
{
    return REGISTER(TIM2_CNT);
}

void board_set(int pin, int high)
{
    REGISTER(pins[pin].port + BSRR) = 1u << (pins[pin].bit + (high ? 0u : 16u));
}
