/* device.c: a device on this computer, its flash in a file, so that killing it is a failure of power.
 *
 * usage: device FLASH (stdio | listen | connect PORT) [confirm]: over its standard input and output, on a port that it
 * prints, or to a port; `confirm`: the firmware confirms every model. The verifier is a stand-in. */
#define _DEFAULT_SOURCE
#include "mote_update_parts.h"
#include "mote_ota.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SLOT = 65536, SECTOR = 4096, JOURNAL = 2 * SLOT, FLASH = 2 * SLOT + 2 * SECTOR };

static uint8_t *flash, buffer[256], frame[512], key[1][32];
static mote_update_t update;
static mote_update_settings_t settings;
static int in = 0, out = 1, confirms, listener = -1;

static int erase(void *context, uint32_t at, uint32_t bytes) {
    (void)context;
    memset(flash + at, 0xff, bytes);
    return 0;
}

static int write_flash(void *context, uint32_t at, const uint8_t *data, uint32_t bytes) {
    (void)context;
    for (uint32_t i = 0; i < bytes; i++) flash[at + i] &= data[i];
    return 0;
}

static mote_verdict_t stand_in(void *context, const uint8_t *signature, const uint8_t *public_key,
                                 const mote_message_t *message) {
    (void)context;
    (void)public_key;
    const uint32_t crc = mote_frame_crc(0x12345678, message->data, message->bytes);
    return memcmp(&crc, signature, sizeof crc) == 0 ? MOTE_SIGNATURE_VALID : MOTE_SIGNATURE_WRONG;
}

static void send_bytes(void *context, const uint8_t *data, uint32_t bytes) {
    (void)context;
    (void)!write(out, data, bytes);
}

static void boot(void *context) {
    (void)context;
    (void)mote_update_boot(&update, &settings);
    if (confirms) (void)mote_update_confirm(&update);
}

static void open_line(const char *how, const char *port) {
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    if (strcmp(how, "connect") == 0) {
        address.sin_port = htons((uint16_t)atoi(port));
        while (connect(server, (struct sockaddr *)&address, length) != 0) usleep(20000);
        in = out = server;
        return;
    }
    if (bind(server, (struct sockaddr *)&address, length) != 0 || listen(server, 1) != 0) exit(2);
    if (getsockname(server, (struct sockaddr *)&address, &length) != 0) exit(2);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    listener = server;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    const int file = open(arguments[1], O_RDWR);
    flash = mmap(NULL, FLASH, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || flash == MAP_FAILED) return 2;
    confirms = strcmp(arguments[count - 1], "confirm") == 0;
    settings.flash.base = flash;
    settings.flash.unit = 8;
    settings.flash.erase = erase;
    settings.flash.write = write_flash;
    settings.slot[0] = (mote_area_t){0, SLOT, SECTOR};
    settings.slot[1] = (mote_area_t){SLOT, SLOT, SECTOR};
    settings.journal = (mote_area_t){JOURNAL, 2 * SECTOR, SECTOR};
    settings.buffer = buffer;
    settings.buffer_bytes = sizeof buffer;
    settings.product = 7;
    settings.trials = 1;
    settings.keys = (const uint8_t (*)[32])key;
    settings.key_count = 1;
    settings.verify = stand_in;
    signal(SIGPIPE, SIG_IGN);
    boot(NULL);
    if (strcmp(arguments[2], "stdio") != 0) open_line(arguments[2], arguments[3]);
    mote_ota_t ota = {
        .update = &update, .send = send_bytes, .restart = boot, .frame = frame, .frame_bytes = sizeof frame,
        .may_confirm = !confirms,
    };
    do {
        uint8_t data[256];
        if (listener >= 0) in = out = accept(listener, NULL, NULL);
        mote_ota_reset(&ota);
        for (ssize_t bytes; (bytes = read(in, data, sizeof data)) > 0;) mote_ota_receive(&ota, data, (uint32_t)bytes);
        close(in);
    } while (listener >= 0);
    return 0;
}
