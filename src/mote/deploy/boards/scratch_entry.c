/* A model in the scratch memory of an agent: makes itself the agent's model, and hands its hook between steps on. */
#include "mote_agent.h"

/* From the linker script. */
extern uint32_t mote_scratch_zeros[], mote_scratch_end[];

static const mote_agent_services *agent;

uint32_t mote_scratch_entry(uint32_t argument, const mote_agent_services *services);
uint32_t mote_scratch_entry(uint32_t argument, const mote_agent_services *services)
{
    for (volatile uint32_t *at = mote_scratch_zeros; at < mote_scratch_end; at++) {
        *at = 0;
    }
    (void)argument;
    agent = services;
    return (uint32_t)services->use(&mote_model);
}

void mote_agent_step(uint32_t step, const void *data, size_t bytes) { agent->step(step, data, bytes); }

/* newlib's math functions set errno, and its own errno brings a kilobyte of reentrancy state with it. */
int *__errno(void);
int *__errno(void)
{
    static int value;
    return &value;
}
