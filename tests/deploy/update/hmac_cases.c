/* hmac_cases.c: MACs of keys and messages that come in on stdin (bytes of the key, of the message, both), a line each. The
 * message goes in whole, byte by byte and in pieces; each must give the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mote_hmac.h"

static uint8_t key[1024], message[4096];

static void made(mote_mac_t *mac, uint32_t bytes, uint32_t piece, uint8_t *out) {
    mac->begin(mac->context);
    for (uint32_t at = 0; at < bytes; at += piece) {
        mac->put(mac->context, message + at, bytes - at < piece ? bytes - at : piece);
    }
    mac->put(mac->context, message, 0);
    if (mac->end(mac->context, out) != 0) {
        exit(1);
    }
}

int main(void) {
    uint32_t bytes[2];
    while (fread(bytes, sizeof bytes, 1, stdin) == 1) {
        uint8_t mac[MOTE_MAC_BYTES], again[MOTE_MAC_BYTES];
        mote_hmac_t hmac;
        if (bytes[0] > sizeof key || bytes[1] > sizeof message || fread(key, 1, bytes[0], stdin) != bytes[0] ||
            fread(message, 1, bytes[1], stdin) != bytes[1]) {
            return 1;
        }
        mote_mac_t of_key = mote_hmac(&hmac, key, bytes[0]);
        made(&of_key, bytes[1], 4096, mac);
        for (uint32_t piece = 1; piece < 200; piece += 66) {
            made(&of_key, bytes[1], piece, again);
            if (!mote_mac_equal(mac, again)) {
                return 2;
            }
        }
        for (uint32_t i = 0; i < sizeof mac; i++) {
            printf("%02x", mac[i]);
            again[i] ^= (uint8_t)(1 << i % 8);
            if (mote_mac_equal(mac, again)) {
                return 3;
            }
            again[i] = mac[i];
        }
        printf("\n");
    }
    return 0;
}
