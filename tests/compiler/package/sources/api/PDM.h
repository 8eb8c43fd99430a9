/* PDM.h: what sources use of Arduino's library, declared from its reference. */
#ifndef TEST_PDM_H
#define TEST_PDM_H

#include <stddef.h>

class PDMClass {
  public:
    int begin(int channels, int sampleRate);
    void end();
    int available();
    int read(void *buffer, size_t size);
    void onReceive(void (*function)(void));
    void setGain(int gain);
};
extern PDMClass PDM;

#endif
