"""`firmware/board.c`: the registers of a part, and where its firmware prints."""

from __future__ import annotations

from dataclasses import dataclass

from mote.hardware.targets.firmware import SerialPort, Touch

SEMIHOSTING = """\
enum { SYS_WRITE0 = 0x04, SYS_READC = 0x07, SYS_EXIT_EXTENDED = 0x20, ADP_STOPPED_APPLICATION_EXIT = 0x20026 };

/* In start.S: a call of the debugger, or of the emulator. Without one it returns -1. */
int mote_semihost(int operation, const void *block);

void mote_write(const char *text)
{
    (void)mote_semihost(SYS_WRITE0, text);
}

void mote_put(char character)
{
    const char text[2] = {character, '\0'};
    mote_write(text);
}

int mote_read(void)
{
    return mote_semihost(SYS_READC, 0);
}

void mote_exit(int status)
{
    const uintptr_t block[2] = {ADP_STOPPED_APPLICATION_EXIT, (uintptr_t)status};
    (void)fflush(stdout);
    (void)mote_semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}
"""


@dataclass(frozen=True)
class Uart:
    """How a UART takes and gives a character, by the offsets of its registers. It is ready when the bits of `mask` in
    its status are `ready`; where `event` is set, the status is an event after each character, and cleared before the
    next."""

    data: int
    status: int
    mask: int
    ready: int
    received: tuple[int, int, int, int]
    """The data, status, mask and readiness of the receiver."""
    event: bool = False
    width: int = 32


UARTS = {
    "cmsdk": Uart(data=0x00, status=0x04, mask=0x01, ready=0, received=(0x00, 0x04, 0x02, 0x02)),
    "nrf": Uart(data=0x51C, status=0x11C, mask=0x01, ready=0x01, received=(0x518, 0x108, 0x01, 0x01), event=True),
    "ns16550": Uart(data=0x00, status=0x05, mask=0x20, ready=0x20, received=(0x00, 0x05, 0x01, 0x01), width=8),
    "pl011": Uart(data=0x00, status=0x18, mask=0x20, ready=0, received=(0x00, 0x18, 0x10, 0)),
    "stm32": Uart(data=0x28, status=0x1C, mask=0x80, ready=0x80, received=(0x24, 0x1C, 0x20, 0x20)),
    "stm32f4": Uart(data=0x04, status=0x00, mask=0x80, ready=0x80, received=(0x04, 0x00, 0x20, 0x20)),
}
"""By `kind` of `[serial]`."""


def board(setup: tuple[Touch, ...], serial: SerialPort | None) -> str:
    """The C of a part: without a serial port it prints by semihosting."""
    width = UARTS[serial.kind].width if serial else 32
    console = _serial(serial, UARTS[serial.kind]) if serial else SEMIHOSTING
    byte = "#define BYTE_AT(address) (*(volatile uint8_t *)(address))\n" if width == 8 else ""
    return f"""\
/* The registers of the part, and where the firmware prints. */
#include "firmware.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
{byte}
{_function("mote_set_up_memories", setup)}
{_function("mote_set_up_console", serial.setup if serial else ())}
{console}"""


def _function(name: str, setup: tuple[Touch, ...]) -> str:
    body = "".join(f"    {_statement(touch)}\n" for touch in setup)
    return f"void {name}(void)\n{{\n{body}}}\n"


def _statement(touch: Touch) -> str:
    register, value = f"REGISTER({touch.address:#010x}u)", f"{touch.value:#x}u"
    if touch.how == "wait":
        return f"while (({register} & {value}) != {value}) {{ }}"
    return f"{register} {'&= ~' if touch.how == '&=~' else f'{touch.how} '}{value};"


def _serial(serial: SerialPort, uart: Uart) -> str:
    access = "BYTE_AT" if uart.width == 8 else "REGISTER"
    status, data = (f"{access}({serial.base + offset:#010x}u)" for offset in (uart.status, uart.data))
    wait = f"    while (({status} & {uart.mask:#x}u) != {uart.ready:#x}u) {{ }}\n"
    write = f"    {data} = (uint{uart.width}_t)(unsigned char)character;\n"
    steps = f"    {status} = 0u;\n{write}{wait}" if uart.event else f"{wait}{write}"
    offset, event, mask, ready = uart.received
    given, full = (f"{access}({serial.base + at:#010x}u)" for at in (offset, event))
    clear = f"    {full} = 0u;\n" if uart.event else ""
    return f"""\
void mote_put(char character)
{{
{steps}}}

void mote_write(const char *text)
{{
    for (; *text != '\\0'; text++) {{
        if (*text == '\\n') {{
            mote_put('\\r');
        }}
        mote_put(*text);
    }}
}}

int mote_read(void)
{{
    if (({full} & {mask:#x}u) != {ready:#x}u) {{
        return -1;
    }}
{clear}    return (int)({given} & 0xFFu);
}}

void mote_exit(int status)
{{
    (void)status;
    (void)fflush(stdout);
    for (;;) {{
    }}
}}
"""
