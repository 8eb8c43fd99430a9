/* Jobs of generated code for the Ethos-U driver.
 *
 * The driver is the SDK's (ethosu_driver.h, driver 0.16 or newer). The firmware initializes it before the model runs:
 * ethosu_init with the address of the registers, and the interrupt that calls ethosu_irq_handler. A model's run waits for
 * the Ethos-U as the driver does: asleep (WFE), or blocked where an RTOS defines ethosu_semaphore_take. Its step begins a
 * job and returns MOTE_BUSY while the Ethos-U works. A job that fails, or does not end in time (the driver's
 * ETHOSU_SEMAPHORE_WAIT_INFERENCE), makes run and step return MOTE_FAILED. The model's init ends a job that is still running.
 *
 * Data cache. Where the core has one and it is on, the firmware defines both functions that the driver calls around every
 * job, which else do nothing:
 *     void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int num_base_addr);
 *         cleans the lines of all areas, outputs too (SCB_CleanDCache_by_Addr, or SCB_CleanDCache for all of them);
 *     void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int num_base_addr);
 *         invalidates the lines of areas 1 and 3 onwards (SCB_InvalidateDCache_by_Addr, or SCB_CleanInvalidateDCache).
 * Areas of 0 bytes have no address. Generated code aligns all areas to 32 bytes, the line of a Cortex-M, and its arena has
 * all of its last line: nothing else that the core writes lies in a line that the Ethos-U writes. An arena that the caller
 * provides must be like that, too. Memory that is coupled to the core (TCM) is not cached, and no Ethos-U reaches it.
 *
 * Memory attributes. Of the driver's NPU_REGIONCFG_n, n is 0 for constants, 1 for working memory, 2 for the driver's fast
 * memory, and 3 to 7 for inputs and outputs, which lie with the working memory and need its port (the driver's defaults
 * have that for Ethos-U55 and U85; those of U65 expect working memory in DRAM: set NPU_REGIONCFG_1 to 0 for SRAM).
 *
 * The driver's callbacks ethosu_inference_begin and ethosu_inference_end get the address of the job's words as
 * user_arg, which tells jobs apart.
 *
 * Several models may step in turns: a job waits in step while another one runs. A model that runs on the same thread waits
 * for the Ethos-U in the driver, so finish the inference of a model that steps before that.
 */
#ifndef NPU_ETHOSU_H
#define NPU_ETHOSU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPU_ETHOSU_STATE 136 /* bytes of a job's state */

/* Runs a job: its words, its constants, its working memory, and its inputs and outputs, of which those that it does not
 * have are NULL. `state` holds NPU_ETHOSU_STATE bytes, aligned to 8, which are 0 before the first job. With `wait` it
 * returns when the job is done; without, it begins the job, and is called again with the same arguments until that is
 * done. Returns 0 when the job is done, 1 while it runs, -1 when it failed. */
int npu_ethosu_run(void *state, int wait, const uint32_t *job, const void *constants, void *scratch, const void *first,
                   const void *second, const void *third, const void *fourth, const void *fifth);

/* Keeps a row of an input that arrives in rows, and runs the job for it, if there is one, to its end: `jobs` are the
 * words of all of them, `kept` the working memory, which stays as it is from one row to the next. Returns 0 when it is
 * done, -1 when it failed. */
int npu_ethosu_row(void *state, const uint32_t *jobs, const void *constants, void *kept, const void *row, int32_t tap,
                   void *output);

/* Ends a job that has begun. */
void npu_ethosu_cancel(void *state);

/* Runs a job whose tensors have places in its working memory: they are copied there before it begins, and from there when
 * it is done. `places` are words: the number of inputs, the number of tensors, and of each its offset and its bytes. */
int npu_ethosu_run_inside(void *state, int wait, const uint32_t *job, const void *constants, void *scratch,
                          const uint32_t *places, const void *first, const void *second, const void *third,
                          const void *fourth, const void *fifth);

#ifdef __cplusplus
}
#endif

#endif
