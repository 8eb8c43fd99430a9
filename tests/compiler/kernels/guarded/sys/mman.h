/* What rooms.c takes of this header, which C libraries for bare cores do not have: see guarded.c. */
#ifndef GUARDED_MMAN_H
#define GUARDED_MMAN_H

#include <stddef.h>
#include <sys/time.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 0x20

void *mmap(void *address, size_t bytes, int protection, int flags, int file, long offset);
int setitimer(int which, const struct itimerval *value, struct itimerval *before);

#endif
