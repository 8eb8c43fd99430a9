/* mote_rtt.h: bytes to and from a debug probe through two rings in RAM, in the layout of SEGGER's RTT.
 *
 * Probes find the control block by its mark, which J-Link, OpenOCD (`rtt setup`), pyOCD and probe-rs look for in RAM;
 * `tcp:HOST:PORT` of the server of such a tool is then the board. Channel 0 carries the agent. On a core with a data
 * cache the probe sees RAM and not the cache: switch the cache off for this memory (MOTE_RTT_SECTION).
 */
#ifndef MOTE_RTT_H
#define MOTE_RTT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MOTE_RTT_BYTES
#define MOTE_RTT_BYTES 512u /* of each ring */
#endif

void mote_rtt_start(void);                                 /* once, before the others */
int mote_rtt_read(void);                                   /* the next byte, or -1 */
void mote_rtt_write(const uint8_t *data, uint32_t bytes);  /* waits for the probe where the ring is full */

#ifdef __cplusplus
}
#endif

#endif
