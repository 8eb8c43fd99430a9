/* task.c: the model `network`, from the bytes of the line to its results. */
#include <stdio.h>
#include <string.h>

#include "mlperf.h"
#include "network.h"

/* NETWORK_INPUT_BYTES. A run overwrites the model's input, and N inferences of an input need it N times. */
static const void *given;

int task_begin(void)
{
    return network_init() == MOTE_OK;
}

int task_infer(void)
{
    int8_t *input = network_input();
    if (input == NULL) {
        return 0;
    }
    memcpy(input, given, NETWORK_INPUT_BYTES);
    return network_run() == MOTE_OK;
}

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

void task_load(const uint8_t *input)
{
    given = input;
}

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
