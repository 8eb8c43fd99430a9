/* The part of Arduino's documented API that the agent's sketch uses, over standard input and output. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

#include "line.h"

#define OUTPUT 1

class Stream {
public:
    int read() {
        uint8_t byte;
        return line_take(&byte, 1, 1) == 1 ? byte : -1;
    }
    size_t write(const uint8_t *data, size_t bytes) { return (size_t)line_give(data, (uint32_t)bytes); }
    void flush() {}
};

class SerialPort : public Stream {
public:
    void begin(unsigned long baud) { open = baud > 0; }
    explicit operator bool() const { return open; }
    bool open;
};

extern SerialPort Serial;

static inline unsigned long micros() { return (unsigned long)(line_nanoseconds() / 1000u); }
static inline unsigned long millis() { return micros() / 1000u; }
static inline void delay(unsigned long ms) { (void)poll(NULL, 0, (int)ms); }
static inline void pinMode(uint8_t pin, uint8_t mode) { (void)pin, (void)mode; }
static inline void digitalWrite(uint8_t pin, uint8_t level) { (void)pin, (void)level; }

void setup(void);
void loop(void);

#endif
