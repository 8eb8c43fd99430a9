/* mote_npu_job.c: what mote_npu_job.h declares. */
#include "mote_settings.h"

#include "mote_npu_check.h"
#include "mote_npu_job.h"

#ifndef MOTE_NPU_FAST_BYTES
#define MOTE_NPU_FAST_BYTES 0 /* fast memory that the firmware gives to the driver */
#endif

enum { INPUTS = 3, CONSTANTS = 0, SCRATCH = 1, FAST = 2, TENSORS = 3, ALIGNMENT = 16 };
enum { BYTES = 0, COUNT = 1, SIZES = 2 }; /* words of a job's head */

/* Whether a tensor has its bytes: behind base pointer `*next`, or at a place in the working memory. */
static int mote_npu_tensor_fits(const uint32_t *sizes, const mote_npu_tensor_t *tensor, const uint8_t *at, uint32_t bytes,
                                uint32_t *next) {
    if (tensor->at == MOTE_NPU_OWN) {
        return (uintptr_t)at % ALIGNMENT == 0 && sizes[(*next)++] <= bytes;
    }
    return mote_size(tensor->bytes) <= bytes &&
           mote_much_plus(mote_size(tensor->at), mote_size(tensor->bytes)) <= sizes[SCRATCH];
}

int mote_npu_checked(const mote_npu_job_t *p, const mote_room_t *room, int32_t inputs) {
    const mote_npu_tensor_t *const tensors[INPUTS] = {&p->first, &p->second, &p->third};
    const uint32_t *const job = p->job, *const sizes = job + SIZES;
    uint32_t next = TENSORS, written = 1u << SCRATCH | 1u << FAST;
    if (room->form != MOTE_RUN_WHOLE || !mote_holds(room, job, 4 * MOTE_NPU_HEAD, ALIGNMENT) ||
        !mote_holds(room, job, mote_much_plus(4 * MOTE_NPU_HEAD, job[BYTES]), ALIGNMENT) ||
        (sizes[CONSTANTS] > 0 && !mote_holds(room, p->constants, sizes[CONSTANTS], ALIGNMENT)) ||
        sizes[SCRATCH] > room->scratch || sizes[FAST] > (uint32_t)MOTE_NPU_FAST_BYTES) {
        return 0;
    }
    for (int32_t i = 0; i < inputs; i++) {
        if (!mote_npu_tensor_fits(sizes, tensors[i], room->at[i], room->in[i], &next)) {
            return 0;
        }
    }
    written |= p->out.at == MOTE_NPU_OWN ? 1u << next : 0;
    if (!mote_npu_tensor_fits(sizes, &p->out, room->to, room->out, &next) || job[COUNT] != next) {
        return 0;
    }
    for (; next < MOTE_NPU_BASES; next++) {
        if (sizes[next] != 0) { /* base pointers that nobody sets */
            return 0;
        }
    }
    return mote_npu_check(job + MOTE_NPU_HEAD, job[BYTES], sizes, written, NULL) == MOTE_NPU_OK;
}

static void mote_npu_run(const mote_npu_job_t *p, const void *const *in, int32_t inputs, void *out, void *scratch,
                         uint32_t *done) {
    const mote_npu_tensor_t *const tensors[INPUTS] = {&p->first, &p->second, &p->third};
    uint8_t *const work = (uint8_t *)scratch;
    const void *base[MOTE_NPU_BASES] = {p->constants, scratch, NULL, NULL, NULL, NULL, NULL, NULL};
    uint32_t next = TENSORS;
    for (int32_t i = 0; i < inputs; i++) {
        if (tensors[i]->at == MOTE_NPU_OWN) {
            base[next++] = in[i];
        } else {
            memmove(work + tensors[i]->at, in[i], (size_t)tensors[i]->bytes);
        }
    }
    if (p->out.at == MOTE_NPU_OWN) {
        base[next] = out;
    }
    if ((uintptr_t)scratch % ALIGNMENT != 0 || mote_npu_invoke(p->job, base) != 0) {
        *done = 0;
    } else if (p->out.at != MOTE_NPU_OWN) {
        memmove(out, work + p->out.at, (size_t)p->out.bytes);
    }
}

void mote_npu_job(const mote_npu_job_t *p, const void *first, void *out, void *scratch, uint32_t *done) {
    mote_npu_run(p, &first, 1, out, scratch, done);
}

void mote_npu_job2(const mote_npu_job2_t *p, const void *first, const void *second, void *out, void *scratch,
                   uint32_t *done) {
    const void *const in[2] = {first, second};
    mote_npu_run(p, in, 2, out, scratch, done);
}

void mote_npu_job3(const mote_npu_job3_t *p, const void *first, const void *second, const void *third, void *out,
                   void *scratch, uint32_t *done) {
    const void *const in[3] = {first, second, third};
    mote_npu_run(p, in, 3, out, scratch, done);
}
