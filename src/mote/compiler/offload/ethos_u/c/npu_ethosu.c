#include "npu_ethosu.h"

#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of the Ethos-U driver. */
struct ethosu_driver;
struct ethosu_driver *ethosu_reserve_driver(void);
void ethosu_release_driver(struct ethosu_driver *drv);
int ethosu_invoke_async(struct ethosu_driver *drv, const void *custom_data_ptr, const int custom_data_size,
                        uint64_t *const base_addr, const size_t *base_addr_size, const int num_base_addr,
                        void *user_arg);
int ethosu_wait(struct ethosu_driver *drv, bool block);

#ifdef __cplusplus
}
#endif

#define BASES 8 /* base pointers of the hardware */
#define HEAD 12 /* words in front of the payload */
#define TENSORS 5 /* of a job at most */

/* A job from its begin to its end; the driver points to the arrays. */
typedef struct {
    struct ethosu_driver *driver; /* NULL: it has not begun */
    uint64_t base[BASES];
    size_t bytes[BASES];
} npu_ethosu_begun;

/* The job that was begun without waiting for it. */
static const void *volatile npu_ethosu_running;

static int ended(npu_ethosu_begun *begun, int result) {
    struct ethosu_driver *driver = begun->driver;
    begun->driver = NULL;
    if (npu_ethosu_running == begun) {
        npu_ethosu_running = NULL;
    }
    ethosu_release_driver(driver);
    return result == 0 ? 0 : -1;
}

int npu_ethosu_run(void *state, int wait, const uint32_t *job, const void *constants, void *scratch, const void *first,
                   const void *second, const void *third, const void *fourth, const void *fifth) {
    const void *const areas[BASES] = {constants, scratch, NULL, first, second, third, fourth, fifth};
    npu_ethosu_begun *begun = (npu_ethosu_begun *)state;
    int result;
    if (begun->driver == NULL) {
        if (wait == 0 && npu_ethosu_running != NULL) {
            return 1; /* of another model: to reserve the driver would wait for it */
        }
        begun->driver = ethosu_reserve_driver();
        if (begun->driver == NULL) {
            return -1;
        }
        for (uint32_t i = 0; i < BASES; i++) {
            begun->base[i] = (uint64_t)(uintptr_t)areas[i];
            begun->bytes[i] = (size_t)job[2 + i];
        }
        if (ethosu_invoke_async(begun->driver, job + HEAD, (int)job[0], begun->base, begun->bytes, (int)job[1],
                                (void *)(uintptr_t)job) != 0) {
            return ended(begun, -1);
        }
        if (wait == 0) {
            npu_ethosu_running = begun;
            return 1;
        }
    }
    result = ethosu_wait(begun->driver, wait != 0);
    return result > 0 ? 1 : ended(begun, result);
}

void npu_ethosu_cancel(void *state) {
    npu_ethosu_begun *begun = (npu_ethosu_begun *)state;
    if (begun->driver != NULL) {
        (void)ended(begun, 0);
    }
}

int npu_ethosu_run_inside(void *state, int wait, const uint32_t *job, const void *constants, void *scratch,
                          const uint32_t *places, const void *first, const void *second, const void *third,
                          const void *fourth, const void *fifth) {
    const void *const tensors[TENSORS] = {first, second, third, fourth, fifth};
    const uint32_t inputs = places[0], count = places[1];
    uint8_t *const work = (uint8_t *)scratch;
    if (((npu_ethosu_begun *)state)->driver == NULL) {
        for (uint32_t i = 0; i < inputs; i++) {
            memcpy(work + places[2 + 2 * i], tensors[i], places[3 + 2 * i]);
        }
    }
    const int result = npu_ethosu_run(state, wait, job, constants, scratch, NULL, NULL, NULL, NULL, NULL);
    if (result == 0) {
        for (uint32_t i = inputs; i < count; i++) {
            memcpy((void *)(uintptr_t)tensors[i], work + places[2 + 2 * i], places[3 + 2 * i]);
        }
    }
    return result;
}

int npu_ethosu_row(void *state, const uint32_t *jobs, const void *constants, void *kept, const void *row, int32_t tap,
                   void *output) {
    const uint32_t at = jobs[4 + tap];
    memcpy((uint8_t *)kept + jobs[1] + (uint32_t)tap % jobs[2] * jobs[0], row, jobs[0]);
    return at == 0 ? 0 : npu_ethosu_run(state, 1, jobs + at, constants, kept, NULL, output, NULL, NULL, NULL);
}
