"""AVR: layers with 8x8 bit products, whose constants are read from program memory."""
