/* A microphone of Zephyr that fills blocks of a slab, and stops where none is free. */
#include "expect.h"
#include "mote_zephyr_dmic.h"

enum { BLOCKS = 4, COUNT = 160 }; /* 10 ms at 16 kHz */

static int16_t blocks[BLOCKS][COUNT];
static int used[BLOCKS], queue[BLOCKS], queued, active, ready = 1, fails, configured, mode;
static int16_t next;
static uint32_t now;
static struct k_mem_slab slab;
static const struct device device = {"mic"};
static struct pcm_stream_cfg stream = {16000, 16, sizeof blocks[0], &slab};
static struct dmic_cfg config;
static mote_zephyr_dmic_t dmic;

bool device_is_ready(const struct device *dev) { return dev == &device && ready; }
uint32_t k_uptime_get_32(void) { return now; }
void k_mem_slab_free(struct k_mem_slab *given, void *mem) {
    const long i = (long)(((int16_t *)mem - blocks[0]) / COUNT);
    EXPECT(given == &slab && used[i]);
    used[i] = 0;
}
int dmic_configure(const struct device *dev, struct dmic_cfg *cfg) {
    EXPECT(dev == &device && cfg == &config && !active);
    configured++;
    return fails == 1 ? -EINVAL : 0;
}
int dmic_trigger(const struct device *dev, enum dmic_trigger cmd) {
    EXPECT(dev == &device && (cmd == DMIC_TRIGGER_START || cmd == DMIC_TRIGGER_STOP));
    if (fails == 2) return -EIO;
    active = cmd == DMIC_TRIGGER_START;
    return 0;
}
/* A block of sound comes: mode 0 stops in silence without a free one, mode 1 with an error. */
static void sound(void) {
    int i = 0;
    now += 10;
    if (!active) return;
    while (i < BLOCKS && used[i]) i++;
    if (i == BLOCKS) {
        active = 0;
        return;
    }
    used[i] = 1;
    for (int k = 0; k < COUNT; k++) blocks[i][k] = (int16_t)(next + k);
    next = (int16_t)(next + COUNT);
    queue[queued++] = i;
}
int dmic_read(const struct device *dev, uint8_t number, void **buffer, size_t *size, int32_t timeout) {
    EXPECT(dev == &device && number == 0 && timeout >= 0);
    if (queued == 0 && !active && mode == 1) return -EIO;
    if (queued == 0) {
        now += (uint32_t)timeout;
        return timeout == 0 ? -ENOMSG : -EAGAIN;
    }
    *buffer = blocks[queue[0]];
    *size = sizeof blocks[0];
    queued--;
    memmove(queue, queue + 1, sizeof queue - sizeof queue[0]);
    return 0;
}
static int in_use(void) { return used[0] + used[1] + used[2] + used[3]; }

static void overrun(int how) {
    mote_source_t *source = &dmic.source;
    const void *data = NULL;
    uint32_t before;
    int32_t n;
    mode = how;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && source->lost == 0);
    for (int i = 0; i < 10; i++) sound(); /* nobody reads: four have a place, then the driver stops */
    for (int i = 0; i < 4; i++) EXPECT(mote_source_read(source, &data) == COUNT);
    EXPECT(source->lost == 0);
    before = now;
    while ((n = mote_source_read(source, &data)) == 0 && source->lost == 0) now += 10;
    EXPECT(n == 0 && source->lost >= 1 && now - before <= 400);
    EXPECT(active && in_use() == 0); /* it runs again */
    sound();
    EXPECT(mote_source_read(source, &data) == COUNT && mote_source_stop(source) == MOTE_SOURCE_OK);
    EXPECT(in_use() == 0 && !active);
}

int main(void) {
    mote_source_t *source = &dmic.source;
    const void *data = NULL;
    config.streams = &stream;
    config.channel.req_num_chan = 1;
    config.channel.req_num_streams = 1;
    mote_zephyr_dmic(&dmic, &device, &config, 0);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED && mote_source_stop(source) == MOTE_SOURCE_OK);
    ready = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == -ENODEV);
    ready = 1;
    stream.pcm_width = 32;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == -EINVAL && configured == 0);
    stream.pcm_width = 16;
    for (fails = 1; fails <= 2; fails++)
        EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == (fails == 1 ? -EINVAL : -EIO));
    fails = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && active && mote_source_start(source) == MOTE_SOURCE_OK);
    EXPECT(mote_source_read(source, &data) == 0);
    for (int i = 0; i < 50; i++) {
        sound();
        EXPECT(mote_source_read(source, &data) == COUNT && *(const int16_t *)data == (int16_t)(i * COUNT));
        EXPECT(in_use() == 1); /* the block stays the reader's until the next read */
    }
    EXPECT(source->lost == 0);
    sound();
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK && in_use() == 0 && !active);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED);
    overrun(0);
    overrun(1);
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK);
    active = 0;
    fails = 1; /* and it cannot be started again */
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_FAILED && source->error == -EINVAL);
    puts("passed");
    return 0;
}
