#ifndef ZEPHYR_INCLUDE_DEVICETREE_H_
#define ZEPHYR_INCLUDE_DEVICETREE_H_

#define DT_HAS_CHOSEN(name) 0
#define DT_CHOSEN(name) own_uart
#ifdef WITH_MARK
#define DT_HAS_ALIAS(name) 1
#else
#define DT_HAS_ALIAS(name) 0
#endif
#define DT_ALIAS(name) own_pin

#endif
