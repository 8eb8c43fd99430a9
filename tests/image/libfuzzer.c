/* libfuzzer.c: the same for libFuzzer, which looks for images that reach new code. */
#include <stddef.h>
#include <stdint.h>

#include "attempt.h"
#include "mutants.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    attempt(data, bytes);
    return 0;
}

/* Mostly numbers where numbers are; now and then anything. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned int seed) {
    uint64_t random = seed;
    if (bytes < sizeof(mote_header_t) || mutant_random(&random) % 16 == 0) {
        return LLVMFuzzerMutate(data, bytes, most);
    }
    mutant(data, (uint32_t)bytes, &random);
    return bytes;
}
