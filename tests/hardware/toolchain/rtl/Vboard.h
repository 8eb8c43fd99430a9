// Stands in for a core that Verilator has translated: what it does in each cycle is a line of the file `script`.
#pragma once
#include <cstdint>
#include <cstdio>

struct VerilatedContext {};

// fetch fetch_address access write bytes address stored retired pc halted; what comes back goes to `answers`.
class Vboard {
public:
    explicit Vboard(VerilatedContext *) : script(std::fopen("script", "r")), answers(std::fopen("answers", "w")) {}

    void eval()
    {
        if (!rst_n || clk)
            return;
        std::fprintf(answers, "%x %x\n", (unsigned)fetched, (unsigned)loaded);
        unsigned v[10] = {0};
        for (unsigned &x : v)
            if (std::fscanf(script, "%x", &x) != 1)
                halted = 1;
        fetch = v[0] != 0, fetch_address = v[1], access = v[2] != 0, write = v[3] != 0, bytes = (uint8_t)v[4];
        address = v[5], stored = v[6], retired = v[7] != 0, pc = v[8];
        halted |= v[9] != 0;
    }
    void final() { std::fclose(answers); }

    uint8_t clk = 0, rst_n = 0, fetch = 0, access = 0, write = 0, bytes = 0, retired = 0, halted = 0;
    uint32_t fetch_address = 0, address = 0, stored = 0, pc = 0, fetched = 0, loaded = 0;

private:
    std::FILE *script, *answers;
};
