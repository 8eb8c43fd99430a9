/* mote_zephyr_video.h: a camera of Zephyr as a source (CONFIG_VIDEO, <zephyr/drivers/video.h>; Zephyr 4.2 and later). A
 * block is what a buffer of the driver holds: a whole frame, or lines of one.
 *
 *     static struct video_buffer *buffers[2];
 *     static mote_zephyr_video_t camera;
 *     video_set_format(device, &format); // size, pixel format
 *     for (i = 0; i < 2; i++) buffers[i] = video_buffer_aligned_alloc(format.size, 32, K_NO_WAIT);
 *     mote_zephyr_video(&camera, device, buffers, 2, 1000 / 15, 1000);
 *
 * The driver fills one buffer while the other one is read. It does not report frames for which it had no buffer; they
 * are counted from the time stamps, where the time of a frame is known. */
#ifndef MOTE_ZEPHYR_VIDEO_H
#define MOTE_ZEPHYR_VIDEO_H

#include <zephyr/drivers/video.h>
#include <zephyr/kernel.h>

#include "mote_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    mote_source_t source;
    const struct device *device;
    struct video_buffer *const *buffers;
    uint32_t count;
    uint32_t block_ms; /* from one buffer to the next; 0: not known, and nothing is counted as lost */
    uint32_t wait;     /* milliseconds that a read waits for a buffer; 0: none */
    struct video_buffer *held;
    uint32_t last; /* time stamp of the buffer before */
    uint8_t running, timed;
} mote_zephyr_video_t;

/* Makes a source that does not run yet. The driver has the buffers from the start on. */
void mote_zephyr_video(mote_zephyr_video_t *video, const struct device *device, struct video_buffer *const *buffers,
                       uint32_t count, uint32_t block_ms, uint32_t wait);

#ifdef __cplusplus
}
#endif

#endif
