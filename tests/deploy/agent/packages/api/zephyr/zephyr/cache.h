#ifndef ZEPHYR_INCLUDE_CACHE_H_
#define ZEPHYR_INCLUDE_CACHE_H_

static inline int sys_cache_data_flush_all(void) { return 0; }
static inline int sys_cache_data_flush_and_invd_all(void) { return 0; }
static inline int sys_cache_instr_invd_all(void) { return 0; }

#endif
