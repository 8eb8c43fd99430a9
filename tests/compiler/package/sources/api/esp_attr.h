/* esp_attr.h: the place of functions does not matter on a computer. */
#define IRAM_ATTR
