/* mote_npu_job_fits.h: whether parameters of mote_npu_job.h fit. */
#ifndef MOTE_NPU_JOB_FITS_H
#define MOTE_NPU_JOB_FITS_H

#include "mote_npu_job.h"

static inline int mote_npu_job_fits(const mote_npu_job_t *p, const mote_room_t *room) {
    return mote_npu_checked(p, room, 1);
}

static inline int mote_npu_job2_fits(const mote_npu_job2_t *p, const mote_room_t *room) {
    return mote_npu_checked(p, room, 2);
}

static inline int mote_npu_job3_fits(const mote_npu_job3_t *p, const mote_room_t *room) {
    return mote_npu_checked(p, room, 3);
}

#endif
