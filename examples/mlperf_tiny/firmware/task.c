/* task.c: the model `network`, from the bytes of the line to its results. */
#include <stdio.h>
#include <string.h>

#include "mlperf.h"
#include "network.h"

int task_begin(void)
{
    return network_init() == MOTE_OK;
}

#if !MLPERF_AUDIO

/* NETWORK_INPUT_BYTES. A run overwrites the model's input, and N inferences of an input need it N times. */
static const void *given;

int task_infer(void)
{
    int8_t *input = network_input();
    if (input == NULL) {
        return 0;
    }
    memcpy(input, given, NETWORK_INPUT_BYTES);
    return network_run() == MOTE_OK;
}

#endif

#if MLPERF_FLOATS

static const uint8_t *reals; /* float32, least significant byte first */
static int8_t quantized[NETWORK_INPUT_SIZE];

static float real(size_t index)
{
    const uint8_t *at = reals + 4 * index;
    const uint32_t bits = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void task_load(const uint8_t *input)
{
    reals = input;
    for (size_t i = 0; i < NETWORK_INPUT_SIZE; i++) {
        quantized[i] = network_quantize(real(i));
    }
    given = quantized;
}

/* The mean squared difference of input and output. */
void task_results(void)
{
    const int8_t *output = network_output();
    float sum = 0.0f;
    for (size_t i = 0; output != NULL && reals != NULL && i < NETWORK_OUTPUT_SIZE; i++) {
        const float difference = network_dequantize(output[i]) - real(i);
        sum += difference * difference;
    }
    printf("m-results-[%.3f]\n", (double)(sum / (float)NETWORK_OUTPUT_SIZE));
}

#else

#if MLPERF_AUDIO

enum { VALUES = MLPERF_INPUT_BYTES / 2 };
static int16_t samples[VALUES];

/* Samples of 16 bits, least significant byte first. */
void task_load(const uint8_t *input)
{
    for (size_t i = 0; i < VALUES; i++) {
        const int32_t value = (int32_t)input[2 * i] | (int32_t)input[2 * i + 1] << 8;
        samples[i] = (int16_t)(value < 32768 ? value : value - 65536);
    }
}

int task_hear(const int16_t *values, size_t count, int8_t *score)
{
    const mote_status status = network_push(values, count / NETWORK_INPUT_ROW_SIZE);
    *score = network_output()[0];
    return status == MOTE_OK ? 1 : status == MOTE_WAITING ? 0 : -1;
}

void task_forget(void)
{
    (void)network_init();
}

int task_infer(void)
{
    int8_t score;
    return task_hear(samples, VALUES, &score) >= 0;
}

void task_activations(void)
{
    const int8_t *output = network_output();
    printf("m-activations-[");
    for (size_t i = 0; i < NETWORK_OUTPUT_SIZE; i++) {
        printf(i == 0 ? "%d" : ", %d", (int)output[i]);
    }
    printf("]\n");
}

#else

void task_load(const uint8_t *input)
{
    given = input;
}

#endif

void task_results(void)
{
    const int8_t *output = network_output();
    printf("m-results-[");
    for (size_t i = 0; output != NULL && i < NETWORK_OUTPUT_SIZE; i++) {
        printf(i == 0 ? "%.3f" : ",%.3f", (double)network_dequantize(output[i]));
    }
    printf("]\n");
}

#endif
