/* mote_swar_armv6m.h: mote_swar.h on cores with 16-bit instructions only. */
#ifndef MOTE_SWAR_ARMV6M_H
#define MOTE_SWAR_ARMV6M_H

#include "mote_compiler.h"

#endif
