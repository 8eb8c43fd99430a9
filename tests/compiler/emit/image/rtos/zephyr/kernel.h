/* zephyr/kernel.h: what the adapter uses of Zephyr, for tests on a computer. */
#ifndef ZEPHYR_INCLUDE_KERNEL_H_
#define ZEPHYR_INCLUDE_KERNEL_H_

#include "threads.h"

typedef struct {
    uint32_t milliseconds;
} k_timeout_t;
#define K_FOREVER ((k_timeout_t){THREADS_FOREVER})
#define K_NO_WAIT ((k_timeout_t){0})
#define K_MSEC(ms) ((k_timeout_t){ms})
#define K_KERNEL_STACK_MEMBER(name, size) char name[size]
#define K_KERNEL_STACK_SIZEOF(name) sizeof(name)

struct k_sem {
    counter_t counter;
};
struct k_mutex {
    counter_t counter;
};
struct k_msgq {
    counter_t counter;
};
struct k_thread {
    void (*entry)(void *, void *, void *);
    void *given[3];
};

static inline int k_sem_init(struct k_sem *sem, unsigned count, unsigned most) {
    counter_make(&sem->counter, count, most);
    return 0;
}
static inline int k_sem_take(struct k_sem *sem, k_timeout_t time) {
    return counter_take(&sem->counter, time.milliseconds, NULL) ? 0 : time.milliseconds == 0 ? -EBUSY : -EAGAIN;
}
static inline void k_sem_give(struct k_sem *sem) { counter_give(&sem->counter, 0); }
static inline int k_mutex_init(struct k_mutex *mutex) {
    counter_make(&mutex->counter, 1, 1);
    return 0;
}
static inline int k_mutex_lock(struct k_mutex *mutex, k_timeout_t time) {
    return counter_take(&mutex->counter, time.milliseconds, NULL) ? 0 : -EAGAIN;
}
static inline int k_mutex_unlock(struct k_mutex *mutex) { return counter_give(&mutex->counter, 0) ? 0 : -EINVAL; }
static inline void k_msgq_init(struct k_msgq *queue, char *buffer, size_t bytes, uint32_t most) {
    if (bytes != 1 || buffer == NULL) abort();
    counter_make(&queue->counter, 0, most);
}
static inline int k_msgq_put(struct k_msgq *queue, const void *data, k_timeout_t time) {
    (void)time;
    return counter_give(&queue->counter, *(const uint8_t *)data) ? 0 : -ENOMSG;
}
static inline int k_msgq_get(struct k_msgq *queue, void *data, k_timeout_t time) {
    return counter_take(&queue->counter, time.milliseconds, data) ? 0 : -EAGAIN;
}

static inline void *begin(void *given) {
    struct k_thread *thread = given;
    thread->entry(thread->given[0], thread->given[1], thread->given[2]);
    return NULL;
}
static inline struct k_thread *k_thread_create(struct k_thread *thread, char *stack, size_t bytes,
                                               void (*entry)(void *, void *, void *), void *a, void *b, void *c,
                                               int priority, uint32_t options, k_timeout_t delay) {
    if (stack == NULL || bytes == 0 || priority != 16 || options != 0 || delay.milliseconds != 0) abort();
    *thread = (struct k_thread){entry, {a, b, c}};
    thread_run(begin, thread);
    return thread;
}
static inline int k_thread_name_set(struct k_thread *thread, const char *name) { return thread == NULL || name == NULL; }

#endif
