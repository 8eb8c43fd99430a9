/* RP2040: the boot ROM copies the first 256 bytes of flash to RAM and runs them. They set up execution in place with the
 * serial read command 03h, which all flash chips know, and start the program behind them. */
    .syntax unified
    .cpu cortex-m0plus
    .thumb

    .equ SSI, 0x18000000
    .equ CTRLR0, 0x00
    .equ CTRLR1, 0x04
    .equ SSIENR, 0x08
    .equ BAUDR, 0x14
    .equ SPI_CTRLR0, 0xF4

    .section .mote.stage, "ax", %progbits
    .thumb_func
    ldr r0, =SSI
    movs r1, #0
    str r1, [r0, #SSIENR]       /* off, to be set up */
    movs r2, #4
    str r2, [r0, #BAUDR]        /* a fourth of the system's clock */
    ldr r2, =0x001F0300         /* frames of 32 bits; EEPROM reads; one wire */
    str r2, [r0, #CTRLR0]
    str r1, [r0, #CTRLR1]       /* one frame for each read */
    ldr r2, =0x03000218         /* command 03h of 8 bits, addresses of 24, no wait */
    movs r3, #SPI_CTRLR0
    str r2, [r0, r3]
    movs r1, #1
    str r1, [r0, #SSIENR]
    ldr r0, =0x10000100         /* the vectors behind these 256 bytes */
    ldr r1, =0xE000ED08         /* VTOR */
    str r0, [r1]
    ldm r0!, {r1, r2}
    msr msp, r1
    bx r2
    .ltorg
