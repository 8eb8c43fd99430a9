/* A plug-in for QEMU that writes down which basic blocks run, and what they read from read-only memory.
 *
 * What is used of QEMU's interface for plug-ins is declared here, by its documented names: no header of QEMU is needed.
 * The output is a stream of 32-bit words in the order of execution:
 *   0x00000000 + n               block number n is entered
 *   0x80000000 + s << 28 + o     2^s bytes are read at offset o of the memory that is watched
 *   0xF0000000, first, last      a block was translated: the next number, and where its instructions are
 * Arguments: fd=N (where to write), base=ADDRESS and size=BYTES (of the memory that is watched). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

typedef uint64_t Id;
struct Block;
struct Instruction;
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(Id id, void (*call)(Id id, struct Block *block));
void qemu_plugin_register_vcpu_tb_exec_cb(struct Block *block, void (*call)(unsigned cpu, void *data), int flags,
                                          void *data);
void qemu_plugin_register_vcpu_mem_cb(struct Instruction *instruction,
                                      void (*call)(unsigned cpu, uint32_t access, uint64_t address, void *data),
                                      int flags, int which, void *data);
void qemu_plugin_register_atexit_cb(Id id, void (*call)(Id id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct Block *block);
struct Instruction *qemu_plugin_tb_get_insn(const struct Block *block, size_t number);
uint64_t qemu_plugin_insn_vaddr(const struct Instruction *instruction);
unsigned qemu_plugin_mem_size_shift(uint32_t access);
_Bool qemu_plugin_mem_is_store(uint32_t access);

VISIBLE int qemu_plugin_version = MOTE_PLUGIN_VERSION;

static int output = 1;
static uint64_t base, size;
static uint32_t blocks;
static uint32_t words[1 << 16];
static size_t filled;

static void flush(void)
{
    const char *at = (const char *)words;
    size_t left = filled * sizeof words[0];
    while (left > 0) {
        ssize_t done = write(output, at, left);
        if (done <= 0)
            _exit(1); /* whoever reads has gone */
        at += done;
        left -= (size_t)done;
    }
    filled = 0;
}

static void say(uint32_t word)
{
    if (filled == sizeof words / sizeof words[0])
        flush();
    words[filled++] = word;
}

static void entered(unsigned cpu, void *data)
{
    (void)cpu;
    say((uint32_t)(uintptr_t)data);
}

/* Called for writes, too: asked for reads only, QEMU 7.2 tells of writes only. */
static void accessed(unsigned cpu, uint32_t access, uint64_t address, void *data)
{
    (void)cpu, (void)data;
    if (address - base < size && !qemu_plugin_mem_is_store(access))
        say(0x80000000u | (uint32_t)qemu_plugin_mem_size_shift(access) << 28 | (uint32_t)(address - base));
}

static void translated(Id id, struct Block *block)
{
    size_t count = qemu_plugin_tb_n_insns(block);
    (void)id;
    say(0xF0000000u);
    say((uint32_t)qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, 0)));
    say((uint32_t)qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(block, count - 1)));
    qemu_plugin_register_vcpu_tb_exec_cb(block, entered, NO_REGISTERS, (void *)(uintptr_t)blocks++);
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), accessed, NO_REGISTERS, READS_AND_WRITES, NULL);
}

static void ended(Id id, void *data)
{
    (void)id, (void)data;
    flush();
}

VISIBLE int qemu_plugin_install(Id id, const void *info, int count, char **arguments)
{
    (void)info;
    for (int i = 0; i < count; i++) {
        const char *value = strchr(arguments[i], '=');
        uint64_t number = value ? strtoull(value + 1, NULL, 0) : 0;
        if (arguments[i][0] == 'f')
            output = (int)number;
        else if (arguments[i][0] == 'b')
            base = number;
        else
            size = number;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
