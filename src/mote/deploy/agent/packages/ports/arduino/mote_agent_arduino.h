/* mote_agent_arduino.h: the agent in a sketch.
 *
 *     void setup() { Serial.begin(115200); mote_agent_begin(Serial); }
 *     void loop() { mote_agent_poll(); }
 */
#ifndef MOTE_AGENT_ARDUINO_H
#define MOTE_AGENT_ARDUINO_H

#include <Arduino.h>

#include "mote_agent.h"

/* Serves a line that is open: any Stream, such as Serial. `mark_pin` is toggled at every step for an energy meter. */
void mote_agent_begin(Stream &line, int mark_pin = -1);

#endif
