/* npu_fake.c: an Ethos-U driver that touches all memory that a job has, so that a sanitizer sees what is not there. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct ethosu_driver {
    uint32_t sum, jobs;
};

struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *drv);
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                     uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr, void *user_arg);

static struct ethosu_driver driver;

struct ethosu_driver *ethosu_reserve_driver(void) { return &driver; }

void ethosu_release_driver(struct ethosu_driver *drv) { (void)drv; }

static void touch(const uint8_t *data, size_t bytes) {
    if ((uintptr_t)data % 16 != 0) {
        abort();
    }
    for (size_t i = 0; i < bytes; i++) {
        driver.sum += data[i];
    }
}

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                     uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr, void *user_arg) {
    (void)user_arg;
    touch((const uint8_t *)custom_data_ptr, (size_t)custom_data_size);
    for (int i = 0; i < num_base_addr; i++) {
        if (i != 2) {
            touch((const uint8_t *)(uintptr_t)base_addr[i], base_addr_size[i]);
        }
    }
    uint8_t *const work = (uint8_t *)(uintptr_t)base_addr[1];
    for (size_t i = 0; i < base_addr_size[1]; i++) {
        work[i] = (uint8_t)(work[i] + i);
    }
    return ++drv->jobs % 64 == 0; /* it may fail */
}
