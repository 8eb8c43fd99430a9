/* soc/soc_caps.h: what the part has, as tests say. */
#ifndef SOC_I2S_SUPPORTS_PDM_RX
#define SOC_I2S_SUPPORTS_PDM_RX 1
#endif
