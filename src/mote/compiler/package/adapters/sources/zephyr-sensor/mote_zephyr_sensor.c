/* mote_zephyr_sensor.c: see mote_zephyr_sensor.h. */
#include "mote_zephyr_sensor.h"

#include <errno.h>
#include <string.h>

#define MICRO 1000000

static mote_source_status failed(mote_zephyr_sensor_t *sensor, int code) {
    sensor->source.error = code;
    return MOTE_SOURCE_FAILED;
}

/* A value in steps of 1 / per_unit, rounded to the nearest, halves away from zero. */
static int16_t fixed(const struct sensor_value *value, int32_t per_unit) {
    const int64_t micro = (int64_t)value->val2 * per_unit;
    const int64_t rounded = (micro + (micro < 0 ? -MICRO / 2 : MICRO / 2)) / MICRO;
    const int64_t steps = (int64_t)value->val1 * per_unit + rounded;
    return (int16_t)(steps > INT16_MAX ? INT16_MAX : steps < INT16_MIN ? INT16_MIN : steps);
}

/* Fetches one frame, a sample of each channel: in one thread only. */
static void fetch(mote_zephyr_sensor_t *sensor) {
    const mote_zephyr_sensor_config_t *config = &sensor->config;
    uint32_t i;
    int code = sensor_sample_fetch(config->device);
    for (i = 0; code >= 0 && i < config->channel_count; i++) {
        struct sensor_value value = {0, 0};
        code = sensor_channel_get(config->device, config->channels[i], &value);
        sensor->frame[i] = fixed(&value, config->per_unit);
    }
    if (code < 0) sensor->failure = code;
    if (code < 0 || mote_half_buffers_put(&sensor->halves, sensor->frame, 2u * config->channel_count) != 0u)
        k_sem_give(&sensor->ready);
}

static void on_trigger(const struct device *device, const struct sensor_trigger *trigger) {
    (void)device;
    fetch((mote_zephyr_sensor_t *)(uintptr_t)((const char *)trigger - offsetof(mote_zephyr_sensor_t, trigger)));
}

static void on_work(struct k_work *work) {
    fetch((mote_zephyr_sensor_t *)(void *)((char *)work - offsetof(mote_zephyr_sensor_t, work)));
}

static void on_timer(struct k_timer *timer) {
    mote_zephyr_sensor_t *sensor = (mote_zephyr_sensor_t *)k_timer_user_data_get(timer);
    if (k_work_submit(&sensor->work) == 0) sensor->missed = sensor->missed + 1u; /* it was in the queue already */
}

static mote_source_status start(mote_source_t *source) {
    mote_zephyr_sensor_t *sensor = (mote_zephyr_sensor_t *)source;
    const mote_zephyr_sensor_config_t *config = &sensor->config;
    if (sensor->running != 0u) return MOTE_SOURCE_OK;
    source->lost = 0;
    if (!device_is_ready(config->device)) return failed(sensor, -ENODEV);
    if (config->channel_count == 0u || config->channel_count > MOTE_ZEPHYR_SENSOR_CHANNELS || config->count == 0u
        || config->count % config->channel_count != 0u)
        return failed(sensor, -EINVAL);
    mote_half_buffers_reset(&sensor->halves, config->memory, 2u * config->count, 0);
    sensor->missed_before = sensor->missed;
    sensor->failure = 0;
    (void)k_sem_init(&sensor->ready, 0, 1);
    if (config->triggered != 0) {
        const int code = sensor_trigger_set(config->device, &sensor->trigger, on_trigger);
        if (code < 0) return failed(sensor, code);
    } else {
        k_timer_start(&sensor->timer, K_USEC(config->period_us), K_USEC(config->period_us));
    }
    sensor->running = 1;
    return MOTE_SOURCE_OK;
}

/* Ticks of the timer at which no frame was taken: a gap is a block at least. */
static void count_missed(mote_zephyr_sensor_t *sensor) {
    const uint32_t missed = sensor->missed - sensor->missed_before;
    const uint32_t frames = sensor->config.count / sensor->config.channel_count;
    sensor->source.lost += (missed + frames - 1u) / frames;
    sensor->missed_before += missed;
}

/* A frame that could not be fetched is a gap, and is reported once. */
static int32_t take(mote_zephyr_sensor_t *sensor, const void **data) {
    const int failure = sensor->failure;
    if (failure != 0) {
        sensor->failure = 0;
        sensor->source.lost++;
        return (int32_t)failed(sensor, failure);
    }
    *data = mote_half_buffers_take(&sensor->halves, &sensor->source.lost);
    return *data == NULL ? 0 : (int32_t)sensor->config.count;
}

static int32_t read_block(mote_source_t *source, const void **data) {
    mote_zephyr_sensor_t *sensor = (mote_zephyr_sensor_t *)source;
    int32_t n;
    if (sensor->running == 0u) return MOTE_SOURCE_STOPPED;
    count_missed(sensor);
    n = take(sensor, data);
    if (n == 0 && sensor->config.wait != 0u && k_sem_take(&sensor->ready, K_MSEC(sensor->config.wait)) == 0)
        n = take(sensor, data);
    return n;
}

static mote_source_status stop(mote_source_t *source) {
    mote_zephyr_sensor_t *sensor = (mote_zephyr_sensor_t *)source;
    struct k_work_sync sync;
    int code = 0;
    if (sensor->running == 0u) return MOTE_SOURCE_OK;
    sensor->running = 0;
    if (sensor->config.triggered != 0) {
        code = sensor_trigger_set(sensor->config.device, &sensor->trigger, NULL);
    } else {
        k_timer_stop(&sensor->timer);
        (void)k_work_cancel_sync(&sensor->work, &sync);
    }
    return code < 0 ? failed(sensor, code) : MOTE_SOURCE_OK;
}

void mote_zephyr_sensor(mote_zephyr_sensor_t *sensor, const mote_zephyr_sensor_config_t *config) {
    memset(sensor, 0, sizeof *sensor);
    sensor->config = *config;
    sensor->trigger.type = SENSOR_TRIG_DATA_READY;
    sensor->trigger.chan = SENSOR_CHAN_ALL;
    k_work_init(&sensor->work, on_work);
    k_timer_init(&sensor->timer, on_timer, NULL);
    k_timer_user_data_set(&sensor->timer, sensor);
    sensor->source.start = start;
    sensor->source.read = read_block;
    sensor->source.stop = stop;
}
