/* The part of <stdio.h> that the firmware's console has: no heap and no files. Only a program that calls printf links
 * it, with the printing of reals: about 1.5 kilobytes of code. */
#ifndef FIRMWARE_STDIO_H
#define FIRMWARE_STDIO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EOF (-1)

typedef struct mote_file FILE;

extern FILE *const stdout;
extern FILE *const stderr;

/* %c %s %d %i %u %x %f %e %g %%, with h, l, ll, z, a width, a precision, `-` and `0`. Reals are those of float32. */
int printf(const char *format, ...);
int putchar(int character);
int puts(const char *text);
int fputc(int character, FILE *file);
int fputs(const char *text, FILE *file);
size_t fwrite(const void *data, size_t size, size_t count, FILE *file);
int fflush(FILE *file);

#ifdef __cplusplus
}
#endif

#endif
