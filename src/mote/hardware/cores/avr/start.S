/* Start-up for the AVR cores of the harness: the stack, the initial values of variables, then harness_main. */
#include <avr/io.h>

    .section .mote.vectors, "ax", @progbits
    .global mote_start
mote_start:
    clr r1
    out _SFR_IO_ADDR(SREG), r1
    ldi r28, lo8(mote_stack_top - 1)
    ldi r29, hi8(mote_stack_top - 1)
    out _SFR_IO_ADDR(SPH), r29
    out _SFR_IO_ADDR(SPL), r28

    .macro copy from, to, end
    ldi r26, lo8(\to)
    ldi r27, hi8(\to)
    ldi r30, lo8(\from)
    ldi r31, hi8(\from)
#ifdef RAMPZ
    ldi r16, hh8(\from)
    out _SFR_IO_ADDR(RAMPZ), r16
#endif
    ldi r18, lo8(\end)
    ldi r19, hi8(\end)
    rjmp 2f
1:
#ifdef RAMPZ
    elpm r0, Z+
#else
    lpm r0, Z+
#endif
    st X+, r0
2:  cp r26, r18
    cpc r27, r19
    brne 1b
    .endm

    copy mote_glue_image, mote_glue_start, mote_glue_end
    copy mote_data_image, mote_data_start, mote_data_end
    ldi r26, lo8(mote_bss_start)
    ldi r27, hi8(mote_bss_start)
    ldi r18, lo8(mote_bss_end)
    ldi r19, hi8(mote_bss_end)
    rjmp 2f
1:  st X+, r1
2:  cp r26, r18
    cpc r27, r19
    brne 1b
#ifdef RAMPZ
    out _SFR_IO_ADDR(RAMPZ), r1
#endif
    call harness_main
    call port_exit
