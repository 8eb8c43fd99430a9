/* campaign.c: damaged images, one after another in one process.
 *
 *     campaign SEED FIRST+COUNT FILE... so many mutants of these images, which the seed and their numbers tell apart
 *     campaign every VALUES FILE...     every beginning of the images, and every byte with so many other values
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "attempt.h"
#include "mutants.h"

#define MOST_FILES 4096

static uint8_t *images[MOST_FILES];
static size_t sizes[MOST_FILES];
static int files;
static long tried, taken, ran, about; /* `about`: what is being tried */
static const char *file;
static int refused; /* images that are not damaged */

/* Sanitizers, which print what they saw, then come to `stop`. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void) { return "abort_on_error=1"; }
const char *__ubsan_default_options(void) { return "abort_on_error=1:print_stacktrace=1"; }

/* What was being tried when the process ends before its time. */
static void stop(int number) {
    fprintf(stderr, "\nFINDING: number %ld, %s (signal %d)\n", about, file, number);
    _exit(1);
}

static void load(const char *name) {
    FILE *const from = fopen(name, "rb");
    if (from == NULL || files == MOST_FILES) {
        fprintf(stderr, "cannot read %s\n", name);
        exit(2);
    }
    fseek(from, 0, SEEK_END);
    sizes[files] = (size_t)ftell(from);
    rewind(from);
    images[files] = malloc(sizes[files] > 0 ? sizes[files] : 1);
    if (fread(images[files], 1, sizes[files], from) != sizes[files]) {
        exit(2);
    }
    fclose(from);
    files++;
}

/* One image with a checksum that is right, which the runtime finds to be so; that takes long of large ones. */
static void one(uint8_t *image, size_t bytes) {
    alarm(30);
    mutant_repair(image, (uint32_t)bytes);
    if ((bytes <= 4096 || tried % 64 == 0) && attempt_crc(image, bytes) == MOTE_DAMAGED) {
        abort();
    }
    const attempt_t found = attempt(image, bytes);
    alarm(0);
    tried++;
    taken += found.status == MOTE_OK;
    ran += found.ran;
}

/* Mutant `number` of a seed. */
static void one_mutant(uint64_t seed, long number, char **names) {
    uint64_t random = seed * 0x9e3779b97f4a7c15u + (uint64_t)number;
    for (int i = 0; i < 4; i++) {
        mutant_random(&random);
    }
    const uint32_t which = mutant_random(&random) % (uint32_t)files;
    uint8_t *const image = malloc(sizes[which]);
    memcpy(image, images[which], sizes[which]);
    mutant(image, (uint32_t)sizes[which], &random);
    about = number;
    file = names[which];
    one(image, sizes[which]);
    free(image);
}

/* All beginnings of an image, also those whose header agrees, and all its bytes, changed. */
static void every(int which, long values) {
    const size_t bytes = sizes[which];
    uint8_t *const image = malloc(bytes);
    memcpy(image, images[which], bytes);
    uint64_t random = 1;
    for (size_t i = 0; i < bytes; i++) {
        about = (long)i;
        one(image, i);
        if (i > sizeof(mote_header_t)) {
            const uint32_t cut = (uint32_t)i;
            memcpy(image + offsetof(mote_header_t, bytes), &cut, 4);
            one(image, i);
            memcpy(image, images[which], sizeof(mote_header_t));
        }
        for (long k = 0; k < values; k++) {
            image[i] = (uint8_t)(images[which][i] ^ (1u + mutant_random(&random) % 255u));
            one(image, bytes);
        }
        memcpy(image, images[which], sizeof(mote_header_t));
        image[i] = images[which][i];
    }
    free(image);
}

int main(int count, char **arguments) {
    if (count < 4) {
        return 2;
    }
    signal(SIGALRM, stop);
    signal(SIGABRT, stop);
    for (int i = 3; i < count; i++) {
        load(arguments[i]);
    }
    for (int i = 0; i < files; i++) { /* what is not damaged runs */
        file = arguments[3 + i];
        about = -1;
        const attempt_t found = attempt(images[i], sizes[i]);
        if (found.status != MOTE_OK) {
            fprintf(stderr, "FINDING: %s is refused: %s (%s)\n", file,
                    *found.problem.what ? found.problem.what : mote_status_text(found.status), found.problem.name);
            refused++;
        }
    }
    char *plus;
    const long number = strtol(arguments[2], &plus, 10);
    if (strcmp(arguments[1], "every") == 0) {
        for (int i = 0; i < files; i++) {
            file = arguments[3 + i];
            every(i, number);
        }
    } else {
        const uint64_t seed = strtoull(arguments[1], NULL, 10);
        for (long i = number, end = number + strtol(plus, NULL, 10); i < end; i++) {
            one_mutant(seed, i, arguments + 3);
        }
    }
    printf("%ld tried, %ld taken, %ld inferences\n", tried, taken, ran);
    return refused > 0;
}
