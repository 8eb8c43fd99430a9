// A board around a core in RTL that Verilator has translated: memory that answers in the next cycle, files of the host,
// and a trace of the instructions that retire.
//
//   board IMAGE CUTS TRACE CYCLES
//
// IMAGE holds segments: address, bytes, data. CUTS are addresses at which a basic block is split. TRACE is the stream of
// words of the profiler's plug-in for QEMU: 0xF0000000, first, last (a new block), its number, and 0x80000000 + s << 28
// + o for 2^s bytes read at the offset o of read-only memory. CYCLES has a word for each block that ran: the cycles from
// the retirement of the instruction before it to that of its last one.
//
// The program calls the host by the mailbox: an operation of semihosting, the address of its block, then the answer. Two
// more words are a counter with four ticks for each instruction that has retired.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "Vboard.h"

namespace {

constexpr uint32_t SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT_EXTENDED = 0x20;
constexpr uint64_t TICKS = 4;
constexpr uint32_t OPERATION = 0, BLOCK = 4, ANSWER = 8;

[[noreturn]] void stop(const char *what, uint32_t address, uint32_t pc)
{
    std::printf("%s %#x after the instruction at %#x\n", what, (unsigned)address, (unsigned)pc);
    std::exit(1);
}

std::vector<uint8_t> contents(const char *path)
{
    std::FILE *file = std::fopen(path, "rb");
    if (!file) {
        std::printf("cannot open %s\n", path);
        std::exit(1);
    }
    std::vector<uint8_t> data;
    uint8_t buffer[1 << 16];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
        data.insert(data.end(), buffer, buffer + n);
    std::fclose(file);
    return data;
}

uint32_t word(const uint8_t *at)
{
    uint32_t value;
    std::memcpy(&value, at, 4);
    return value;
}

// Bytes from the first memory of the board to its last; pages that nobody touches take no room.
class Memory {
public:
    Memory() : data(static_cast<uint8_t *>(std::calloc(MOTE_MEMORY_SIZE, 1))) {}

    uint8_t *at(uint32_t address, uint32_t bytes)
    {
        uint32_t offset = address - MOTE_VECTORS;
        return offset < MOTE_MEMORY_SIZE && bytes <= MOTE_MEMORY_SIZE - offset ? data + offset : nullptr;
    }
    uint32_t load(uint32_t address)
    {
        const uint8_t *from = at(address & ~3u, 4);
        return from ? word(from) : 0;
    }
    void store(uint8_t *to, uint32_t value, unsigned bytes)
    {
        for (int i = 0; i < 4; i++)
            if (bytes >> i & 1)
                to[i] = static_cast<uint8_t>(value >> 8 * i);
    }

private:
    uint8_t *data;
};

// The four calls that the harness makes. Reading and writing return the bytes left over.
class Host {
public:
    explicit Host(Memory &memory) : memory(memory) {}

    uint32_t call(uint32_t operation, uint32_t block, uint32_t pc)
    {
        uint32_t first = argument(block, 0, pc), second = argument(block, 1, pc);
        if (operation == SYS_EXIT_EXTENDED) {
            exited = true;
            status = static_cast<int>(second);
            return 0;
        }
        uint32_t third = argument(block, 2, pc);
        if (operation == SYS_OPEN) {
            std::string name(reinterpret_cast<char *>(place(first, third, pc)), third);
            files.push_back(std::fopen(name.c_str(), second >= 4 ? "wb" : "rb"));
            return files.back() ? static_cast<uint32_t>(files.size() - 1) : UINT32_MAX;
        }
        if ((operation != SYS_READ && operation != SYS_WRITE) || first >= files.size())
            stop("unknown call of the host", operation, pc);
        uint8_t *data = place(second, third, pc);
        size_t done = operation == SYS_READ ? std::fread(data, 1, third, files[first])
                                            : std::fwrite(data, 1, third, files[first]);
        return third - static_cast<uint32_t>(done);
    }
    void close()
    {
        for (std::FILE *file : files)
            if (file)
                std::fclose(file);
    }

    bool exited = false;
    int status = 0;

private:
    uint8_t *place(uint32_t address, uint32_t bytes, uint32_t pc)
    {
        uint8_t *at = memory.at(address, bytes);
        return at ? at : (stop("the host was given the address", address, pc), nullptr);
    }
    uint32_t argument(uint32_t block, uint32_t n, uint32_t pc) { return word(place(block + 4 * n, 4, pc)); }

    Memory &memory;
    std::vector<std::FILE *> files;
};

// The basic blocks that run: a block ends with a jump or branch, before a place that something jumps to, or at a cut.
class Blocks {
public:
    Blocks(Memory &memory, const char *cuts, const char *trace, const char *cycles)
        : memory(memory), trace(std::fopen(trace, "wb")), cycles(std::fopen(cycles, "wb"))
    {
        std::vector<uint8_t> data = contents(cuts);
        for (size_t i = 0; i + 4 <= data.size(); i += 4)
            this->cuts.insert(word(&data[i]));
    }

    void retired(uint32_t pc, uint64_t cycle)
    {
        if (count && (pc != next || jumped || cuts.count(pc)))
            end();
        if (!count)
            first = pc;
        const uint8_t *at = memory.at(pc, 2);
        uint32_t half = at ? at[0] | at[1] << 8 : 0;
        last = pc;
        next = pc + ((half & 3) == 3 ? 4 : 2);
        jumped = jumps(half);
        now = cycle;
        count++;
        total++;
    }
    void loaded(uint32_t address, unsigned bytes)
    {
        uint32_t offset = address - MOTE_ROM;
        uint32_t lowest = bytes & 1 ? 0 : bytes & 2 ? 1 : bytes & 4 ? 2 : 3;
        uint32_t size = bytes == 15 ? 2 : bytes == 3 || bytes == 6 || bytes == 12 ? 1 : 0;
        if (offset < MOTE_ROM_SIZE)
            loads.push_back(0x80000000u | size << 28 | (offset + lowest));
    }
    void finish()
    {
        if (count)
            end();
        std::fclose(trace);
        std::fclose(cycles);
    }

    uint64_t total = 0;
    uint32_t last = 0;

private:
    static bool jumps(uint32_t half)
    {
        uint32_t function = half >> 13 & 7;
        switch (half & 3) {
        case 1:
            return function == 1 || function >= 5;
        case 2:
            return function == 4 && (half >> 2 & 31) == 0 && (half >> 7 & 31) != 0;
        case 3:
            return (half & 0x7F) == 0x63 || (half & 0x7F) == 0x67 || (half & 0x7F) == 0x6F;
        default:
            return false;
        }
    }
    static void put(std::FILE *file, uint32_t value) { std::fwrite(&value, 4, 1, file); }

    void end()
    {
        uint64_t key = static_cast<uint64_t>(first) << 32 | last;
        auto known = numbers.emplace(key, static_cast<uint32_t>(numbers.size()));
        if (known.second) {
            put(trace, 0xF0000000u);
            put(trace, first);
            put(trace, last);
        }
        put(trace, known.first->second);
        for (uint32_t load : loads)
            put(trace, load);
        loads.clear();
        put(cycles, static_cast<uint32_t>(now - before));
        before = now;
        count = 0;
    }

    Memory &memory;
    std::FILE *trace, *cycles;
    std::unordered_set<uint32_t> cuts;
    std::unordered_map<uint64_t, uint32_t> numbers;
    std::vector<uint32_t> loads;
    uint32_t first = 0, next = 0, count = 0;
    bool jumped = false;
    uint64_t now = 0, before = 0;
};

void fill(Memory &memory, const char *path)
{
    std::vector<uint8_t> image = contents(path);
    for (size_t at = 0; at + 8 <= image.size();) {
        uint32_t address = word(&image[at]), bytes = word(&image[at + 4]);
        uint8_t *to = memory.at(address, bytes);
        if (!to || bytes > image.size() - at - 8)
            stop("the program has a segment at", address, 0);
        std::memcpy(to, &image[at + 8], bytes);
        at += 8 + bytes;
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    static Memory memory;
    Host host(memory);
    fill(memory, argv[1]);
    Blocks blocks(memory, argv[2], argv[3], argv[4]);
    VerilatedContext context;
    Vboard core(&context);
    uint32_t mailbox[5] = {0, 0, 0, 0, 0};
    core.rst_n = 0;
    for (uint64_t cycle = 0; !host.exited; cycle++) {
        core.clk = 0;
        if (cycle == 8)
            core.rst_n = 1;
        core.eval();
        bool fetch = core.fetch, access = core.access && core.rst_n;
        uint32_t fetch_address = core.fetch_address, address = core.address & ~3u;
        uint32_t loaded = 0;
        if (core.retired && core.rst_n)
            blocks.retired(core.pc, cycle);
        if (core.halted)
            stop("the core trapped; its next address is", core.pc, blocks.last);
        if (access) {
            uint32_t offset = address - MOTE_MAILBOX;
            if (offset < sizeof mailbox) {
                mailbox[3] = static_cast<uint32_t>(blocks.total * TICKS);
                mailbox[4] = static_cast<uint32_t>(blocks.total * TICKS >> 32);
                loaded = mailbox[offset / 4];
                if (core.write)
                    mailbox[offset / 4] = core.stored;
                if (core.write && offset == BLOCK)
                    mailbox[ANSWER / 4] = host.call(mailbox[OPERATION / 4], mailbox[BLOCK / 4], blocks.last);
            } else if (uint8_t *at = memory.at(address, 4)) {
                if (core.write)
                    memory.store(at, core.stored, core.bytes);
                else {
                    loaded = word(at);
                    blocks.loaded(address, core.bytes);
                }
            } else {
                stop("there is no memory at", address, blocks.last);
            }
        }
        core.clk = 1;
        core.eval();
        if (fetch)
            core.fetched = memory.load(fetch_address);
        if (access)
            core.loaded = loaded;
    }
    core.final();
    blocks.finish();
    host.close();
    if (host.status)
        std::printf("exit status %d\n", host.status);
    return host.status != 0;
}
