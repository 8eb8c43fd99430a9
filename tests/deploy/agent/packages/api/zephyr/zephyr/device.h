#ifndef ZEPHYR_INCLUDE_DEVICE_H_
#define ZEPHYR_INCLUDE_DEVICE_H_

struct device {
    const char *name;
};

static const struct device own_uart = {"uart"};

#define DEVICE_DT_GET(node) (&node)

#endif
