/* The agent as a program of a computer.
 *
 *     agent --tcp [HOST:]PORT   listens at a port, of 127.0.0.1 unless a host is named; port 0: a free one
 *     agent --pty               opens a pseudo-terminal, as a serial port
 *     agent --stdio             its own input and output
 *
 * The first line that it prints is the address for `--board` (with --stdio there is none). The counter is the
 * monotonic clock in nanoseconds.
 */
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#define _XOPEN_SOURCE 600

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "mote_agent.h"

enum { IDLE_MS = 20, BUFFER = 4096 };
#define KEPT "MOTE_AGENT_DESCRIPTORS" /* the environment variable that a restarted agent takes its line from */

static int listener = -1, reader = -1, writer = -1;
static uint8_t received[BUFFER], sent[BUFFER];
static size_t taken, filled, waiting; /* bytes of `received` that were taken, that there are; of `sent` */
static char **arguments;

static void fail(const char *what) {
    fprintf(stderr, "agent: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void connected(int descriptor) {
    const int on = 1;
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    reader = writer = descriptor;
    taken = filled = waiting = 0;
}

static void disconnected(void) {
    if (listener < 0) { /* standard input has ended */
        exit(0);
    }
    (void)close(reader);
    reader = writer = -1;
    taken = filled = waiting = 0;
}

/* Sends what was written since. */
static void flush(void) {
    const uint8_t *data = sent;
    while (waiting > 0 && writer >= 0) {
        const ssize_t count = write(writer, data, waiting);
        if (count > 0) {
            data += count;
            waiting -= (size_t)count;
        } else if (errno == EAGAIN) {
            struct pollfd sink = {writer, POLLOUT, 0};
            (void)poll(&sink, 1, IDLE_MS);
        } else if (errno != EINTR) {
            disconnected();
        }
    }
    waiting = 0;
}

/* Waits for what comes next: bytes, or a connection, the newest of which is the one that counts. */
static void wait_for_bytes(void) {
    struct pollfd sources[2] = {{reader, POLLIN, 0}, {listener, POLLIN, 0}};
    if (poll(sources, 2, IDLE_MS) <= 0) {
        return;
    }
    if (sources[1].revents & POLLIN) {
        const int descriptor = accept(listener, NULL, NULL);
        if (descriptor >= 0) {
            if (reader >= 0) {
                disconnected();
            }
            connected(descriptor);
            return;
        }
    }
    if (sources[0].revents == 0) {
        return;
    }
    const ssize_t count = read(reader, received, sizeof received);
    if (count > 0) {
        taken = 0;
        filled = (size_t)count;
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        disconnected();
    }
}

int mote_port_read(void) {
    if (taken == filled) {
        taken = filled = 0;
        flush();
        wait_for_bytes();
    }
    return taken < filled ? received[taken++] : -1;
}

/* Small pieces go out together, when the next byte is asked for. */
void mote_port_write(const uint8_t *data, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) {
        if (waiting == sizeof sent) {
            flush();
        }
        sent[waiting++] = data[i];
    }
}

uint32_t mote_port_cycles(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

void mote_port_mark(unsigned step) { (void)step; }

/* The program runs anew over the line that is open. */
void mote_port_restart(void) {
    char kept[64];
    flush();
    (void)snprintf(kept, sizeof kept, "%d %d %d", listener, reader, writer);
    (void)setenv(KEPT, kept, 1);
    (void)execv("/proc/self/exe", arguments);
    (void)execvp(arguments[0], arguments);
}

void mote_port_fresh_caches(void) {}

void mote_port_identify(mote_agent_identity *identity) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    identity->core = 0;
    identity->clock_hz = 0;
    identity->counter = MOTE_COUNTER_HOOK;
    identity->counter_hz = 1000000000u;
    identity->flash_waits = 0xffffffffu;
    static uint32_t boot;
    if (boot == 0) {
        boot = (uint32_t)now.tv_sec * 1000000u + (uint32_t)(now.tv_nsec / 1000) + 1u;
    }
    identity->boots = boot;
}

uint8_t *mote_port_stack(void) { return NULL; }

#if MOTE_AGENT_SCRATCH_BYTES > 0
/* Pages that code may be written to and executed from; none where the system does not give any. */
void *mote_port_scratch(uint32_t *bytes) {
    static void *pages;
    if (pages == NULL) {
        pages = mmap(NULL, MOTE_AGENT_SCRATCH_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);
    }
    *bytes = pages == MAP_FAILED ? 0 : (uint32_t)MOTE_AGENT_SCRATCH_BYTES;
    return pages == MAP_FAILED ? NULL : pages;
}

void mote_port_new_code(void) {
#if defined(__GNUC__)
    uint32_t bytes;
    char *pages = (char *)mote_port_scratch(&bytes);
    __builtin___clear_cache(pages, pages + bytes);
#endif
}
#else
void *mote_port_scratch(uint32_t *bytes) {
    *bytes = 0;
    return NULL;
}

void mote_port_new_code(void) {}
#endif

static int listen_at(const char *address) {
    char host[256] = "127.0.0.1";
    const char *colon = strrchr(address, ':'), *port = colon == NULL ? address : colon + 1;
    if (colon != NULL && (size_t)(colon - address) < sizeof host) {
        memcpy(host, address, (size_t)(colon - address));
        host[colon - address] = '\0';
    }
    struct addrinfo hints, *places;
    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    if (getaddrinfo(host, port, &hints, &places) != 0) {
        fprintf(stderr, "agent: %s: not [HOST:]PORT\n", address);
        exit(2);
    }
    const int on = 1;
    const int descriptor = socket(places->ai_family, places->ai_socktype, places->ai_protocol);
    if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(descriptor, places->ai_addr, places->ai_addrlen) != 0 || listen(descriptor, 1) != 0) {
        fail(address);
    }
    freeaddrinfo(places);
    struct sockaddr_in own;
    socklen_t bytes = sizeof own;
    if (getsockname(descriptor, (struct sockaddr *)&own, &bytes) != 0) {
        fail(address);
    }
    printf("tcp:%s:%u\n", host, (unsigned)ntohs(own.sin_port));
    return descriptor;
}

static void open_terminal(void) {
    struct termios raw;
    const int descriptor = posix_openpt(O_RDWR | O_NOCTTY);
    if (descriptor < 0 || grantpt(descriptor) != 0 || unlockpt(descriptor) != 0) {
        fail("pseudo-terminal");
    }
    /* Held open here as well, so that it stays when the host closes it. */
    const int own = open(ptsname(descriptor), O_RDWR | O_NOCTTY);
    if (own < 0 || tcgetattr(own, &raw) != 0) {
        fail(ptsname(descriptor));
    }
    raw.c_iflag = 0;
    raw.c_oflag = 0;
    raw.c_lflag = 0;
    raw.c_cflag |= CS8;
    (void)tcsetattr(own, TCSANOW, &raw);
    reader = writer = descriptor;
    printf("serial:%s\n", ptsname(descriptor));
}

static void open_line(int count, char **values) {
    const char *kept = getenv(KEPT);
    if (kept != NULL && sscanf(kept, "%d %d %d", &listener, &reader, &writer) == 3) {
        (void)unsetenv(KEPT);
    } else if (count == 3 && strcmp(values[1], "--tcp") == 0) {
        listener = listen_at(values[2]);
    } else if (count == 2 && strcmp(values[1], "--pty") == 0) {
        open_terminal();
    } else if (count == 2 && strcmp(values[1], "--stdio") == 0) {
        reader = STDIN_FILENO;
        writer = STDOUT_FILENO;
    } else {
        fprintf(stderr, "usage: %s --tcp [HOST:]PORT | --pty | --stdio\n", values[0]);
        exit(2);
    }
    (void)fflush(stdout);
}

int main(int count, char **values) {
    arguments = values;
    (void)signal(SIGPIPE, SIG_IGN);
    open_line(count, values);
    mote_agent_reset();
    for (;;) {
        mote_agent_poll();
    }
}
