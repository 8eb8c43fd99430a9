/* nucleo_l4r5zi.c: the benchmark's reference board, whose registers nucleo_l4r5zi.toml sets up (RM0432). */
#include "firmware.h"
#include "mlperf.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIM2_CNT 0x40000024u   /* microseconds */
#define GPIOF_BSRR 0x48001418u /* PF13, which the board calls D7 */
#define D7_HIGH (1u << 13)
#define D7_LOW (1u << 29)

void board_begin(void)
{
    REGISTER(GPIOF_BSRR) = D7_HIGH;
}

int board_read(void)
{
    return mote_read();
}

uint32_t board_microseconds(void)
{
    return REGISTER(TIM2_CNT);
}

void board_pulse(void)
{
    const uint32_t begin = board_microseconds();
    REGISTER(GPIOF_BSRR) = D7_LOW;
    while (board_microseconds() - begin < 2u) {
    }
    REGISTER(GPIOF_BSRR) = D7_HIGH;
}
