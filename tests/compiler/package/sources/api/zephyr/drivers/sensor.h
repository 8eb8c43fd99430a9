/* zephyr/drivers/sensor.h: what sources use of it, declared from Zephyr's documentation. */
#ifndef ZEPHYR_INCLUDE_DRIVERS_SENSOR_H_
#define ZEPHYR_INCLUDE_DRIVERS_SENSOR_H_

#include <zephyr/kernel.h>

struct sensor_value {
    int32_t val1; /* the integer part */
    int32_t val2; /* the rest, in millionths, of the same sign */
};
enum sensor_channel { SENSOR_CHAN_ACCEL_X, SENSOR_CHAN_ACCEL_Y, SENSOR_CHAN_ACCEL_Z, SENSOR_CHAN_ALL = 60 };
enum sensor_trigger_type { SENSOR_TRIG_TIMER, SENSOR_TRIG_DATA_READY };
struct sensor_trigger {
    enum sensor_trigger_type type;
    enum sensor_channel chan;
};
typedef void (*sensor_trigger_handler_t)(const struct device *dev, const struct sensor_trigger *trigger);
int sensor_trigger_set(const struct device *dev, const struct sensor_trigger *trig, sensor_trigger_handler_t handler);
int sensor_sample_fetch(const struct device *dev);
int sensor_channel_get(const struct device *dev, enum sensor_channel chan, struct sensor_value *val);

#endif
