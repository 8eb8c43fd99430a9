/* An AVR part in libsimavr with the harness's files behind one register: `out GPIOR0, r24` is a service of this program.
 *
 *     board MCU FLASH [TRACE]
 *
 * The memories are larger than those of the part: it measures a model, and does not decide whether it fits. TRACE gets
 * the first and the last address of every run of instructions that was executed, in order. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <simavr/sim_avr.h>
#include <simavr/sim_io.h>

enum { GPIOR0 = 0x3e, MOST_RAM = 0xffff };
enum service { READ = 1, WRITE, EXIT, TICKS, HIGH };

static FILE *inputs, *results;
static int status = -1;

static uint32_t pair(const avr_t *avr, int low) { return avr->data[low] | (uint32_t)avr->data[low + 1] << 8; }

/* The registers are the first bytes of data memory: r24 the service, r23:r22 an address, r21:r20 a number of bytes. */
static void serve(avr_t *avr, avr_io_addr_t address, uint8_t value, void *parameter)
{
    const uint32_t at = pair(avr, 22), bytes = pair(avr, 20);
    size_t done = bytes;
    (void)address, (void)parameter;
    switch (value) {
    case READ:
        if (at + bytes <= MOST_RAM + 1u)
            done = bytes - fread(avr->data + at, 1, bytes, inputs);
        break;
    case WRITE:
        if (at + bytes <= MOST_RAM + 1u)
            done = bytes - fwrite(avr->data + at, 1, bytes, results);
        break;
    case EXIT:
        status = (int)at;
        break;
    case TICKS:
    case HIGH:
        for (int i = 0; i < 4; i++)
            avr->data[22 + i] = (uint8_t)(avr->cycle >> (8 * i + (value == HIGH ? 32 : 0)));
        return;
    default:
        fprintf(stderr, "unknown service %u\n", value);
        status = 4;
    }
    avr->data[24] = (uint8_t)done, avr->data[25] = (uint8_t)(done >> 8);
}

static size_t load(avr_t *avr, const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t bytes = file == NULL ? 0 : fread(avr->flash, 1, avr->flashend + 1, file);
    if (file != NULL)
        fclose(file);
    return bytes;
}

/* Bytes of an instruction: lds, sts, jmp and call have a second word. */
static uint32_t size(const avr_t *avr, uint32_t at)
{
    const uint32_t word = avr->flash[at] | (uint32_t)avr->flash[at + 1] << 8;
    return (word & 0xfc0f) == 0x9000 || (word & 0xfe0c) == 0x940c ? 4 : 2;
}

int main(int count, char **words)
{
    avr_t *avr = count < 3 ? NULL : avr_make_mcu_by_name(words[1]);
    FILE *trace = count > 3 ? fopen(words[3], "wb") : NULL;
    inputs = fopen("mote_inputs.bin", "rb");
    results = fopen("mote_results.bin", "wb");
    if (avr == NULL || inputs == NULL || results == NULL || (count > 3 && trace == NULL)) {
        fprintf(stderr, "usage: board MCU FLASH [TRACE], in a folder with mote_inputs.bin\n");
        return 5;
    }
    avr->ramend = MOST_RAM;
    avr->flashend = avr->address_size == 2 ? 0x1ffff : 0x3ffff;
    avr_init(avr);
    avr->frequency = 16000000;
    if (load(avr, words[2]) == 0)
        return 5;
    avr->codeend = avr->flashend;
    avr_register_io_write(avr, GPIOR0, serve, NULL);
    uint32_t first = 0;
    while (status < 0) {
        const uint32_t at = avr->pc;
        avr->run_cycle_limit = avr->run_cycle_count = trace == NULL ? 100000 : 1;
        const int state = avr_run(avr);
        if (state == cpu_Crashed || state == cpu_Done || state == cpu_Sleeping) {
            fprintf(stderr, "the core stopped at 0x%05x\n", (unsigned)avr->pc);
            status = 2;
        }
        if (trace != NULL) {
            if (avr->pc != at + size(avr, at) || status >= 0) {
                const uint32_t run[2] = {first, at};
                fwrite(run, sizeof run, 1, trace);
                first = avr->pc;
            }
        }
    }
    if (fclose(results) != 0 || (trace != NULL && fclose(trace) != 0))
        return 6;
    return status;
}
