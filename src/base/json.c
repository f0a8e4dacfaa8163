#include "base/json.h"

#include "base/types.h"

/* The length of the UTF-8 sequence at `p`; 0: it is not valid. */
static u32 utf8_bytes(const unsigned char *p)
{
    u32 bytes = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    for (u32 i = 1; i < bytes; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return bytes;
}

void json_put_string(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    putc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        u32 bytes = utf8_bytes(p);
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f || bytes == 0)
            fprintf(out, "\\u%04x", *p);
        else
            fwrite(p, 1, bytes, out);
        p += bytes ? bytes : 1;
    }
    putc('"', out);
}
