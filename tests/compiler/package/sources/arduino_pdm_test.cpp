/* Arduino's PDM library, which holds one buffer. */
#include <PDM.h>

#include "expect.h"
#include "mote_arduino_pdm.h"

enum { COUNT = 160, PIECE = 128 };

static int16_t piece[PIECE], next_sample;
static size_t at = sizeof piece;
static int begun, fails, gain = -2;
static void (*on_receive)(void);

PDMClass PDM;
int PDMClass::begin(int channels, int sampleRate) {
    EXPECT(on_receive != NULL && channels == 1 && sampleRate == 16000);
    begun = !fails;
    return begun;
}
void PDMClass::end() { begun = 0; }
int PDMClass::available() { return (int)(sizeof piece - at); }
int PDMClass::read(void *buffer, size_t size) {
    const size_t n = size < sizeof piece - at ? size : sizeof piece - at;
    memcpy(buffer, (const uint8_t *)piece + at, n);
    at += n;
    return (int)n;
}
void PDMClass::onReceive(void (*function)(void)) { on_receive = function; }
void PDMClass::setGain(int given) { gain = given; }

static void sound() {
    if (!begun) return;
    for (int i = 0; i < PIECE; i++) piece[i] = next_sample++;
    at = 0;
    on_receive();
    EXPECT(at == sizeof piece); /* everything was taken */
}

int main() {
    static int16_t memory[2 * COUNT];
    mote_arduino_pdm_t microphone, other;
    mote_source_t *source = &microphone.source;
    mote_arduino_pdm_config_t config = {1, 16000, -1, memory, COUNT};
    const void *data = NULL;
    int16_t expected = 0;
    uint32_t lost;
    mote_arduino_pdm(&microphone, &config);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED && mote_source_stop(source) == MOTE_SOURCE_OK);
    fails = 1;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == MOTE_ARDUINO_PDM_NOT_BEGUN);
    fails = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && mote_source_start(source) == MOTE_SOURCE_OK && gain == -2);
    mote_arduino_pdm(&other, &config);
    EXPECT(mote_source_start(&other.source) == MOTE_SOURCE_FAILED && other.source.error == MOTE_ARDUINO_PDM_IN_USE);
    for (int i = 0; i < 50; i++) {
        sound();
        while (mote_source_read(source, &data) == COUNT)
            for (int k = 0; k < COUNT; k++) EXPECT(((const int16_t *)data)[k] == expected++);
    }
    EXPECT(expected == 50 * PIECE && source->lost == 0);
    for (int i = 0; i < 5; i++) sound(); /* four blocks, of which two have a place */
    EXPECT(mote_source_read(source, &data) == COUNT && ((const int16_t *)data)[0] == expected && source->lost == 2);
    lost = source->lost;
    EXPECT(mote_source_stop(&other.source) == MOTE_SOURCE_OK && begun); /* not its own */
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK && !begun && source->lost == lost);
    config.gain = 30;
    config.count = 0;
    mote_arduino_pdm(&other, &config);
    EXPECT(mote_source_start(&other.source) == MOTE_SOURCE_FAILED && other.source.error == MOTE_ARDUINO_PDM_BLOCK);
    config.count = COUNT;
    mote_arduino_pdm(&other, &config);
    EXPECT(mote_source_start(&other.source) == MOTE_SOURCE_OK && gain == 30);
    EXPECT(mote_source_stop(&other.source) == MOTE_SOURCE_OK);
    puts("passed");
    return 0;
}
