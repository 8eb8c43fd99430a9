/* Start-up, traps and semihosting for the LX106 in QEMU. The core begins at 0x50000000, exceptions at fixed places behind the
 * vector base. */
    .section .reset, "ax", @progbits
    .global mote_reset
mote_reset:
    j 1f
    .balign 4
2:  .word mote_start
1:  l32r a0, 2b
    jx a0

    .section .mote.vectors, "ax", @progbits
mote_vectors:
    .org 0x30
    j mote_trap                 /* an exception of the kernel mode */
    .org 0x50
    j mote_trap                 /* of the user mode */
    .org 0x70
    j mote_trap                 /* in another one */
    .org 0x80
    .literal_position
    .global mote_start
mote_start:
    movi a2, mote_vectors
    wsr a2, vecbase
    movi a2, 0
    wsr a2, ps
    rsync
    movi a1, mote_stack_top
    movi a0, mote_boot
    callx0 a0

mote_trap:
    rsr a2, exccause
    rsr a3, epc1
    movi a1, mote_stack_top     /* the old stack may be what went wrong */
    movi a0, 0x10
    rsr a4, ps
    or a4, a4, a0
    xor a4, a4, a0              /* no longer in an exception */
    wsr a4, ps
    rsync
    movi a0, mote_fault
    callx0 a0

/* int mote_semihost(int operation, const void *block): the operations of Arm by those of Xtensa's simulator. */
    .section .text.mote_semihost, "ax", @progbits
    .literal_position
    .balign 4
    .global mote_semihost
    .type mote_semihost, @function
mote_semihost:
    mov a6, a2
    mov a7, a3
    l32i a3, a7, 0
    l32i a4, a7, 4
    bnei a6, 1, 1f
    mov a8, a4                  /* open: name, flags, mode */
    movi a4, 0
    beqi a8, 1, 2f
    movi a4, 577                /* to write, created or emptied */
2:  movi a5, 420
    movi a2, 5
    simcall
    ret
1:  bnei a6, 5, 3f
    l32i a5, a7, 8
    movi a2, 4                  /* write */
    j 4f
3:  bnei a6, 6, 5f
    l32i a5, a7, 8
    movi a2, 3                  /* read */
4:  simcall
    l32i a5, a7, 8
    sub a2, a5, a2              /* what is left over */
    ret
5:  mov a3, a4
    movi a2, 1                  /* exit */
    simcall
    j 5b
