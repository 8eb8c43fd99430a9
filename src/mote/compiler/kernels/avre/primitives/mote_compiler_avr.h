/* mote_compiler_avr.h: mote_compiler.h on AVR, whose program memory is read by an instruction of its own. Constants lie in
 * its first 64 KB. */
#ifndef MOTE_COMPILER_AVR_H
#define MOTE_COMPILER_AVR_H

#if defined(__AVR__)
#define MOTE_FLASH __attribute__((__progmem__))
#define MOTE_FLASH_APART

static inline uint8_t mote_flash_byte(const void *from) {
    uint8_t value;
    __asm__("lpm %0, Z" : "=r"(value) : "z"(from));
    return value;
}

static inline uint16_t mote_flash_half(const void *from) {
    uint16_t value;
    __asm__("lpm %A0, Z+\n\tlpm %B0, Z" : "=&r"(value), "+z"(from));
    return value;
}

static inline uint32_t mote_flash_word(const void *from) {
    uint32_t value;
    __asm__("lpm %A0, Z+\n\tlpm %B0, Z+\n\tlpm %C0, Z+\n\tlpm %D0, Z" : "=&r"(value), "+z"(from));
    return value;
}

#define mote_flash_u8(from) mote_flash_byte(from)
#define mote_flash_s8(from) ((int8_t)mote_flash_byte(from))
#define mote_flash_u16(from) mote_flash_half(from)
#define mote_flash_s16(from) ((int16_t)mote_flash_half(from))
#define mote_flash_u32(from) mote_flash_word(from)
#define mote_flash_s32(from) ((int32_t)mote_flash_word(from))

__attribute__((noinline, unused)) static void mote_flash_copy(void *to, const void *from, size_t bytes) {
    uint8_t *t = (uint8_t *)to;
    const uint8_t *f = (const uint8_t *)from;
    for (; bytes > 0; bytes--) {
        uint8_t value;
        __asm__("lpm %0, Z+" : "=r"(value), "+z"(f));
        *t++ = value;
    }
}
#endif

#endif
