/* An accelerometer of Zephyr, by a timer and by its trigger. */
#include "expect.h"
#include "mote_zephyr_sensor.h"

enum { FRAMES = 5, COUNT = 3 * FRAMES };

static const enum sensor_channel axes[] = {SENSOR_CHAN_ACCEL_X, SENSOR_CHAN_ACCEL_Y, SENSOR_CHAN_ACCEL_Z};
static const struct device device = {"accelerometer"};
static struct sensor_value values[3];
static int16_t memory[2 * COUNT];
static int ready = 1, fails, busy, samples;
static struct k_timer *timer;
static const struct sensor_trigger *trigger;
static sensor_trigger_handler_t handler;

bool device_is_ready(const struct device *dev) { return dev == &device && ready; }
int sensor_trigger_set(const struct device *dev, const struct sensor_trigger *trig, sensor_trigger_handler_t given) {
    EXPECT(dev == &device && trig->type == SENSOR_TRIG_DATA_READY);
    if (fails == 1) return -ENOTSUP;
    trigger = trig;
    handler = given;
    return 0;
}
int sensor_sample_fetch(const struct device *dev) {
    EXPECT(dev == &device);
    return fails == 2 ? -EIO : 0;
}
int sensor_channel_get(const struct device *dev, enum sensor_channel chan, struct sensor_value *val) {
    EXPECT(dev == &device);
    *val = values[chan];
    return fails == 3 ? -ENOTSUP : 0;
}
int k_sem_init(struct k_sem *sem, unsigned int initial_count, unsigned int limit) {
    EXPECT(limit == 1);
    sem->count = initial_count;
    return 0;
}
static void sample(void);
static int waits;
int k_sem_take(struct k_sem *sem, k_timeout_t timeout) {
    EXPECT(timeout.microseconds == 20000);
    for (int i = 0; i < waits && sem->count == 0; i++) sample();
    if (sem->count == 0) return -EAGAIN;
    sem->count = 0;
    return 0;
}
void k_sem_give(struct k_sem *sem) { sem->count = 1; }
void k_work_init(struct k_work *work, k_work_handler_t given) {
    work->handler = given;
    work->queued = 0;
}
int k_work_submit(struct k_work *work) {
    if (work->queued) return 0;
    work->queued = busy;
    if (!busy) work->handler(work);
    return 1;
}
bool k_work_cancel_sync(struct k_work *work, struct k_work_sync *sync) {
    EXPECT(sync != NULL);
    work->queued = 0;
    return false;
}
void k_timer_init(struct k_timer *given, k_timer_expiry_t expiry_fn, k_timer_stop_t stop_fn) {
    EXPECT(stop_fn == NULL);
    given->expiry = expiry_fn;
}
void k_timer_start(struct k_timer *given, k_timeout_t duration, k_timeout_t period) {
    EXPECT(duration.microseconds == 10000 && period.microseconds == 10000);
    timer = given;
}
void k_timer_stop(struct k_timer *given) {
    EXPECT(given == timer);
    timer = NULL;
}
void k_timer_user_data_set(struct k_timer *given, void *user_data) { given->user_data = user_data; }
void *k_timer_user_data_get(const struct k_timer *given) { return given->user_data; }

/* Steps of a thousandth: X counts up, Y counts down, Z is out of range. */
static void sample(void) {
    values[0].val1 = samples / 1000;
    values[0].val2 = samples % 1000 * 1000 + 400; /* rounds down */
    values[1].val1 = -(samples / 1000);
    values[1].val2 = -(samples % 1000) * 1000 - 499;
    values[2].val1 = samples % 2 ? 2000000000 : -2000000000;
    values[2].val2 = 0;
    samples++;
    if (timer != NULL) timer->expiry(timer);
    if (handler != NULL) handler(&device, trigger);
}
static int frames(const void *data, int first) {
    const int16_t *got = (const int16_t *)data;
    for (int i = 0; i < FRAMES; i++) {
        if (got[3 * i] != first + i || got[3 * i + 1] != -(first + i)) return 0;
        if (got[3 * i + 2] != ((first + i) % 2 ? INT16_MAX : INT16_MIN)) return 0;
    }
    return 1;
}

static void stream(int triggered) {
    mote_zephyr_sensor_t sensor;
    mote_source_t *source = &sensor.source;
    const mote_zephyr_sensor_config_t config = {&device, axes, 3, 1000, triggered, 10000, memory, COUNT, 0};
    mote_zephyr_sensor_config_t waiting = config;
    const void *data = NULL;
    int first;
    samples = 0;
    mote_zephyr_sensor(&sensor, &config);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED && mote_source_stop(source) == MOTE_SOURCE_OK);
    ready = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == -ENODEV);
    ready = 1;
    fails = triggered;
    if (triggered) EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == -ENOTSUP);
    fails = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && mote_source_start(source) == MOTE_SOURCE_OK);
    for (int i = 0; i < 100; i++) {
        sample();
        EXPECT(mote_source_read(source, &data) == (i % FRAMES == FRAMES - 1 ? COUNT : 0));
        if (i % FRAMES == FRAMES - 1) EXPECT(frames(data, i - FRAMES + 1));
    }
    EXPECT(source->lost == 0);
    EXPECT(mote_source_read(source, &data) == 0); /* gives the block back */
    for (int i = 0; i < 4 * FRAMES; i++) sample(); /* nobody reads: two blocks have a place */
    EXPECT(mote_source_read(source, &data) == COUNT && frames(data, 100) && source->lost == 2);
    EXPECT(mote_source_read(source, &data) == COUNT && frames(data, 105) && source->lost == 2);
    for (fails = 2; fails <= 3; fails++) {
        sample();
        EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_FAILED && source->error == (fails == 2 ? -EIO : -ENOTSUP));
        EXPECT(mote_source_read(source, &data) == 0 && source->lost == (uint32_t)fails + 1u);
    }
    fails = 0;
    if (!triggered) { /* the work queue does not come to it: the first sample waits there, seven ticks are missed */
        busy = 1;
        for (int i = 0; i < 8; i++) sample();
        busy = 0;
        EXPECT(mote_source_read(source, &data) == 0 && source->lost == 4 + 2);
        sensor.work.queued = 0;
        sensor.work.handler(&sensor.work);
    }
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK && timer == NULL && handler == NULL);
    waiting.wait = 20;
    mote_zephyr_sensor(&sensor, &waiting);
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && mote_source_read(source, &data) == 0);
    waits = FRAMES;
    first = samples;
    EXPECT(mote_source_read(source, &data) == COUNT && frames(data, first)); /* it comes while the read waits */
    waits = 0;
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK);
    waiting.count = COUNT + 1;
    mote_zephyr_sensor(&sensor, &waiting);
    EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == -EINVAL);
}

int main(void) {
    stream(0);
    stream(1);
    puts("passed");
    return 0;
}
