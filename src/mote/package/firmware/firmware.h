/* What the parts of the firmware know of each other. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

#include "stdio.h"

/* In board.c, made for the part. */
void mote_set_up_memories(void);
void mote_set_up_console(void);
void mote_write(const char *text);
void mote_exit(int status);

#endif
