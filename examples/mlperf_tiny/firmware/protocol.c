/* protocol.c: the commands that MLPerf Tiny's runner sends, each ended by '%', and their answers, ended by "m-ready". */
#include <stdio.h>
#include <string.h>

#include "mlperf.h"

enum { MOST_INFERENCES = 10000000, BYTES_OF_A_LINE = 8 };

static char command[MLPERF_COMMAND + 1];
static size_t length; /* characters that were received; MLPERF_COMMAND + 1 stands for any number that is too large */
static uint8_t input[MLPERF_INPUT_BYTES];
static size_t expected, loaded; /* bytes that `db load` has announced, and those that have come */

static void timestamp(void)
{
#if MLPERF_ENERGY
    board_pulse(PIN_TIMESTAMP);
#else
    printf("m-lap-us-%lu\n", (unsigned long)board_microseconds());
#endif
}

/* The next word of a command, ended by a zero; NULL behind the last one. */
static const char *next_word(char **rest)
{
    char *word = *rest;
    while (*word == ' ') {
        word++;
    }
    if (*word == '\0') {
        return NULL;
    }
    char *end = word;
    while (*end != ' ' && *end != '\0') {
        end++;
    }
    if (*end == ' ') {
        *end++ = '\0';
    }
    *rest = end;
    return word;
}

static int is(const char *word, const char *name)
{
    return strcmp(word, name) == 0;
}

/* A decimal number from 0 to `most`, or -1. */
static long number(const char *word, long most)
{
    long value = 0;
    for (; *word != '\0'; word++) {
        if (*word < '0' || *word > '9') {
            return -1;
        }
        const int digit = *word - '0';
        if (value > (most - digit) / 10) {
            return -1;
        }
        value = 10 * value + digit;
    }
    return value;
}

/* The number in the next word, `otherwise` where there is none, -1 where it is no such number. */
static long optional(char **rest, long otherwise, long most)
{
    const char *word = next_word(rest);
    return word == NULL ? otherwise : number(word, most);
}

static int digit_of(char character)
{
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    if (character >= 'a' && character <= 'f') {
        return character - 'a' + 10;
    }
    if (character >= 'A' && character <= 'F') {
        return character - 'A' + 10;
    }
    return -1;
}

static void announce(char **rest)
{
    const long count = optional(rest, -1, MLPERF_INPUT_BYTES);
    if (count <= 0) {
        printf("e-[db load needs a number of bytes from 1 to %ld]\n", (long)MLPERF_INPUT_BYTES);
        return;
    }
    expected = (size_t)count;
    loaded = 0;
    printf("m-[Expecting %ld bytes]\n", count);
}

static void fill(const char *digits)
{
    const size_t count = strlen(digits);
    if (count % 2 != 0) {
        printf("e-[The number of hexadecimal digits is odd]\n");
        return;
    }
    if (expected == 0) {
        printf("e-[db load must come before data]\n");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (digit_of(digits[i]) < 0) {
            printf("e-[Invalid hexadecimal digit at %lu]\n", (unsigned long)i);
            return;
        }
    }
    for (size_t i = 0; i < count && loaded < expected; i += 2) {
        input[loaded++] = (uint8_t)((16 * digit_of(digits[i]) + digit_of(digits[i + 1])) ^ MLPERF_FLIP);
        if (loaded == expected) {
            printf("m-load-done\n");
        }
    }
}

static void print(char **rest)
{
    const long count = optional(rest, (long)expected, MLPERF_INPUT_BYTES);
    const long offset = optional(rest, 0, MLPERF_INPUT_BYTES);
    if (count < 0 || offset < 0) {
        printf("e-[db print takes a number of bytes and an offset, up to %ld]\n", (long)MLPERF_INPUT_BYTES);
        return;
    }
    const size_t from = (size_t)offset;
    const size_t end = (size_t)count < expected - (from < expected ? from : expected) ? from + (size_t)count : expected;
    for (size_t i = from; i < end; i++) {
        const size_t at = (i - from) % BYTES_OF_A_LINE;
        printf(at == 0 ? "m-buffer-%02x" : "-%02x", (unsigned)input[i] ^ MLPERF_FLIP);
        if (at == BYTES_OF_A_LINE - 1 || i + 1 == end) {
            printf("\n");
        }
    }
}

static void db(char **rest)
{
    const char *word = next_word(rest);
    if (word == NULL) {
        printf("e-[db needs load, print or hexadecimal digits]\n");
    } else if (is(word, "load")) {
        announce(rest);
    } else if (is(word, "print")) {
        print(rest);
    } else {
        fill(word);
    }
}

/* Whether all bytes of an input have come. */
static int is_whole(void)
{
    if (loaded == MLPERF_INPUT_BYTES) {
        return 1;
    }
    printf("e-[The input has %lu bytes, and the model takes %lu]\n", (unsigned long)loaded,
           (unsigned long)MLPERF_INPUT_BYTES);
    return 0;
}

static int inferences(long count)
{
    while (count-- > 0) {
        if (!task_infer()) {
            printf("e-[The inference failed]\n");
            return 0;
        }
    }
    return 1;
}

static void infer(char **rest)
{
    const long count = optional(rest, 1, MOST_INFERENCES);
    const long warm_up = optional(rest, 10, MOST_INFERENCES);
    if (count <= 0 || warm_up < 0) {
        printf("e-[infer takes a number of inferences from 1 and one of warm-ups from 0, up to %ld]\n",
               (long)MOST_INFERENCES);
        return;
    }
    if (!is_whole()) {
        return;
    }
    task_load(input);
    printf("m-warmup-start-%ld\n", warm_up);
    if (!inferences(warm_up)) {
        return;
    }
    printf("m-warmup-done\n");
    printf("m-infer-start-%ld\n", count);
    timestamp();
    if (!inferences(count)) {
        return;
    }
    timestamp();
    printf("m-infer-done\n");
    task_results();
}

static void help(void)
{
    printf(MLPERF_PROFILE "\n\n"
           "help                  this text\n"
           "name                  who this is\n"
           "profile               the firmware and its model\n"
           "timestamp             a stamp of the time\n"
           "db load N             expect an input of N bytes\n"
           "db HH...              the next bytes of it, in hexadecimal\n"
           "db print [N [FROM]]   N bytes of it from an offset on\n"
           "infer N [W]           N inferences that are timed, after W that are not (10)\n"
           "results               what the last inference gave\n");
#if MLPERF_AUDIO
    printf("extract_uart_stream   hear the samples that were loaded\n"
           "start                 listen\n"
           "stop                  end that, and print the scores of the wake word\n"
           "state                 whether it listens\n");
#endif
}

/* Commands of a model that listens. Whether this is one of them. */
static int audio(const char *word)
{
#if MLPERF_AUDIO
    if (is(word, "extract_uart_stream")) {
        if (is_whole() && (task_load(input), task_infer())) {
            task_activations();
        }
    } else if (is(word, "start")) {
        listen_start();
    } else if (is(word, "stop")) {
        listen_stop();
    } else if (is(word, "state")) {
        listen_state();
    } else {
        return 0;
    }
    return 1;
#else
    (void)word;
    return 0;
#endif
}

static void execute(char *text)
{
    char *rest = text;
    const char *word = next_word(&rest);
    if (word == NULL) {
        return; /* a runner ends a half-sent command so */
    }
    if (is(word, "name")) {
        printf("m-name-dut-[mote]\n");
    } else if (is(word, "profile")) {
        printf("m-profile-[" MLPERF_PROFILE "]\n");
        printf("m-model-[" MLPERF_MODEL "]\n");
    } else if (is(word, "timestamp")) {
        timestamp();
    } else if (is(word, "db")) {
        db(&rest);
    } else if (is(word, "infer")) {
        infer(&rest);
    } else if (is(word, "results")) {
        task_results();
    } else if (is(word, "help")) {
        help();
    } else if (!audio(word)) {
        printf("e-[Unknown command: %s]\n", word);
    }
}

void mlperf_receive(char character)
{
    if (character == '%') {
        if (length > MLPERF_COMMAND) {
            printf("e-[The command has more than %ld characters]\n", (long)MLPERF_COMMAND);
        } else {
            command[length] = '\0';
            execute(command);
        }
        length = 0;
        printf("m-ready\n");
        (void)fflush(stdout);
    } else if (character != '\0' && character != '\r' && character != '\n') {
        if (length < MLPERF_COMMAND) {
            command[length] = character;
        }
        length += length <= MLPERF_COMMAND;
    }
}

void mlperf_begin(void)
{
    printf(MLPERF_ENERGY ? "m-timestamp-mode-energy\n" : "m-timestamp-mode-performance\n");
    timestamp();
    if (!task_begin()) {
        printf("e-[The model cannot be initialised]\n");
    }
    printf("m-init-done\n");
    printf("m-ready\n");
    (void)fflush(stdout);
}
