/* RP2350: the block in the first 4 KB of flash that tells the boot ROM what the image is. */
    .section .mote.image, "a", %progbits
    .balign 4
    .word 0xFFFFDED3            /* a block begins */
    .word 0x10210142            /* item IMAGE_DEF of one word: executable, secure, Arm, RP2350 */
    .word 0x000001FF            /* no more items: one word of them */
    .word 0x00000000            /* the next block is this one */
    .word 0xAB123579            /* the block ends */
