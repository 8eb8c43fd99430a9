"""Matrix-vector products for Armv7E-M DSP cores: FULLY_CONNECTED and recurrent layers."""
