#include "mote_barrier.h"
void meet(uint32_t c){ mote_barrier(c);}
