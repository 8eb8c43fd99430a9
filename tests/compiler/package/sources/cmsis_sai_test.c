/* A CMSIS-Driver for serial audio whose transfers end when the test says so. */
#include "expect.h"
#include "mote_cmsis_sai.h"

enum { COUNT = 16, INITIALIZE = 1, POWER, CONFIGURE, ENABLE, RECEIVE };

static int16_t memory[2 * COUNT], *to, next;
static int fails, on, powered, enabled, receives;
static ARM_SAI_SignalEvent_t signal_event;
static mote_cmsis_sai_t microphone;

static void on_event(uint32_t event) { mote_cmsis_sai_event(&microphone, event); }
static int32_t initialize(ARM_SAI_SignalEvent_t cb_event) {
    signal_event = cb_event;
    on = 1;
    return fails == INITIALIZE ? ARM_DRIVER_ERROR : ARM_DRIVER_OK;
}
static int32_t uninitialize(void) {
    on = 0;
    return ARM_DRIVER_OK;
}
static int32_t power(ARM_POWER_STATE state) {
    powered = state == ARM_POWER_FULL;
    return fails == POWER && powered ? ARM_DRIVER_ERROR : ARM_DRIVER_OK;
}
static int32_t receive(void *data, uint32_t num) {
    EXPECT(num == COUNT && enabled && to == NULL);
    EXPECT(data == memory || data == memory + COUNT);
    receives++;
    if (fails == RECEIVE) return ARM_DRIVER_ERROR_BUSY;
    to = (int16_t *)data;
    return ARM_DRIVER_OK;
}
static int32_t control(uint32_t what, uint32_t arg1, uint32_t arg2) {
    if (what == ARM_SAI_ABORT_RECEIVE) to = NULL;
    if (what == ARM_SAI_CONTROL_RX) {
        enabled = arg1 == 1;
        if (fails == ENABLE && enabled) return ARM_DRIVER_ERROR;
    }
    if ((what & 0xFFu) == ARM_SAI_CONFIGURE_RX) {
        EXPECT(what == (ARM_SAI_CONFIGURE_RX | ARM_SAI_MODE_MASTER | ARM_SAI_PROTOCOL_I2S | ARM_SAI_DATA_SIZE(16)));
        EXPECT(arg1 == 5 && arg2 == 16000);
        if (fails == CONFIGURE) return ARM_DRIVER_ERROR;
    }
    return ARM_DRIVER_OK;
}
static ARM_DRIVER_SAI driver = {NULL, NULL, initialize, uninitialize, power, NULL, receive, NULL, NULL, control, NULL};

static void sound(uint32_t also) {
    if (to == NULL) return;
    for (int i = 0; i < COUNT; i++) to[i] = next++;
    to = NULL;
    signal_event(ARM_SAI_EVENT_RECEIVE_COMPLETE | also);
}

int main(void) {
    mote_source_t *source = &microphone.source;
    const mote_cmsis_sai_config_t config = {
        &driver, on_event, ARM_SAI_MODE_MASTER | ARM_SAI_PROTOCOL_I2S | ARM_SAI_DATA_SIZE(16), 5, 16000, memory, COUNT};
    const void *data = NULL;
    mote_cmsis_sai(&microphone, &config);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED && mote_source_stop(source) == MOTE_SOURCE_OK);
    for (fails = INITIALIZE; fails <= RECEIVE; fails++) {
        EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error < 0 && !on && !powered && !enabled);
        EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED);
    }
    fails = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && mote_source_start(source) == MOTE_SOURCE_OK);
    EXPECT(mote_source_read(source, &data) == 0);
    for (int i = 0; i < 1000; i++) {
        sound(0);
        EXPECT(mote_source_read(source, &data) == COUNT && *(const int16_t *)data == (int16_t)(i * COUNT));
        EXPECT(mote_source_read(source, &data) == 0);
    }
    EXPECT(source->lost == 0);
    sound(ARM_SAI_EVENT_RX_OVERFLOW);
    EXPECT(mote_source_read(source, &data) == COUNT && source->lost == 1);
    next = 0;
    for (int i = 0; i < 6; i++) sound(0); /* one half is held, so that none of these has a place */
    EXPECT(*(const int16_t *)data == (int16_t)(1000 * COUNT));
    EXPECT(mote_source_read(source, &data) == 0 && source->lost == 1 + 6);
    sound(0);
    EXPECT(mote_source_read(source, &data) == COUNT && *(const int16_t *)data == 6 * COUNT && source->lost == 7);
    EXPECT(mote_source_read(source, &data) == 0);
    fails = RECEIVE; /* the next transfer does not start: what was received is read, then the source has failed */
    sound(0);
    EXPECT(mote_source_read(source, &data) == COUNT && source->lost == 7);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_FAILED && source->error == ARM_DRIVER_ERROR_BUSY);
    fails = 0;
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK && !on && !powered && !enabled);
    receives = 0;
    on_event(ARM_SAI_EVENT_RECEIVE_COMPLETE); /* late */
    EXPECT(receives == 0 && mote_source_start(source) == MOTE_SOURCE_OK && source->lost == 0);
    next = 0;
    sound(0);
    EXPECT(mote_source_read(source, &data) == COUNT && *(const int16_t *)data == 0);
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK);
    puts("passed");
    return 0;
}
