#include <Arduino.h>

SerialPort Serial;

int main(void) {
    setup();
    for (;;) {
        loop();
    }
}
