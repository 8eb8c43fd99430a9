/* mutants.c: damaged payloads against mote_npu_check, each in memory of exactly its size.
 *
 *     mutants SEED COUNT FILE... prints how many were tried, and how many were taken
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mote_npu_check.h"

static uint32_t next(uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33);
}

/* A number that is more likely to mean something than a random one. */
static uint32_t likely(uint64_t *random, uint32_t word) {
    switch (next(random) % 6u) {
    case 0:
        return word ^ (uint32_t)1 << next(random) % 32u;
    case 1:
        return word + (next(random) % 64u - 32u);
    case 2:
        return (word & 0xffffu) | next(random) << 16;
    case 3:
        return (word & 0xffff0000u) | (next(random) % 2u ? 0x4000u : 0x100u) | next(random) % 0x94u;
    case 4:
        return (uint32_t)0 - next(random) % 256u;
    default:
        return next(random) << 1;
    }
}

int main(int count, char **arguments) {
    uint64_t random = count > 3 ? strtoull(arguments[1], NULL, 10) : 0;
    long taken = 0, number = count > 3 ? strtol(arguments[2], NULL, 10) : 0;
    for (long i = 0; i < number; i++) {
        FILE *const file = fopen(arguments[3 + i % (count - 3)], "rb");
        static uint8_t content[1 << 20];
        if (file == NULL) {
            return 2;
        }
        size_t bytes = fread(content, 1, sizeof content, file);
        fclose(file);
        if (next(&random) % 16u == 0) {
            bytes = next(&random) % (bytes + 1);
        }
        uint8_t *const payload = malloc(bytes > 0 ? bytes : 1);
        memcpy(payload, content, bytes);
        for (uint32_t k = next(&random) % 4u; k > 0 && bytes >= 4; k--) {
            const size_t at = 4 * (next(&random) % (bytes / 4));
            uint32_t word;
            memcpy(&word, payload + at, 4);
            word = likely(&random, word);
            memcpy(payload + at, &word, 4);
        }
        uint32_t sizes[MOTE_NPU_REGIONS], at;
        for (uint32_t k = 0; k < MOTE_NPU_REGIONS; k++) {
            sizes[k] = next(&random) % 4u ? 1u << 20 : next(&random);
        }
        taken += mote_npu_check(payload, (uint32_t)bytes, sizes, next(&random) | 6u, &at) == MOTE_NPU_OK;
        if (at > bytes) {
            abort();
        }
        free(payload);
    }
    printf("%ld tried, %ld taken\n", number, taken);
    return 0;
}
