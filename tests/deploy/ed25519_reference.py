"""Ed25519 as RFC 8032 writes it, with Python's integers: strict as the C code is, and able to make signatures that no
honest signer makes."""

from __future__ import annotations

from hashlib import sha512

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
Point = tuple[int, int]


def recovered(y: int, sign: int) -> Point | None:
    """The point with this y, whose x is odd or not; None where there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    if x * x % P != square or (x == 0 and sign):
        return None
    return (x if x % 2 == sign else P - x, y % P)


BASE = recovered(4 * pow(5, -1, P) % P, 0) or (0, 1)


def add(a: Point, b: Point) -> Point:
    (ax, ay), (bx, by) = a, b
    t = D * ax * bx % P * ay % P * by % P
    top_x, top_y = ax * by + ay * bx, ay * by + ax * bx
    inverse = pow((1 + t) * (1 - t) % P, -1, P)
    return (top_x * (1 - t) % P * inverse % P, top_y * (1 + t) % P * inverse % P)


def times(k: int, point: Point) -> Point:
    found = (0, 1)
    for digit in bin(k)[2:]:
        found = add(found, found)
        if digit == "1":
            found = add(found, point)
    return found


def encoded(point: Point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decoded(data: bytes) -> Point | None:
    """The point that these bytes are the only encoding of."""
    number = int.from_bytes(data, "little")
    y, sign = number % 2**255, number >> 255
    return recovered(y, sign) if y < P else None


def torsion() -> list[Point]:
    """The eight points of small order: multiples of one of order 8, which is L times some point."""
    y = 2
    while True:
        point = recovered(y, 0)
        small = times(L, point) if point else (0, 1)
        if times(4, small) != (0, 1):
            return [times(k, small) for k in range(8)]
        y += 1


def challenge(r: bytes, key: bytes, message: bytes) -> int:
    return int.from_bytes(sha512(r + key + message).digest(), "little") % L


def verdict(signature: bytes, key: bytes, message: bytes) -> str:
    """VALID, WRONG or KEY, in the order in which the C code looks at things."""
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return "WRONG"
    point = decoded(key)
    if point is None or times(8, point) == (0, 1):
        return "KEY"
    negative = (-point[0] % P, point[1])
    found = add(times(s, BASE), times(challenge(signature[:32], key, message), negative))
    return "VALID" if encoded(found) == signature[:32] else "WRONG"


def signed(secret: int, nonce: Point, r: int, key: bytes, message: bytes) -> bytes:
    """A signature with R = [r] B + nonce, for whatever key is named."""
    first = encoded(add(times(r, BASE), nonce))
    return first + ((r + challenge(first, key, message) * secret) % L).to_bytes(32, "little")
