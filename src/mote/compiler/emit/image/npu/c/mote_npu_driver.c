/* mote_npu_driver.c: hands jobs of images to the Ethos-U driver.
 *
 * The driver is the SDK's (ethosu_driver.h). The firmware initializes it before a model runs: ethosu_init, with the
 * registers' address, and the interrupt that calls ethosu_irq_handler. Where the core has a data cache, the firmware
 * defines ethosu_flush_dcache and ethosu_invalidate_dcache, which the driver calls around every job, and gives the
 * interpreter arenas that begin and end with lines of the cache.
 */
#include <stddef.h>

#include "mote_settings.h"

#include "mote_npu_job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of the Ethos-U driver. */
struct ethosu_driver;
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *drv);
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                     uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr, void *user_arg);

#ifdef __cplusplus
}
#endif

int mote_npu_invoke(const uint32_t *job, const void *const *base) {
    uint64_t addresses[MOTE_NPU_BASES];
    size_t bytes[MOTE_NPU_BASES];
    struct ethosu_driver *const driver = ethosu_reserve_driver();
    if (driver == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < MOTE_NPU_BASES; i++) {
        addresses[i] = (uint64_t)(uintptr_t)base[i];
        bytes[i] = (size_t)job[2 + i];
    }
    const int result = ethosu_invoke_v3(driver, job + MOTE_NPU_HEAD, (int)job[0], addresses, bytes, (int)job[1],
                                        (void *)(uintptr_t)job);
    ethosu_release_driver(driver);
    return result;
}
