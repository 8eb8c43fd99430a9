/* mote_settings.h: what the runtime and all kernels of a firmware are compiled with. `mote runtime` writes its own one;
 * without it the defaults hold that mote_runtime.h and mote_common.h state.
 */
#ifndef MOTE_SETTINGS_H
#define MOTE_SETTINGS_H

#define MOTE_SUMS_WRAP 1 /* sums that do not fit 32 bits wrap, as LiteRT's do: nothing is known of the models to come */

#endif
