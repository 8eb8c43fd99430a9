/* Driver_SAI.h: what sources use of it, declared from the documentation of CMSIS-Driver. */
#ifndef DRIVER_SAI_H_
#define DRIVER_SAI_H_

#include <stddef.h>
#include <stdint.h>

#define ARM_DRIVER_OK 0
#define ARM_DRIVER_ERROR -1
#define ARM_DRIVER_ERROR_BUSY -2
typedef enum { ARM_POWER_OFF, ARM_POWER_LOW, ARM_POWER_FULL } ARM_POWER_STATE;
typedef struct {
    uint16_t api, drv;
} ARM_DRIVER_VERSION;

#define ARM_SAI_CONFIGURE_RX (0x02UL)
#define ARM_SAI_CONTROL_RX (0x04UL)
#define ARM_SAI_ABORT_RECEIVE (0x08UL)
#define ARM_SAI_MODE_MASTER (1UL << 8)
#define ARM_SAI_PROTOCOL_I2S (1UL << 10)
#define ARM_SAI_DATA_SIZE(n) ((((n) - 1UL) & 0x1FUL) << 13)
#define ARM_SAI_EVENT_RECEIVE_COMPLETE (1UL << 1)
#define ARM_SAI_EVENT_RX_OVERFLOW (1UL << 3)

typedef struct {
    uint32_t rx_busy : 1, rx_overflow : 1;
} ARM_SAI_STATUS;
typedef struct {
    uint32_t protocol_i2s : 1;
} ARM_SAI_CAPABILITIES;
typedef void (*ARM_SAI_SignalEvent_t)(uint32_t event);
typedef struct {
    ARM_DRIVER_VERSION (*GetVersion)(void);
    ARM_SAI_CAPABILITIES (*GetCapabilities)(void);
    int32_t (*Initialize)(ARM_SAI_SignalEvent_t cb_event);
    int32_t (*Uninitialize)(void);
    int32_t (*PowerControl)(ARM_POWER_STATE state);
    int32_t (*Send)(const void *data, uint32_t num);
    int32_t (*Receive)(void *data, uint32_t num);
    uint32_t (*GetTxCount)(void);
    uint32_t (*GetRxCount)(void);
    int32_t (*Control)(uint32_t control, uint32_t arg1, uint32_t arg2);
    ARM_SAI_STATUS (*GetStatus)(void);
} const ARM_DRIVER_SAI;

#endif
