/* What the parts of the firmware know of each other. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

#include "stdio.h"

/* In board.c, made for the part. */
void mote_set_up_memories(void);
void mote_set_up_console(void);
void mote_write(const char *text);
void mote_put(char character); /* as it is */
/* A character that was received: -1 where there is none. By semihosting it is waited for. */
int mote_read(void);
void mote_exit(int status);

/* In console.c: numbers without printf, which brings the printing of reals with it. */
void mote_print_decimal(unsigned long value);
void mote_print_hexadecimal(unsigned long value);

#endif
