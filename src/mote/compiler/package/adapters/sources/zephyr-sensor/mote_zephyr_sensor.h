/* mote_zephyr_sensor.h: a sensor of Zephyr as a source (CONFIG_SENSOR, <zephyr/drivers/sensor.h>), at a fixed rate or
 * whenever the sensor says that it has data.
 *
 *     static const enum sensor_channel axes[] = {SENSOR_CHAN_ACCEL_X, SENSOR_CHAN_ACCEL_Y, SENSOR_CHAN_ACCEL_Z};
 *     static int16_t memory[2 * 3 * 25]; // halves of 25 frames of three channels
 *     static mote_zephyr_sensor_t accelerometer;
 *     const mote_zephyr_sensor_config_t config = {
 *         DEVICE_DT_GET(DT_ALIAS(accel0)), axes, 3, 1000, 0, 10000, memory, 3 * 25, 1000};
 *     mote_zephyr_sensor(&accelerometer, &config);
 *
 * A timer, or the sensor's data-ready trigger (CONFIG_*_TRIGGER of its driver), has the sample fetched in a thread of
 * Zephyr's: the system work queue, or the one of the driver. No sample is taken while that thread does not get the CPU;
 * ticks of the timer that found the sample before not even begun are counted as lost. Work that takes long belongs to a
 * thread of a lower priority than the work queue's. */
#ifndef MOTE_ZEPHYR_SENSOR_H
#define MOTE_ZEPHYR_SENSOR_H

#include <zephyr/drivers/sensor.h>
#include <zephyr/kernel.h>

#include "mote_half_buffers.h"
#include "mote_source.h"

#ifndef MOTE_ZEPHYR_SENSOR_CHANNELS
#define MOTE_ZEPHYR_SENSOR_CHANNELS 9 /* at most */
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const struct device *device;
    const enum sensor_channel *channels; /* each of one value */
    uint32_t channel_count;
    int32_t per_unit;   /* 1000: values are in thousandths of the channel's unit (m/s^2, rad/s, gauss); they saturate */
    int triggered;      /* 1: by SENSOR_TRIG_DATA_READY; 0: by a timer */
    uint32_t period_us; /* of the timer */
    int16_t *memory;    /* of 2 * `count` values */
    uint32_t count;     /* values of a half, which are the blocks that are read: a multiple of channel_count */
    uint32_t wait;      /* milliseconds that a read waits for a block; 0: none */
} mote_zephyr_sensor_config_t;

typedef struct {
    mote_source_t source;
    mote_zephyr_sensor_config_t config;
    mote_half_buffers_t halves;
    struct sensor_trigger trigger;
    struct k_timer timer;
    struct k_work work;
    struct k_sem ready;
    int16_t frame[MOTE_ZEPHYR_SENSOR_CHANNELS];
    volatile uint32_t missed; /* written by the timer */
    uint32_t missed_before;
    volatile int failure; /* written where samples are fetched, cleared by the reader */
    uint8_t running;
} mote_zephyr_sensor_t;

/* Makes a source that does not run yet. */
void mote_zephyr_sensor(mote_zephyr_sensor_t *sensor, const mote_zephyr_sensor_config_t *config);

#ifdef __cplusplus
}
#endif

#endif
