/* Jobs of generated code for the Ethos-U driver.
 *
 * The driver is the SDK's (ethosu_driver.h). The firmware initializes it before the model runs: ethosu_init, with the
 * registers' address, and the interrupt that calls ethosu_irq_handler. Where the core has a data cache, the firmware
 * defines ethosu_flush_dcache and ethosu_invalidate_dcache, which the driver calls around every job.
 */
#ifndef NPU_ETHOSU_H
#define NPU_ETHOSU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a job: its words, its constants, its working memory, and its inputs and outputs, of which those that it does not
 * have are NULL. It returns 0 when the job is done, a negative number when it failed. */
int npu_ethosu_run(const uint32_t *job, const void *constants, void *scratch, const void *first, const void *second,
                   const void *third, const void *fourth, const void *fifth);

#ifdef __cplusplus
}
#endif

#endif
