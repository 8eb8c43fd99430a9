/* The agent over a Stream of Arduino. The counter is the core's, or micros() where there is none. */
#if defined(ARDUINO)
#include "mote_agent_arduino.h"
#include "mote_counter.h"

#if defined(__AVR__)
#include <avr/wdt.h>
#endif

static Stream *line;
static int pin = -1;
static uint8_t level;
static uint32_t hz; /* of the core's counter; 0: it has none */
#if defined(__AVR__)
static uint32_t boots __attribute__((section(".noinit")));
#else
static uint32_t boots;
#endif

#if defined(ARDUINO_ARCH_ESP32) || defined(ARDUINO_ARCH_ESP8266)
static bool start_counter() { return true; }

static uint32_t counted() { return ESP.getCycleCount(); }
#elif defined(ARDUINO_ARCH_RP2040) && defined(PICO_SDK_VERSION_MAJOR) && !defined(ARDUINO_ARCH_MBED)
static bool start_counter() { return true; }

static uint32_t counted() { return rp2040.getCycleCount(); }
#else
static bool start_counter() { return mote_counter_start() != 0; }

static uint32_t counted() { return mote_counter_read(); }
#endif

/* The core's clock, by micros(). */
static uint32_t measured() {
    const uint32_t began = (uint32_t)micros(), from = counted();
    uint32_t passed;
    do {
        passed = (uint32_t)micros() - began;
    } while (passed < 20000u);
    return (uint32_t)((uint64_t)(counted() - from) * 1000000u / passed);
}

void mote_agent_begin(Stream &stream, int mark_pin) {
    line = &stream;
    pin = mark_pin;
    if (pin >= 0) {
        pinMode((uint8_t)pin, OUTPUT);
    }
    boots = boots * 1664525u + (uint32_t)micros() + 1u;
    hz = start_counter() ? measured() : 0u;
    mote_agent_reset();
}

int mote_port_read(void) { return line->read(); }

void mote_port_write(const uint8_t *data, uint32_t bytes) { (void)line->write(data, (size_t)bytes); }

uint32_t mote_port_cycles(void) { return hz > 0 ? counted() : (uint32_t)micros(); }

void mote_port_mark(unsigned step) {
    (void)step;
    if (pin >= 0) {
        level ^= 1u;
        digitalWrite((uint8_t)pin, level);
    }
}

void mote_port_restart(void) {
    line->flush();
    delay(10);
#if defined(ARDUINO_ARCH_ESP32) || defined(ARDUINO_ARCH_ESP8266)
    ESP.restart();
#elif defined(__AVR__)
    wdt_enable(WDTO_15MS);
    for (;;) {
    }
#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
    __asm__ volatile("dsb" : : : "memory");
    MOTE_REGISTER(0xE000ED0Cu) = 0x05FA0004u; /* AIRCR: SYSRESETREQ */
    for (;;) {
    }
#endif
}

void mote_port_fresh_caches(void) {}

void mote_port_new_code(void) {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
    __asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
}

void mote_port_identify(mote_agent_identity *identity) {
    identity->core = mote_core_id();
#if defined(F_CPU)
    identity->clock_hz = hz > 0 ? hz : (uint32_t)F_CPU;
#else
    identity->clock_hz = hz;
#endif
    identity->counter = hz > 0 && MOTE_COUNTER != MOTE_COUNTER_NONE ? MOTE_COUNTER : MOTE_COUNTER_HOOK;
    identity->counter_hz = hz > 0 ? hz : 1000000u;
    identity->flash_waits = 0xffffffffu;
    identity->boots = boots;
}

uint8_t *mote_port_stack(void) { return 0; }
#endif
