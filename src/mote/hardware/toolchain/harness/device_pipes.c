/* Calls of simulated accelerators over two pipes; toolchain/devices.py answers.
 *
 * A call is two words (the length of the device's name, the number of areas), the name, a word for the size of each area,
 * and the areas. The answer is two words (1: go on, and the error code), then for each area a word that says whether it
 * has changed, followed by the area where it has. Like main.c, this file calls no library. */
#include "mote_device.h"
#include "port.h"

enum { NOT_ANSWERED = 5 };

static void give(const void *data, size_t bytes)
{
    if (port_device_write(data, bytes) != 0)
        port_exit(NOT_ANSWERED);
}

static void take(void *data, size_t bytes)
{
    if (port_device_read(data, bytes) != 0)
        port_exit(NOT_ANSWERED);
}

static int called(const char *device, void *const *memory, const uint32_t *bytes, uint32_t count)
{
    static int opened;
    uint32_t words[2] = {0, count};
    while (device[words[0]] != '\0')
        words[0]++;
    if (!opened && port_device_open() != 0)
        port_exit(NOT_ANSWERED);
    opened = 1;
    give(words, sizeof words);
    give(device, words[0]);
    give(bytes, count * sizeof *bytes);
    for (uint32_t i = 0; i < count; i++)
        give(memory[i], bytes[i]);
    take(words, sizeof words);
    if (words[0] != 1)
        port_exit(NOT_ANSWERED);
    const uint32_t status = words[1];
    for (uint32_t i = 0; i < count; i++) {
        take(words, sizeof words[0]);
        if (words[0] != 0)
            take(memory[i], bytes[i]);
    }
    return (int)(int32_t)status;
}

/* The time that a call takes is not the core's. */
int mote_device_call(const char *device, void *const *memory, const uint32_t *bytes, uint32_t count)
{
    const uint32_t before = port_ticks();
    const int status = called(device, memory, bytes, count);
    port_skipped += port_ticks() - before;
    return status;
}
