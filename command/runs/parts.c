/**
 * @file parts.c
 * Reads and writes parts. A part is a file that contains the rows of one run and a checksum.
 */
#include "command/runs/parts.h"

#include <unistd.h>
#include <zlib.h>

#include "base/file.h"

/* path of a part; its arguments are the results folder and the number of the run */
#define PART "%s/.parts/%zu.part"

/*
 * First line of a part: checksum of the rest of the file, and length of each section in bytes. With
 * this line, a reader can check whether the part is complete.
 */
#define HEAD "dsgd part 1, crc %08lx, bytes"

dsgd_status dsgd_part_write(const char *folder, size_t i, const char *text, const size_t *n_bytes,
                            dsgd_error *error)
{
    size_t n = 0;
    for (int k = 0; k < DSGD_PART_SECTIONS; k++)
        n += n_bytes[k];
    dsgd_whole_file file;
    if (dsgd_whole_open(&file, error, PART, folder, i + 1) == NULL)
        return DSGD_EIO;
    fprintf(file.stream, HEAD, crc32_z(0, (const unsigned char *)text, n));
    for (int k = 0; k < DSGD_PART_SECTIONS; k++)
        fprintf(file.stream, " %zu", n_bytes[k]);
    fputc('\n', file.stream);
    fwrite(text, 1, n, file.stream);
    return dsgd_whole_close(&file, error);
}

/**
 * Finds the sections of a part. Returns true only if the part is complete and belongs to run number
 * @p run (from 1).
 */
static bool find_sections(dsgd_part *p, size_t run, size_t n)
{
    unsigned long expected = 0;
    int length = 0;
    if (sscanf(p->text, HEAD "%n", &expected, &length) != 1 || length == 0)
        return false;
    const char *at = p->text + length;
    const char *const body = at + strcspn(at, "\n") + 1;
    if (body > p->text + n)
        return false;
    const size_t n_body = (size_t)(p->text + n - body);
    size_t sum = 0;
    for (int k = 0; k < DSGD_PART_SECTIONS; k++) {
        char *end = NULL;
        p->n_bytes[k] = strtoul(at, &end, 10);
        if (end == at || end >= body || p->n_bytes[k] > n_body - sum)
            return false;
        p->sections[k] = body + sum;
        sum += p->n_bytes[k];
        at = end;
    }
    return sum == n_body && crc32_z(0, (const unsigned char *)body, n_body) == expected &&
           strtoul(p->sections[DSGD_PART_RUNS], NULL, 10) == run;
}

dsgd_status dsgd_part_read(const char *folder, size_t i, dsgd_part *p, dsgd_error *error)
{
    size_t n = 0;
    *p = (dsgd_part){.text = NULL};
    const dsgd_status status =
        dsgd_file_read(dsgd_xprintf(PART, folder, i + 1), &p->text, &n, error);
    if (status != DSGD_OK)
        return errno == ENOENT ? DSGD_OK : status;
    if (!find_sections(p, i + 1, n))
        p->text = NULL;
    return DSGD_OK;
}

bool dsgd_part_exists(const char *folder, size_t i)
{
    return access(dsgd_xprintf(PART, folder, i + 1), F_OK) == 0;
}

bool dsgd_parts_exist(const char *folder)
{
    char **const names = dsgd_folder_names(dsgd_xprintf("%s/.parts", folder), ".part");
    return names != NULL && names[0] != NULL;
}

void dsgd_part_remove(const char *folder, size_t i)
{
    unlink(dsgd_xprintf(PART, folder, i + 1));
}

void dsgd_part_remove_unfinished(const char *folder, size_t i)
{
    /* Remove the temporary file that base/file.c writes; its name ends in ".new". */
    unlink(dsgd_xprintf(PART ".new", folder, i + 1));
}
