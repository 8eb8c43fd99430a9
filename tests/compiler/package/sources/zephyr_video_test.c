/* A camera of Zephyr with two buffers. */
#include "expect.h"
#include "mote_zephyr_video.h"

enum { BYTES = 8, FRAME_MS = 40 };

static const struct device device = {"camera"};
static uint8_t memory[2][BYTES], pictures;
static struct video_buffer buffers[2] = {{NULL, VIDEO_BUF_TYPE_INPUT, memory[0], BYTES, 0, 0, 0},
                                         {NULL, VIDEO_BUF_TYPE_INPUT, memory[1], BYTES, 0, 0, 0}};
static struct video_buffer *const given[2] = {&buffers[0], &buffers[1]};
static struct video_buffer *empty[2], *full[2];
static int empties, fulls, streaming, ready = 1, fails;
static uint32_t now = UINT32_MAX - 100; /* the time stamp wraps */

bool device_is_ready(const struct device *dev) { return dev == &device && ready; }
int video_enqueue(const struct device *dev, struct video_buffer *buf) {
    EXPECT(dev == &device && buf->type == VIDEO_BUF_TYPE_OUTPUT && empties + fulls < 2);
    if (fails == 1) return -EINVAL;
    empty[empties++] = buf;
    return 0;
}
int video_dequeue(const struct device *dev, struct video_buffer **vbuf, k_timeout_t timeout) {
    EXPECT(dev == &device && (*vbuf)->type == VIDEO_BUF_TYPE_OUTPUT);
    EXPECT(timeout.microseconds == 0 || timeout.microseconds == 5000);
    if (fails == 3) return -EIO;
    if (fulls == 0) return -EAGAIN;
    *vbuf = full[0];
    full[0] = full[1];
    fulls--;
    return 0;
}
int video_stream_start(const struct device *dev, enum video_buf_type type) {
    EXPECT(dev == &device && type == VIDEO_BUF_TYPE_OUTPUT && !streaming);
    if (fails == 2) return -EIO;
    streaming = 1;
    return 0;
}
int video_stream_stop(const struct device *dev, enum video_buf_type type) {
    EXPECT(dev == &device && type == VIDEO_BUF_TYPE_OUTPUT);
    streaming = 0;
    while (empties > 0) full[fulls++] = empty[--empties];
    return fails == 4 ? -EIO : 0;
}
static void picture(void) {
    now += FRAME_MS + pictures % 3u - 1u; /* the camera's clock is not exact */
    pictures++;
    if (!streaming || empties == 0) return;
    memset(empty[0]->buffer, pictures, BYTES);
    empty[0]->bytesused = BYTES;
    empty[0]->timestamp = now;
    full[fulls++] = empty[0];
    empty[0] = empty[1];
    empties--;
}

int main(void) {
    mote_zephyr_video_t video;
    mote_source_t *source = &video.source;
    const void *data = NULL;
    mote_zephyr_video(&video, &device, given, 2, FRAME_MS, 5);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED && mote_source_stop(source) == MOTE_SOURCE_OK);
    ready = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == -ENODEV);
    ready = 1;
    for (fails = 1; fails <= 2; fails++) {
        EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == (fails == 1 ? -EINVAL : -EIO));
        EXPECT(empties + fulls == 0); /* the buffers are the caller's again */
    }
    fails = 0;
    for (int again = 0; again < 2; again++) {
        uint32_t lost = 0;
        EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && mote_source_start(source) == MOTE_SOURCE_OK);
        EXPECT(mote_source_read(source, &data) == 0);
        for (int i = 0; i < 20; i++) {
            picture();
            EXPECT(mote_source_read(source, &data) == BYTES && *(const uint8_t *)data == pictures);
        }
        EXPECT(source->lost == lost);
        for (int i = 0; i < 4; i++) picture(); /* one buffer is held: three pictures find none */
        EXPECT(mote_source_read(source, &data) == BYTES && *(const uint8_t *)data == (uint8_t)(pictures - 3));
        EXPECT(source->lost == lost); /* the gap is behind this one */
        picture();
        EXPECT(mote_source_read(source, &data) == BYTES && source->lost == 3);
        fails = 3;
        EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_FAILED && source->error == -EIO);
        fails = again == 0 ? 0 : 4;
        EXPECT(mote_source_stop(source) == (again == 0 ? MOTE_SOURCE_OK : MOTE_SOURCE_FAILED));
        EXPECT(empties + fulls == 0 && mote_source_read(source, &data) == MOTE_SOURCE_STOPPED);
    }
    puts("passed");
    return 0;
}
