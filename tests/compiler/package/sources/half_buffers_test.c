/* Halves of a buffer: every way to fill them, readers that are in time and readers that are not. */
#include "expect.h"
#include "mote_dma_source.h"
#include "mote_memory_source.h"

enum { N = 4 };

static int16_t memory[2 * N];
static mote_half_buffers_t halves;
static uint32_t lost;

/* What circular DMA does: block k is k * N, k * N + 1, ... */
static void pass(int16_t k) {
    int16_t *to = memory + (k % 2) * N;
    for (int i = 0; i < N; i++) to[i] = (int16_t)(k * N + i);
    mote_half_buffers_passed(&halves);
}

static int block(const void *data, int16_t k) {
    const int16_t *samples = (const int16_t *)data;
    if (data == NULL) return 0;
    for (int i = 0; i < N; i++)
        if (samples[i] != (int16_t)(k * N + i)) return 0;
    return 1;
}

static void circular(void) {
    mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 1);
    lost = 0;
    EXPECT(mote_half_buffers_take(&halves, &lost) == NULL);
    for (int16_t k = 0; k < 1000; k++) { /* counters wrap */
        pass(k);
        EXPECT(block(mote_half_buffers_take(&halves, &lost), k) && lost == 0);
        EXPECT(mote_half_buffers_take(&halves, &lost) == NULL); /* gives the half back before the DMA comes to it */
    }
    for (int16_t behind = 1; behind < 600; behind++) { /* that many blocks come before the next read */
        uint32_t counted = behind <= 249 ? (uint32_t)behind - 1u : 248u;
        mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 1);
        lost = 0;
        for (int16_t k = 0; k < behind; k++) pass(k);
        EXPECT(block(mote_half_buffers_take(&halves, &lost), (int16_t)(behind - 1)));
        EXPECT(behind <= 249 ? lost == counted : lost >= counted);
    }
    mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 1);
    lost = 0;
    pass(0);
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 0)); /* held while ... */
    pass(1);
    EXPECT(lost == 0);
    pass(2); /* ... the DMA comes round: this was written over it */
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 2) && lost == 2);
    EXPECT(mote_half_buffers_take(&halves, &lost) == NULL);
    pass(3);
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 3) && lost == 2);
}

static void transfers(void) {
    int16_t *to = memory, k = 0;
    mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 0);
    lost = 0;
    for (int round = 0; round < 600; round++) {
        for (int i = 0; i < N; i++) to[i] = (int16_t)(k * N + i);
        to = (int16_t *)mote_half_buffers_next(&halves);
        EXPECT(block(mote_half_buffers_take(&halves, &lost), k) && lost == 0);
        EXPECT(to == memory + ((k + 1) % 2) * N);
        if (round < 599) EXPECT(mote_half_buffers_take(&halves, &lost) == NULL);
        k++;
    }
    for (int late = 0; late < 600; late++) { /* the reader has a block all the time: nothing is written over it */
        const int16_t held = (int16_t)(k - 1);
        for (int i = 0; i < N; i++) to[i] = (int16_t)(k * N + i);
        to = (int16_t *)mote_half_buffers_next(&halves);
        EXPECT(block(memory + (held % 2) * N, held) && to == memory + (k % 2) * N);
    }
    EXPECT(mote_half_buffers_take(&halves, &lost) == NULL && lost == 250);
}

static void dropped_transfers(void) {
    int16_t *to = memory;
    mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 0);
    lost = 0;
    for (int16_t k = 0; k < 5; k++) {
        for (int i = 0; i < N; i++) to[i] = (int16_t)(k * N + i);
        to = (int16_t *)mote_half_buffers_next(&halves);
    }
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 0) && lost == 4);
    EXPECT(mote_half_buffers_take(&halves, &lost) == NULL && lost == 4);
    for (int i = 0; i < N; i++) to[i] = (int16_t)(5 * N + i);
    (void)mote_half_buffers_next(&halves);
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 5) && lost == 4);
}

static void copies(void) {
    int16_t all[40 * N];
    for (int16_t i = 0; i < 40 * N; i++) all[i] = i;
    for (int16_t piece = 1; piece < 3 * N; piece++) { /* pieces of every size; a reader that always is in time */
        uint32_t filled = 0;
        int16_t taken = 0;
        mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 0);
        lost = 0;
        for (int16_t at = 0; at < 40 * N; at = (int16_t)(at + piece)) {
            const int16_t n = (int16_t)(40 * N - at < piece ? 40 * N - at : piece);
            if (n > N) break; /* more than both halves hold at once */
            filled += mote_half_buffers_put(&halves, all + at, 2u * (uint32_t)n);
            for (const void *data = mote_half_buffers_take(&halves, &lost); data != NULL;
                 data = mote_half_buffers_take(&halves, &lost))
                EXPECT(block(data, taken++));
        }
        EXPECT(lost == 0 && filled == (uint32_t)taken);
        if (piece <= N) EXPECT(taken == 40);
    }
    mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 0);
    lost = 0;
    EXPECT(mote_half_buffers_put(&halves, all, sizeof all) == 2); /* two halves have a place, 38 do not */
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 0) && lost == 38);
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 1) && lost == 38);
    EXPECT(mote_half_buffers_put(&halves, all + N, sizeof memory / 2) == 1); /* a gap is a whole number of halves */
    EXPECT(block(mote_half_buffers_take(&halves, &lost), 1) && lost == 38);
    for (int i = 0; i < 30; i++) (void)mote_half_buffers_put(&halves, all, sizeof all); /* 1200 halves, one has a place */
    EXPECT(mote_half_buffers_take(&halves, &lost) != NULL && lost >= 38 + 250);
}

static struct {
    void *memory;
    uint32_t bytes;
    int32_t code;
    int ended;
} dma;

static int32_t begin(void *context, void *to, uint32_t bytes) {
    EXPECT(context == &dma);
    dma.memory = to;
    dma.bytes = bytes;
    return dma.code;
}

static int32_t end(void *context) {
    EXPECT(context == &dma);
    dma.ended++;
    return dma.code;
}

static void dma_source(void) {
    mote_dma_source_t microphone;
    mote_source_t *source = &microphone.source;
    const mote_dma_source_config_t config = {memory, N, sizeof memory[0], begin, end, &dma};
    const void *data = NULL;
    mote_dma_source(&microphone, &config);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED && mote_source_stop(source) == MOTE_SOURCE_OK);
    dma.code = 7;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == 7);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED);
    dma.code = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && mote_source_start(source) == MOTE_SOURCE_OK);
    EXPECT(dma.memory == memory && dma.bytes == sizeof memory && mote_source_read(source, &data) == 0);
    for (int16_t i = 0; i < N; i++) memory[i] = i;
    mote_dma_source_passed(&microphone);
    EXPECT(mote_source_read(source, &data) == N && block(data, 0) && source->lost == 0);
    for (int i = 0; i < 5; i++) mote_dma_source_passed(&microphone);
    EXPECT(mote_source_read(source, &data) == N && source->lost == 5);
    dma.code = 9;
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_FAILED && source->error == 9 && dma.ended == 1);
    dma.code = 0;
    EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && source->lost == 0 && mote_source_read(source, &data) == 0);
    EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK && dma.ended == 2);
}

static void memory_source(void) {
    static const uint8_t lines[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const mote_recording_t recording = {lines, sizeof lines, 3, 1};
    mote_memory_source_t camera;
    mote_source_t *source = &camera.source;
    const void *data = NULL;
    mote_memory_source(&camera, &recording);
    EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED);
    for (int again = 0; again < 2; again++) {
        EXPECT(mote_source_start(source) == MOTE_SOURCE_OK);
        EXPECT(mote_source_read(source, &data) == 3 && data == lines);
        EXPECT(mote_source_read(source, &data) == 3 && data == lines + 3);
        EXPECT(mote_source_read(source, &data) == 2 && data == lines + 6);
        EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_ENDED && source->lost == 0);
        EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK);
    }
}

int main(void) {
    circular();
    transfers();
    dropped_transfers();
    copies();
    dma_source();
    memory_source();
    puts("passed");
    return 0;
}
