/* A plug-in for QEMU that counts the instructions of two cores between two functions, apart from those of a third, in
 * which they wait for each other. What is used of QEMU's interface for plug-ins is declared here.
 *
 * Arguments: begin=, end= and from=, to= of the waiting function, all addresses. Prints for the last time from begin to
 * end: instructions of core 0, of core 1, those of the longer one between any two barriers, added up, and barriers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

typedef uint64_t Id;
struct Block;
struct Instruction;

void qemu_plugin_register_vcpu_tb_trans_cb(Id id, void (*call)(Id id, struct Block *block));
void qemu_plugin_register_vcpu_tb_exec_cb(struct Block *block, void (*call)(unsigned cpu, void *data), int flags,
                                          void *data);
void qemu_plugin_register_atexit_cb(Id id, void (*call)(Id id, void *data), void *data);
void qemu_plugin_outs(const char *text);
size_t qemu_plugin_tb_n_insns(const struct Block *block);
struct Instruction *qemu_plugin_tb_get_insn(const struct Block *block, size_t number);
uint64_t qemu_plugin_insn_vaddr(const struct Instruction *instruction);

VISIBLE int qemu_plugin_version = MOTE_PLUGIN_VERSION;

enum { CORES = 2, MOST = 1 << 16 };
static struct {
    uint64_t begin, end, from, to;
} at;
static uint64_t pieces[CORES][MOST]; /* instructions before, between and after the barriers that a core has come to */
static uint32_t met[CORES];          /* how many these are */
static uint32_t first, last;         /* of core 0, at begin and at end */

struct Run {
    uint64_t address;
    uint64_t instructions;
};

static void entered(unsigned cpu, void *data)
{
    const struct Run *run = data;
    if (cpu >= CORES)
        return;
    if (cpu == 0 && run->address == at.begin) {
        first = met[0];
        pieces[0][first] = 0;
    } else if (cpu == 0 && run->address == at.end) {
        last = met[0];
        pieces[0][last + 1] = pieces[0][last]; /* before it goes on */
    } else if (run->address == at.from && met[cpu] + 2 < MOST) {
        pieces[cpu][++met[cpu]] = 0;
    } else if (run->address < at.from || run->address >= at.to) {
        pieces[cpu][met[cpu]] += run->instructions;
    }
}

static void translated(Id id, struct Block *block)
{
    struct Run *run = malloc(sizeof *run);
    (void)id;
    if (!run)
        abort();
    run->address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0));
    run->instructions = qemu_plugin_tb_n_insns(block);
    qemu_plugin_register_vcpu_tb_exec_cb(block, entered, 0, run);
}

static void ended(Id id, void *data)
{
    char text[160];
    uint64_t sums[CORES] = {0, 0}, longer = 0;
    (void)id, (void)data;
    /* Before the first barrier and after the last one core 1 does nothing for this inference. */
    for (uint32_t i = first; i <= last; i++) {
        const uint64_t mine = pieces[0][i == last ? last + 1 : i], other = i > first && i < last ? pieces[1][i] : 0;
        sums[0] += mine;
        sums[1] += other;
        longer += mine > other ? mine : other;
    }
    snprintf(text, sizeof text, "core_0 %llu core_1 %llu longer %llu barriers %u\n", (unsigned long long)sums[0],
             (unsigned long long)sums[1], (unsigned long long)longer, (unsigned)(last - first));
    qemu_plugin_outs(text);
}

VISIBLE int qemu_plugin_install(Id id, const void *info, int count, char **arguments)
{
    (void)info;
    for (int i = 0; i < count; i++) {
        const char *value = strchr(arguments[i], '=');
        const uint64_t number = value ? strtoull(value + 1, NULL, 0) : 0;
        switch (arguments[i][0]) {
        case 'b': at.begin = number; break;
        case 'e': at.end = number; break;
        case 'f': at.from = number; break;
        default: at.to = number; break;
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
