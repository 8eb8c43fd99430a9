/* zephyr/drivers/video.h: what sources use of it, declared from Zephyr's documentation. */
#ifndef ZEPHYR_INCLUDE_DRIVERS_VIDEO_H_
#define ZEPHYR_INCLUDE_DRIVERS_VIDEO_H_

#include <zephyr/kernel.h>

enum video_buf_type { VIDEO_BUF_TYPE_INPUT, VIDEO_BUF_TYPE_OUTPUT };
struct video_buffer {
    void *driver_data;
    enum video_buf_type type;
    uint8_t *buffer;
    uint32_t size, bytesused, timestamp;
    uint16_t line_offset;
};
int video_enqueue(const struct device *dev, struct video_buffer *buf);
int video_dequeue(const struct device *dev, struct video_buffer **vbuf, k_timeout_t timeout);
int video_stream_start(const struct device *dev, enum video_buf_type type);
int video_stream_stop(const struct device *dev, enum video_buf_type type);

#endif
