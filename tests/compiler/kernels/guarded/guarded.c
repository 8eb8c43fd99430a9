/* guarded.c: what a program for a bare Arm core needs to run as one of Linux, under an emulator of its instructions only,
 * with memory in which assembly can be caught: behind every block of malloc is a page that nobody may touch. A block
 * begins at a multiple of four and ends where that page begins, but for up to three bytes.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE 4096u
#define MOST_BLOCKS 4096

enum { EXIT = 248, READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6, SEEK = 19, MAP = 192, PROTECT = 125, UNMAP = 91 };

static long ask(long number, long a, long b, long c, long d, long e, long f) {
    register long r7 __asm__("r7") = number;
    register long r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d, r4 __asm__("r4") = e, r5 __asm__("r5") = f;
    __asm__ volatile("svc 0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
    return r0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, long offset) {
    return (void *)ask(MAP, (long)address, (long)bytes, protection, flags, file, offset / (long)PAGE);
}

/* Whoever calls the emulator limits its time. */
int setitimer(int which, const struct itimerval *value, struct itimerval *before) {
    (void)which, (void)value, (void)before;
    return 0;
}

void _exit(int status) {
    for (;;) {
        ask(EXIT, status, 0, 0, 0, 0, 0);
    }
}

int _read(int file, void *to, size_t bytes) { return (int)ask(READ, file, (long)to, (long)bytes, 0, 0, 0); }
int _write(int file, const void *from, size_t bytes) { return (int)ask(WRITE, file, (long)from, (long)bytes, 0, 0, 0); }
int _open(const char *name, int flags, int mode) { return (int)ask(OPEN, (long)name, flags & 3, mode, 0, 0, 0); }
int _close(int file) { return (int)ask(CLOSE, file, 0, 0, 0, 0, 0); }
int _lseek(int file, int offset, int whence) { return (int)ask(SEEK, file, offset, whence, 0, 0, 0); }
int _isatty(int file) { return file < 0; }
int _getpid(void) { return 1; }
void _init(void) {}
void _fini(void) {}

int _fstat(int file, struct stat *found) {
    (void)file;
    found->st_mode = S_IFREG;
    return 0;
}

int _kill(int process, int signal) {
    (void)process;
    _exit(128 + signal);
    return 0;
}

static struct {
    uint8_t *at, *pages;
    size_t bytes;
} blocks[MOST_BLOCKS];

void *malloc(size_t bytes) {
    const size_t used = (bytes + 3 + PAGE) / PAGE * PAGE;
    for (int i = 0; i < MOST_BLOCKS; i++) {
        if (blocks[i].at == NULL) {
            uint8_t *const pages = mmap(NULL, used + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ask(PROTECT, (long)pages, (long)used, PROT_READ | PROT_WRITE, 0, 0, 0);
            blocks[i].pages = pages;
            blocks[i].bytes = used + PAGE;
            blocks[i].at = pages + used - (bytes + 3) / 4 * 4;
            return blocks[i].at;
        }
    }
    _exit(127);
}

void free(void *block) {
    for (int i = 0; block != NULL && i < MOST_BLOCKS; i++) {
        if (blocks[i].at == block) {
            ask(UNMAP, (long)blocks[i].pages, (long)blocks[i].bytes, 0, 0, 0, 0);
            blocks[i].at = NULL;
            return;
        }
    }
}

void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }

/* The C library's own names for these. */
struct _reent;
void *_malloc_r(struct _reent *library, size_t bytes) { return (void)library, malloc(bytes); }
void *_calloc_r(struct _reent *library, size_t count, size_t size) { return (void)library, calloc(count, size); }
void _free_r(struct _reent *library, void *block) { (void)library, free(block); }

/* Nothing here makes a block larger. */
void *_realloc_r(struct _reent *library, void *block, size_t bytes) {
    (void)library, (void)block, (void)bytes;
    _exit(127);
}

int main(int argc, char **argv);
void exit(int status);

void begin(const long *stack) { exit(main((int)*stack, (char **)(stack + 1))); }

__attribute__((naked)) void _start(void) {
    __asm__ volatile("mov r0, sp\n\t"
                     "bic r1, r0, #7\n\t"
                     "mov sp, r1\n\t"
                     "b begin\n\t");
}
