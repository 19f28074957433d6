/**
 * @file file.c
 * Reads data files, plain or compressed by gzip.
 */
#include <zlib.h>

#include "models/data/data.h"

enum { MOST_AT_ONCE = 1 << 30 }; /* bytes per call of gzread() */

dsgd_status dsgd_data_read_file(const char *path, size_t most, uint8_t **bytes, size_t *n,
                                dsgd_error *error)
{
    errno = 0;
    gzFile const file = gzopen(path, "rb");
    if (file == NULL)
        return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %s", path,
                         errno == 0 ? "out of memory" : strerror(errno));
    size_t room = 1 << 16;
    *bytes = dsgd_xrealloc(*bytes, room, 1);
    *n = 0;
    int count = 0;
    do {
        if (*n == room)
            *bytes = dsgd_xrealloc(*bytes, room *= 2, 1);
        const size_t left = room - *n;
        count = gzread(file, *bytes + *n, left < MOST_AT_ONCE ? (unsigned)left : MOST_AT_ONCE);
        *n += count > 0 ? (size_t)count : 0;
    } while (count > 0 && *n <= most);
    /* Test after the last read, because zlib checks the checksum at the end of the file. */
    int code = Z_OK;
    const char *const trouble = gzerror(file, &code);
    const char *const why = code == Z_ERRNO ? strerror(errno) : dsgd_xstrdup(trouble);
    gzclose(file);
    if (code != Z_OK || count < 0)
        return dsgd_fail(error, DSGD_EIO, "%s: the file cannot be read: %s", path, why);
    if (*n > most)
        return dsgd_fail(error, DSGD_EIO, "%s: the file must have at most %zu bytes", path, most);
    return DSGD_OK;
}
