/* Whether the core has Helium: the kernels of this folder are then assembly, and elsewhere their portable twins. */
#ifndef MOTE_HELIUM_H
#define MOTE_HELIUM_H

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
#define MOTE_HELIUM 1
#else
#define MOTE_HELIUM 0
#endif

/* The same for vectors of float32. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(MOTE_PORTABLE)
#define MOTE_HELIUM_FLOAT 1
#else
#define MOTE_HELIUM_FLOAT 0
#endif

#endif
