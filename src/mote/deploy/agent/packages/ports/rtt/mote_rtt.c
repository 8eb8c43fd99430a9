/* mote_rtt.c: see mote_rtt.h. */
#include "mote_rtt.h"

/* A ring: the writer moves `put`, the reader `got`; both are smaller than `bytes`. */
typedef struct {
    const char *name;
    uint8_t *buffer;
    uint32_t bytes;
    volatile uint32_t put, got;
    uint32_t flags; /* 0: never wait for the other side; the probe does not look at it */
} mote_rtt_ring;

typedef struct {
    char mark[16];
    int32_t ups, downs;
    mote_rtt_ring up, down;
} mote_rtt_block;

#ifdef MOTE_RTT_SECTION
#define MOTE_RTT_MEMORY __attribute__((section(MOTE_RTT_SECTION)))
#else
#define MOTE_RTT_MEMORY
#endif

#if defined(__GNUC__)
#define MOTE_RTT_BARRIER() __sync_synchronize()
#else
#define MOTE_RTT_BARRIER() ((void)0)
#endif

/* Other tools know the control block by this name. */
mote_rtt_block _SEGGER_RTT MOTE_RTT_MEMORY;
static uint8_t to_host[MOTE_RTT_BYTES] MOTE_RTT_MEMORY, from_host[MOTE_RTT_BYTES] MOTE_RTT_MEMORY;

void mote_rtt_start(void) {
    static const char backwards[] = "TTR REGGES"; /* the mark itself must be nowhere else in memory */
    const uint32_t length = (uint32_t)sizeof backwards - 1u;
    const mote_rtt_ring up = {"mote", to_host, MOTE_RTT_BYTES, 0, 0, 0};
    const mote_rtt_ring down = {"mote", from_host, MOTE_RTT_BYTES, 0, 0, 0};
    _SEGGER_RTT.mark[0] = '\0';
    _SEGGER_RTT.ups = 1;
    _SEGGER_RTT.downs = 1;
    _SEGGER_RTT.up = up;
    _SEGGER_RTT.down = down;
    MOTE_RTT_BARRIER();
    for (uint32_t i = 16; i-- > 0;) {
        ((volatile char *)_SEGGER_RTT.mark)[i] = i < length ? backwards[length - 1u - i] : '\0';
    }
    MOTE_RTT_BARRIER();
}

int mote_rtt_read(void) {
    mote_rtt_ring *ring = &_SEGGER_RTT.down;
    const uint32_t got = ring->got;
    if (got >= MOTE_RTT_BYTES || got == ring->put) {
        return -1;
    }
    MOTE_RTT_BARRIER();
    const uint8_t byte = from_host[got];
    MOTE_RTT_BARRIER();
    ring->got = got + 1u < MOTE_RTT_BYTES ? got + 1u : 0u;
    return byte;
}

void mote_rtt_write(const uint8_t *data, uint32_t bytes) {
    mote_rtt_ring *ring = &_SEGGER_RTT.up;
    for (uint32_t i = 0; i < bytes; i++) {
        const uint32_t put = ring->put, next = put + 1u < MOTE_RTT_BYTES ? put + 1u : 0u;
        while (next == ring->got) {
        }
        to_host[put] = data[i];
        MOTE_RTT_BARRIER();
        ring->put = next;
    }
}
