/* Verifies signatures that it is given, and writes what the verifier says of each: from memory and read in blocks,
 * which must agree. A case is a signature, a key, the bytes of the message (four, the least first) and the message. */
#include "harness.h"
#include "mote_ed25519.h"

void *read_block(size_t n);
int program(void);
uint8_t given[GIVEN];
const uint32_t given_bytes = GIVEN, harness_step_count = 1;

typedef struct {
    const uint8_t *data;
    uint32_t next; /* the offset that must be asked for */
} place_t;

static int read_place(void *from, uint32_t offset, uint8_t *to, uint32_t bytes) {
    place_t *place = from;
    if (offset != place->next || bytes == 0u || bytes > MOTE_READ_BYTES) return 1;
    for (uint32_t i = 0; i < bytes; i++) to[i] = place->data[offset + i];
    place->next += bytes;
    return 0;
}

static int read_nothing(void *from, uint32_t offset, uint8_t *to, uint32_t bytes) {
    (void)from, (void)to;
    return offset + bytes > 128u; /* fails at the second block */
}

int program(void) {
    for (uint32_t at = 0; at < given_bytes;) {
        const uint8_t *signature = read_block(64), *key = read_block(32), *size = read_block(4);
        const uint32_t bytes = size[0] | (uint32_t)size[1] << 8 | (uint32_t)size[2] << 16;
        place_t place = {read_block(bytes), 0};
        const mote_message_t mapped = {place.data, NULL, NULL, bytes}, stored = {NULL, read_place, &place, bytes};
        const mote_message_t broken = {NULL, read_nothing, NULL, bytes};
        int32_t said = (int32_t)mote_ed25519_verify(NULL, signature, key, &mapped);
#ifdef THOROUGH
        if (said != (int32_t)mote_ed25519_verify(NULL, signature, key, &stored)) return 1;
        if (place.next != bytes && place.next != 0u) return 2;
        if (bytes > 128u && said == (int32_t)MOTE_SIGNATURE_VALID &&
            mote_ed25519_verify(NULL, signature, key, &broken) != MOTE_SIGNATURE_UNREAD)
            return 3;
#else
        (void)stored, (void)broken;
#endif
        mote_trace(0, &said, 4);
        at += 100u + bytes;
    }
    return 0;
}
