/* The port of the agent to a board of yours: fill in the three functions that say so, then the rest as you need it.
 * mote_agent.h describes each function; mote_rtt.c is a line over a debug probe. */
#include "mote_agent.h"
#include "mote_counter.h"
#ifdef MOTE_PORT_RTT
#include "mote_rtt.h"
#endif

static uint32_t counts;

int mote_port_read(void) {
#ifdef MOTE_PORT_RTT
    return mote_rtt_read();
#else
#error "return the next byte that your UART has received, or -1; or compile with MOTE_PORT_RTT"
#endif
}

void mote_port_write(const uint8_t *data, uint32_t bytes) {
#ifdef MOTE_PORT_RTT
    mote_rtt_write(data, bytes);
#else
#error "send these bytes over your UART; or compile with MOTE_PORT_RTT"
#endif
}

/* A core without a counter: read a timer here that counts up to 2^32. */
uint32_t mote_port_cycles(void) { return mote_counter_read(); }

void mote_port_mark(unsigned step) { (void)step; /* toggle a pin for an energy meter */ }

void mote_port_restart(void) { /* reset the part */ }

void mote_port_fresh_caches(void) {}

void mote_port_new_code(void) {}

void mote_port_identify(mote_agent_identity *identity) {
    identity->core = mote_core_id();
    identity->clock_hz = MOTE_PART_CLOCK; /* as your start-up code sets it */
    identity->counter = counts ? MOTE_COUNTER : MOTE_COUNTER_NONE;
    identity->counter_hz = counts ? MOTE_PART_CLOCK : 0u;
    identity->flash_waits = MOTE_PART_WAITS;
    identity->boots = 0;
}

/* The lowest address of the stack, for its measurement. */
uint8_t *mote_port_stack(void) { return 0; }

int main(void) {
    /* Set up clocks and the UART here. */
#ifdef MOTE_PORT_RTT
    mote_rtt_start();
#endif
    counts = (uint32_t)mote_counter_start();
    mote_agent_reset();
    for (;;) {
        mote_agent_poll();
    }
}
