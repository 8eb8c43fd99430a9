"""`firmware/board.c`: sets up the registers of a part and prints over its console."""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.package.templates import filled
from mote.hardware.targets.firmware import SerialPort, Touch


@dataclass(frozen=True)
class Uart:
    """A UART, by the offsets of its registers. It can send when `status & mask == ready`. `event`: the status is an
    event that is set after each character and must be cleared before the next one."""

    data: int
    status: int
    mask: int
    ready: int
    received: tuple[int, int, int, int]
    """Data and status offsets, mask and ready bits of the receiver."""
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
"""The UARTs, by `kind` in the table `[serial]` of a target."""


def board(setup: tuple[Touch, ...], serial: SerialPort | None) -> str:
    """The text of `board.c` for a part. Without a serial port it prints over semihosting."""
    width = UARTS[serial.kind].width if serial else 32
    console = _serial(serial, UARTS[serial.kind]) if serial else filled("semihosting.c.txt", {})
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
    values = {
        "WRITE": steps,
        "STATUS": full,
        "MASK": f"{mask:#x}",
        "READY": f"{ready:#x}",
        "CLEAR": clear,
        "DATA": given,
    }
    return filled("uart.c.txt", values)
