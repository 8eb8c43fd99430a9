/* mote_npu_job.h: a command stream of an Ethos-U as a step of an image.
 *
 * A job is words: the bytes of a payload, the number of base pointers, the bytes behind each of eight, a bit for each that
 * the stream may write, a zero, and the payload. Base pointer 0 are the constants, 1 the working memory, 2 the driver's
 * fast memory; the inputs follow and then the output, those that have base pointers of their own. The others are copied
 * to their places in the working memory, and from there. mote_npu_job.c has the functions; what they ask of the firmware
 * is mote_npu_invoke.
 */
#ifndef MOTE_NPU_JOB_H
#define MOTE_NPU_JOB_H

#include "mote_room.h"

#define MOTE_NPU_BASES 8  /* base pointers of the hardware */
#define MOTE_NPU_HEAD 12  /* words of a job before its payload */
#define MOTE_NPU_OWN (-1) /* `at` of a tensor that has a base pointer */

typedef struct {
    int32_t bytes;
    int32_t at; /* its place in the working memory, or MOTE_NPU_OWN */
} mote_npu_tensor_t;

typedef struct {
    const uint32_t *job;
    const uint8_t *constants;
    mote_npu_tensor_t first, second, third, out; /* inputs that there are not have no bytes */
} mote_npu_job_t;

typedef mote_npu_job_t mote_npu_job2_t, mote_npu_job3_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a job with so many inputs touches only memory that it has: the stream is checked, command by command. */
int mote_npu_checked(const mote_npu_job_t *p, const mote_room_t *room, int32_t inputs);

/* Run a job with one, two or three inputs. `done` becomes 0 where the driver could not. */
void mote_npu_job(const mote_npu_job_t *p, const void *first, void *out, void *scratch, uint32_t *done);
void mote_npu_job2(const mote_npu_job2_t *p, const void *first, const void *second, void *out, void *scratch,
                   uint32_t *done);
void mote_npu_job3(const mote_npu_job3_t *p, const void *first, const void *second, const void *third, void *out,
                   void *scratch, uint32_t *done);

/* The firmware's: have the driver run a job with these base pointers, and wait until it is done. Returns 0, or anything
 * else where it failed. Base pointer 2 is NULL: the driver has its own fast memory. mote_npu_driver.c has one for the
 * Ethos-U driver. */
int mote_npu_invoke(const uint32_t *job, const void *const *base);

#ifdef __cplusplus
}
#endif

#endif
