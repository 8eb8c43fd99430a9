/* mote_zephyr_video.c: see mote_zephyr_video.h. */
#include "mote_zephyr_video.h"

#include <errno.h>
#include <string.h>

static mote_source_status failed(mote_zephyr_video_t *video, int code) {
    video->source.error = code;
    return MOTE_SOURCE_FAILED;
}

static int enqueue(const mote_zephyr_video_t *video, struct video_buffer *buffer) {
    buffer->type = VIDEO_BUF_TYPE_OUTPUT;
    return video_enqueue(video->device, buffer);
}

/* Drivers look at the type to find the queue. */
static int dequeue(const mote_zephyr_video_t *video, struct video_buffer **buffer, k_timeout_t wait) {
    struct video_buffer asked;
    int code;
    memset(&asked, 0, sizeof asked);
    asked.type = VIDEO_BUF_TYPE_OUTPUT;
    *buffer = &asked;
    code = video_dequeue(video->device, buffer, wait);
    return code == 0 && *buffer == &asked ? -EIO : code;
}

/* Stops the stream and takes all buffers back, so that the next start can enqueue them. */
static int end(const mote_zephyr_video_t *video) {
    const int code = video_stream_stop(video->device, VIDEO_BUF_TYPE_OUTPUT);
    struct video_buffer *buffer;
    uint32_t i;
    for (i = 0; i < video->count && dequeue(video, &buffer, K_NO_WAIT) == 0; i++) {
    }
    return code;
}

static mote_source_status start(mote_source_t *source) {
    mote_zephyr_video_t *video = (mote_zephyr_video_t *)source;
    uint32_t i;
    int code = 0;
    if (video->running != 0u) return MOTE_SOURCE_OK;
    source->lost = 0;
    video->timed = 0;
    if (!device_is_ready(video->device)) return failed(video, -ENODEV);
    for (i = 0; i < video->count; i++)
        if (video->buffers[i] == NULL) return failed(video, -ENOMEM);
    for (i = 0; code == 0 && i < video->count; i++) code = enqueue(video, video->buffers[i]);
    if (code == 0) code = video_stream_start(video->device, VIDEO_BUF_TYPE_OUTPUT);
    if (code != 0) {
        (void)end(video);
        return failed(video, code);
    }
    video->running = 1;
    return MOTE_SOURCE_OK;
}

/* Counts frames that came before this one and found no buffer, to the nearest. */
static void count_missed(mote_zephyr_video_t *video, uint32_t now) {
    const uint32_t passed = now - video->last;
    if (video->timed != 0u && video->block_ms != 0u && passed > video->block_ms)
        video->source.lost += (passed + video->block_ms / 2u) / video->block_ms - 1u;
    video->last = now;
    video->timed = 1;
}

static int32_t read_block(mote_source_t *source, const void **data) {
    mote_zephyr_video_t *video = (mote_zephyr_video_t *)source;
    struct video_buffer *buffer;
    int code = 0;
    if (video->running == 0u) return MOTE_SOURCE_STOPPED;
    if (video->held != NULL) code = enqueue(video, video->held);
    video->held = NULL;
    if (code != 0) return (int32_t)failed(video, code);
    code = dequeue(video, &buffer, video->wait == 0u ? K_NO_WAIT : K_MSEC(video->wait));
    if (code == -EAGAIN || code == -ENOMSG || code == -EBUSY) return 0; /* no buffer in time */
    if (code != 0) return (int32_t)failed(video, code);
    video->held = buffer;
    count_missed(video, buffer->timestamp);
    *data = buffer->buffer;
    return (int32_t)buffer->bytesused;
}

static mote_source_status stop(mote_source_t *source) {
    mote_zephyr_video_t *video = (mote_zephyr_video_t *)source;
    int code;
    if (video->running == 0u) return MOTE_SOURCE_OK;
    video->running = 0;
    video->held = NULL;
    code = end(video);
    return code != 0 ? failed(video, code) : MOTE_SOURCE_OK;
}

void mote_zephyr_video(mote_zephyr_video_t *video, const struct device *device, struct video_buffer *const *buffers,
                       uint32_t count, uint32_t block_ms, uint32_t wait) {
    memset(video, 0, sizeof *video);
    video->device = device;
    video->buffers = buffers;
    video->count = count;
    video->block_ms = block_ms;
    video->wait = wait;
    video->source.start = start;
    video->source.read = read_block;
    video->source.stop = stop;
}
