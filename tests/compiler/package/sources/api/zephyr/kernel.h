/* zephyr/kernel.h: the functions of Zephyr's kernel that sources call, declared from its documentation. Tests define
 * them. */
#ifndef ZEPHYR_INCLUDE_KERNEL_H_
#define ZEPHYR_INCLUDE_KERNEL_H_

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device {
    const char *name;
};
bool device_is_ready(const struct device *dev);

typedef struct {
    int64_t microseconds;
} k_timeout_t;
static inline k_timeout_t after_us(int64_t us) {
    k_timeout_t timeout;
    timeout.microseconds = us;
    return timeout;
}
#define K_NO_WAIT after_us(0)
#define K_USEC(us) after_us((int64_t)(us))
#define K_MSEC(ms) after_us((int64_t)(ms) * 1000)
uint32_t k_uptime_get_32(void);

struct k_mem_slab {
    int used;
};
void k_mem_slab_free(struct k_mem_slab *slab, void *mem);

struct k_sem {
    unsigned int count;
};
int k_sem_init(struct k_sem *sem, unsigned int initial_count, unsigned int limit);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sem_give(struct k_sem *sem);

struct k_work;
typedef void (*k_work_handler_t)(struct k_work *work);
struct k_work {
    k_work_handler_t handler;
    int queued;
};
struct k_work_sync {
    int unused;
};
void k_work_init(struct k_work *work, k_work_handler_t handler);
int k_work_submit(struct k_work *work);
bool k_work_cancel_sync(struct k_work *work, struct k_work_sync *sync);

struct k_timer;
typedef void (*k_timer_expiry_t)(struct k_timer *timer);
typedef void (*k_timer_stop_t)(struct k_timer *timer);
struct k_timer {
    k_timer_expiry_t expiry;
    void *user_data;
    int64_t period;
};
void k_timer_init(struct k_timer *timer, k_timer_expiry_t expiry_fn, k_timer_stop_t stop_fn);
void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period);
void k_timer_stop(struct k_timer *timer);
void k_timer_user_data_set(struct k_timer *timer, void *user_data);
void *k_timer_user_data_get(const struct k_timer *timer);

#endif
