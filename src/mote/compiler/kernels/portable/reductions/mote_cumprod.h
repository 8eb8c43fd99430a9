/* mote_cumprod.h: running products along an axis. Those of integers wrap. The output may be the input. */
#ifndef MOTE_CUMPROD_H
#define MOTE_CUMPROD_H

#include "mote_cumsum.h"

/* Lines as of mote_cumsum. `T` is the type of the elements, `A` that of the products. */
#define MOTE_CUMPROD(name, T, A) MOTE_RUNNING(name, T, A, 1, *)

#endif
