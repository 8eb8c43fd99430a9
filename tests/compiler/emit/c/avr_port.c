/* Standard output of an ATmega, through its first UART. A simulator ends where the core sleeps without interrupts. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdio.h>

int selftest_main(void);

static int put(char c, FILE *file) {
    (void)file;
    loop_until_bit_is_set(UCSR0A, UDRE0);
    UDR0 = (uint8_t)c;
    return 0;
}

static FILE uart = FDEV_SETUP_STREAM(put, NULL, _FDEV_SETUP_WRITE);

int main(void) {
    UCSR0B = _BV(TXEN0);
    stdout = &uart;
    (void)selftest_main();
    (void)putchar('\n'); /* the simulator prints whole lines */
    cli();
    sleep_mode();
    return 0;
}
