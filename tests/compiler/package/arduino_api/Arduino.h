/* Arduino's documented API on this computer, as far as sketches of packages use it: docs.arduino.cc, Serial and millis.
 * Runs setup() and one loop(). */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stdio.h>

struct SerialPort {
    void begin(unsigned long baud) { open = baud > 0; }
    explicit operator bool() const { return open; }
    size_t print(const char *text) { return open ? (size_t)fputs(text, stdout) : 0; }
    bool open;
};

static SerialPort Serial;

static inline unsigned long millis(void) { return 0; }

void setup(void);
void loop(void);

int main(void) {
    setup();
    loop();
    return 0;
}

#endif
