#include "npu_ethosu.h"

#include <stdbool.h>

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

#define BASES 8 /* base pointers of the hardware */
#define HEAD 12 /* words in front of the payload */

int npu_ethosu_run(const uint32_t *job, const void *constants, void *scratch, const void *first, const void *second,
                   const void *third, const void *fourth, const void *fifth) {
    const void *const areas[BASES] = {constants, scratch, NULL, first, second, third, fourth, fifth};
    uint64_t base[BASES];
    size_t bytes[BASES];
    struct ethosu_driver *driver = ethosu_reserve_driver();
    int result;
    if (driver == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < BASES; i++) {
        base[i] = (uint64_t)(uintptr_t)areas[i];
        bytes[i] = (size_t)job[2 + i];
    }
    result = ethosu_invoke_v3(driver, job + HEAD, (int)job[0], base, bytes, (int)job[1], NULL);
    ethosu_release_driver(driver);
    return result;
}
