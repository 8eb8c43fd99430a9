/* zephyr/sys/printk.h: printk, on standard output, for tests. */
#ifndef ZEPHYR_INCLUDE_SYS_PRINTK_H_
#define ZEPHYR_INCLUDE_SYS_PRINTK_H_

#include <stdio.h>

#define printk(...) ((void)printf(__VA_ARGS__))

#endif
