/* mote_lines4_s8.h: mote_lines_s8.h, with sums and products of four elements at a time. */
#ifndef MOTE_LINES4_S8_H
#define MOTE_LINES4_S8_H

#include "mote_add4_s8.h"
#include "mote_lines_s8.h"
#include "mote_mul4_s8.h"

#endif
