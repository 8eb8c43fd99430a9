/* zephyr/kernel.h: the part of Zephyr's API that samples include, for tests. */
#ifndef ZEPHYR_INCLUDE_KERNEL_H_
#define ZEPHYR_INCLUDE_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#endif
