/* Printing: exact decimal digits by doubling and halving, without division, heap or double arithmetic. */
#include <stdarg.h>
#include <stddef.h>

#include "firmware.h"

enum {
    WHOLE = 40,      /* digits before the point: 2^128 has 39 */
    DIGITS = 190,    /* and behind it: 2^-149 has 149 */
    PRECISION = 20,  /* most digits behind the point that are printed */
    TEXT = 72        /* characters of a number: a sign, WHOLE + PRECISION digits, a point, an exponent */
};

struct mote_file {
    int unused;
};

struct directive {
    int left, zeros, width, precision; /* precision: -1 where none was given */
};

static const struct directive usual = {0, 0, 0, -1};
static struct mote_file console;
FILE *const stdout = &console;
FILE *const stderr = &console;
static char line[64];
static size_t filled;

int fflush(FILE *file)
{
    (void)file;
    line[filled] = '\0';
    filled = 0;
    mote_write(line);
    return 0;
}

int putchar(int character)
{
    line[filled++] = (char)character;
    if (character == '\n' || filled == sizeof line - 1) {
        (void)fflush(stdout);
    }
    return character;
}

int fputs(const char *text, FILE *file)
{
    (void)file;
    while (*text != '\0') {
        (void)putchar(*text++);
    }
    return 0;
}

int fputc(int character, FILE *file)
{
    (void)file;
    return putchar(character);
}

/* Compilers make calls of this from those of fputs. */
size_t fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    const char *text = (const char *)data;
    (void)file;
    for (size_t i = 0; i < size * count; i++) {
        (void)putchar(text[i]);
    }
    return count;
}

int puts(const char *text)
{
    (void)fputs(text, stdout);
    return putchar('\n');
}

static void twice(uint8_t *digits, size_t count, unsigned carry)
{
    while (count-- > 0) {
        unsigned digit = 2u * digits[count] + carry;
        carry = digit > 9u;
        digits[count] = (uint8_t)(carry ? digit - 10u : digit);
    }
}

static void half(uint8_t *digits)
{
    unsigned rest = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        unsigned digit = 10u * rest + digits[i];
        digits[i] = (uint8_t)(digit >> 1);
        rest = digit & 1u;
    }
}

static void clear(uint8_t *digits)
{
    for (size_t i = 0; i < DIGITS; i++) {
        digits[i] = 0;
    }
}

static void load(uint8_t *digits, unsigned long long value)
{
    clear(digits);
    for (unsigned bit = 64; bit-- > 0;) {
        twice(digits, WHOLE, (unsigned)(value >> bit) & 1u);
    }
}

/* Round to nearest, ties to even; the digits from `end` on are zero then. */
static void round_to(uint8_t *digits, size_t end)
{
    if (end >= DIGITS) {
        return;
    }
    unsigned rest = 0;
    for (size_t i = end + 1; i < DIGITS; i++) {
        rest |= digits[i];
    }
    const unsigned odd = end > 0 ? digits[end - 1] & 1u : 0u;
    const int up = digits[end] > 5 || (digits[end] == 5 && (rest | odd) != 0);
    for (size_t i = end; i < DIGITS; i++) {
        digits[i] = 0;
    }
    for (size_t i = end; up && i > 0; i--) {
        if (++digits[i - 1] < 10) {
            break;
        }
        digits[i - 1] = 0;
    }
}

static size_t first_of(const uint8_t *digits)
{
    size_t i = 0;
    while (i < DIGITS && digits[i] == 0) {
        i++;
    }
    return i < DIGITS ? i : WHOLE - 1;
}

static void pad(int count, char with)
{
    while (count-- > 0) {
        (void)putchar(with);
    }
}

static void field(const struct directive *d, const char *sign, const char *text, int length)
{
    const int size = length + (*sign != '\0'), room = d->width - size;
    if (!d->left && !d->zeros) {
        pad(room, ' ');
    }
    (void)fputs(sign, stdout);
    if (!d->left && d->zeros) {
        pad(room, '0');
    }
    for (int i = 0; i < length; i++) {
        (void)putchar(text[i]);
    }
    if (d->left) {
        pad(room, ' ');
    }
}

static void print_whole(const struct directive *d, unsigned long long value, int negative)
{
    uint8_t digits[DIGITS];
    char text[WHOLE];
    int length = 0;
    load(digits, negative ? 0ull - value : value);
    for (size_t i = first_of(digits); i < WHOLE; i++) {
        text[length++] = (char)('0' + digits[i]);
    }
    field(d, negative ? "-" : "", text, length);
}

static void print_hexadecimal(const struct directive *d, unsigned long long value)
{
    char text[16];
    int at = 16;
    do {
        text[--at] = "0123456789abcdef"[value & 15u];
        value >>= 4;
    } while (value != 0);
    field(d, "", text + at, 16 - at);
}

void mote_print_decimal(unsigned long value)
{
    print_whole(&usual, value, 0);
}

void mote_print_hexadecimal(unsigned long value)
{
    print_hexadecimal(&usual, value);
}

static int point(char *text, int length, const uint8_t *digits, size_t from, int count, int strip)
{
    const int start = length;
    int last = start;
    text[length++] = '.';
    for (int i = 0; i < count; i++) {
        const size_t at = from + (size_t)i;
        const uint8_t digit = at < DIGITS ? digits[at] : 0;
        text[length++] = (char)('0' + digit);
        if (digit != 0) {
            last = length;
        }
    }
    return strip || count == 0 ? last : length;
}

static void print_real(const struct directive *d, float value, char form)
{
    union {
        float value;
        uint32_t bits;
    } const parts = {value};
    const int biased = (int)(parts.bits >> 23 & 0xFFu);
    const uint32_t fraction = parts.bits & 0x7FFFFFu;
    const char *sign = parts.bits >> 31 ? "-" : "";
    if (biased == 255) {
        const struct directive plain = {d->left, 0, d->width, -1};
        field(&plain, sign, fraction ? "nan" : "inf", 3);
        return;
    }
    uint8_t digits[DIGITS];
    load(digits, biased ? fraction | 0x800000u : fraction);
    for (int e = biased ? biased - 150 : -149; e != 0; e += e < 0 ? 1 : -1) {
        if (e < 0) {
            half(digits);
        } else {
            twice(digits, WHOLE, 0);
        }
    }
    int precision = d->precision < 0 ? 6 : d->precision > PRECISION ? PRECISION : d->precision;
    const int general = form == 'g';
    if (general) {
        precision -= precision > 0; /* digits behind the first one */
    }
    if (form != 'f') {
        round_to(digits, first_of(digits) + (size_t)precision + 1);
    }
    int exponent = WHOLE - 1 - (int)first_of(digits);
    const int fixed = form == 'f' || (general && exponent >= -4 && exponent <= precision);
    char text[TEXT];
    int length = 0;
    if (fixed) {
        const int behind = general ? precision - exponent : precision;
        round_to(digits, WHOLE + (size_t)behind);
        const size_t first = first_of(digits);
        for (size_t i = first < WHOLE ? first : WHOLE - 1; i < WHOLE; i++) {
            text[length++] = (char)('0' + digits[i]);
        }
        length = point(text, length, digits, WHOLE, behind, general);
    } else {
        const size_t first = first_of(digits);
        text[length++] = (char)('0' + digits[first]);
        length = point(text, length, digits, first + 1, precision, general);
        text[length++] = 'e';
        text[length++] = exponent < 0 ? '-' : '+';
        exponent = exponent < 0 ? -exponent : exponent;
        text[length++] = (char)('0' + (exponent * 205 >> 11)); /* exponent / 10, as it is less than 69 */
        text[length++] = (char)('0' + exponent - 10 * (exponent * 205 >> 11));
    }
    field(d, sign, text, length);
}

static const char *read_number(const char *format, int *number)
{
    *number = 0;
    while (*format >= '0' && *format <= '9') {
        *number = 10 * *number + (*format++ - '0');
    }
    return format;
}

static int length_of(const char *text, int most)
{
    int length = 0;
    while (length != most && text[length] != '\0') {
        length++;
    }
    return length;
}

int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    for (; *format != '\0'; format++) {
        if (*format != '%') {
            (void)putchar(*format);
            continue;
        }
        struct directive d = {0, 0, 0, -1};
        for (format++; *format == '-' || *format == '0'; format++) {
            d.left |= *format == '-';
            d.zeros |= *format == '0';
        }
        format = read_number(format, &d.width);
        if (*format == '.') {
            format = read_number(format + 1, &d.precision);
        }
        int longs = 0;
        for (; *format == 'l' || *format == 'h' || *format == 'z'; format++) {
            longs += *format == 'l';
        }
        switch (*format) {
        case 'd':
        case 'i': {
            const long long value = longs > 1   ? va_arg(arguments, long long)
                                    : longs > 0 ? va_arg(arguments, long)
                                                : va_arg(arguments, int);
            print_whole(&d, (unsigned long long)value, value < 0);
            break;
        }
        case 'u':
        case 'x': {
            const unsigned long long value = longs > 1   ? va_arg(arguments, unsigned long long)
                                             : longs > 0 ? va_arg(arguments, unsigned long)
                                                         : va_arg(arguments, unsigned);
            if (*format == 'u') {
                print_whole(&d, value, 0);
            } else {
                print_hexadecimal(&d, value);
            }
            break;
        }
        case 'f':
        case 'e':
        case 'g':
            print_real(&d, (float)va_arg(arguments, double), *format);
            break;
        case 'c': {
            const char character = (char)va_arg(arguments, int);
            field(&d, "", &character, 1);
            break;
        }
        case 's': {
            const char *text = va_arg(arguments, const char *);
            field(&d, "", text, length_of(text, d.precision));
            break;
        }
        case '\0': /* a directive that the format ends in */
            format--;
            break;
        default: /* %% and what is unknown */
            (void)putchar(*format);
        }
    }
    va_end(arguments);
    return 0;
}
