/* libfuzzer.c: the same for libFuzzer, which looks for images that reach new code. */
#include <stddef.h>
#include <stdint.h>

#include "attempt.h"
#include "mutants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (attempt_crc(data, bytes) != MOTE_DAMAGED) {
        attempt(data, bytes);
    }
    return 0;
}

/* Mostly numbers where numbers are; now and then anything. The checksum is right in both. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned int seed) {
    uint64_t random = seed;
    if (bytes < sizeof(mote_header_t) || mutant_random(&random) % 16 == 0) {
        const size_t made = LLVMFuzzerMutate(data, bytes, most);
        mutant_repair(data, (uint32_t)made);
        return made;
    }
    mutant(data, (uint32_t)bytes, &random);
    return bytes;
}
