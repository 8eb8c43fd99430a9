/* The functions of the Ethos-U driver that npu_ethosu.c calls, for where Mote itself runs a model: Python computes what
 * the Ethos-U would. It refuses what the driver refuses, and jobs that are begun do not end at once. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in mote_device.h of the harness. */
int mote_device_call(const char *device, void *const *memory, const uint32_t *bytes, uint32_t count);

#define BASES 8      /* base pointers of the hardware */
#define FAST 2       /* the one of the driver's own memory */
#define HEAD 48      /* bytes in front of a payload */
#define ALIGNMENT 16 /* of addresses */
#define POLLS 2      /* how often a job that was begun is still running */
#define COP1 0x31504f43u

struct ethosu_driver {
    const uint8_t *job;
    const uint64_t *base;
    const size_t *bytes;
    int size, count, polls;
    bool reserved;
};

static struct ethosu_driver npu;

struct ethosu_driver *ethosu_reserve_driver(void) {
    if (npu.reserved) {
        return NULL; /* the driver would wait for ever */
    }
    npu.reserved = true;
    return &npu;
}

void ethosu_release_driver(struct ethosu_driver *drv) {
    drv->job = NULL;
    drv->reserved = false;
}

int ethosu_invoke_async(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                        uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr,
                        void *user_arg) {
    const uint8_t *payload = custom_data_ptr;
    uint64_t addresses = (uint64_t)(uintptr_t)payload;
    if (!drv->reserved || drv->job != NULL || (const uint8_t *)user_arg + HEAD != payload || num_base_addr > BASES) {
        return -1;
    }
    for (int i = 0; i < num_base_addr; i++) {
        addresses |= base_addr[i];
    }
    if (addresses % ALIGNMENT != 0 || custom_data_size % 4 != 0 || *(const uint32_t *)custom_data_ptr != COP1) {
        return -1;
    }
    drv->job = user_arg;
    drv->size = custom_data_size;
    drv->base = base_addr;
    drv->bytes = base_addr_size;
    drv->count = num_base_addr;
    drv->polls = POLLS;
    return 0;
}

/* Nothing happens to memory before the job has ended: who looks earlier, or changes the inputs, gets wrong results. */
int ethosu_wait(struct ethosu_driver *drv, bool block) {
    void *memory[1 + BASES];
    uint32_t bytes[1 + BASES];
    int status;
    if (drv->job == NULL) {
        return -2;
    }
    if (!block && drv->polls-- > 0) {
        return 1;
    }
    memory[0] = (void *)(uintptr_t)drv->job;
    bytes[0] = HEAD + (uint32_t)drv->size;
    for (int i = 0; i < drv->count; i++) {
        memory[1 + i] = (void *)(uintptr_t)drv->base[i];
        bytes[1 + i] = i == FAST ? 0 : (uint32_t)drv->bytes[i];
    }
    status = mote_device_call("ethos-u", memory, bytes, 1 + (uint32_t)drv->count);
    drv->job = NULL;
    return status == 0 ? 0 : -1;
}

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                     uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr, void *user_arg) {
    const int status = ethosu_invoke_async(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size,
                                           num_base_addr, user_arg);
    return status < 0 ? status : ethosu_wait(drv, true);
}
