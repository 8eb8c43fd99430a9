/* esp_err.h: what sources use of it, declared from the documentation of ESP-IDF. */
#ifndef TEST_ESP_ERR_H
#define TEST_ESP_ERR_H

typedef int esp_err_t;
#define ESP_OK 0
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define ESP_ERR_NOT_FOUND 0x105
#define ESP_ERR_NOT_SUPPORTED 0x106
#define ESP_ERR_TIMEOUT 0x107

#endif
