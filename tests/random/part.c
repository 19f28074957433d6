/**
 * @file part.c
 * An experiment as a tree of values.
 */
#include "tests/random/part.h"

#include "base/status.h"

part part_empty(const char *key, part_kind kind)
{
    return (part){.kind = kind, .key = key == NULL ? NULL : dsgd_xstrdup(key)};
}

part part_scalar(const char *key, const char *text)
{
    part p = part_empty(key, SCALAR);
    p.text = dsgd_xstrdup(text);
    return p;
}

part part_copy(const part *of)
{
    part p = part_empty(of->key, of->kind);
    p.text = of->text == NULL ? NULL : dsgd_xstrdup(of->text);
    for (size_t i = 0; i < of->n; i++)
        part_add(&p, part_copy(&of->parts[i]));
    return p;
}

void part_add(part *to, part one)
{
    to->parts = dsgd_keep_more(to->parts, to->n + 1, sizeof *to->parts);
    to->parts[to->n++] = one;
}

part *part_find(const part *mapping, const char *key)
{
    for (size_t i = 0; mapping != NULL && i < mapping->n; i++)
        if (mapping->parts[i].key != NULL && strcmp(mapping->parts[i].key, key) == 0)
            return &mapping->parts[i];
    return NULL;
}

void part_set(part *mapping, const char *key, const char *text)
{
    part *const there = part_find(mapping, key);
    if (there == NULL) {
        part_add(mapping, part_scalar(key, text));
        return;
    }
    *there = part_scalar(key, text);
}

size_t part_count(const part *p)
{
    size_t n = p->n;
    for (size_t i = 0; i < p->n; i++)
        n += part_count(&p->parts[i]);
    return n;
}

void part_remove(part *p, size_t i)
{
    for (size_t k = 0; k < p->n; k++) {
        const size_t below = part_count(&p->parts[k]);
        if (i == 0) {
            p->n--;
            memmove(&p->parts[k], &p->parts[k + 1], (p->n - k) * sizeof *p->parts);
            return;
        }
        if (i <= below) {
            part_remove(&p->parts[k], i - 1);
            return;
        }
        i -= below + 1;
    }
}

static void write_flow(const part *p, FILE *stream)
{
    if (p->kind == SCALAR) {
        fputs(p->text, stream);
        return;
    }
    fputc(p->kind == LIST ? '[' : '{', stream);
    for (size_t i = 0; i < p->n; i++) {
        fputs(i == 0 ? "" : ", ", stream);
        if (p->kind == MAPPING)
            fprintf(stream, "%s: ", p->parts[i].key);
        write_flow(&p->parts[i], stream);
    }
    fputc(p->kind == LIST ? ']' : '}', stream);
}

void part_write(const part *mapping, FILE *stream)
{
    for (size_t i = 0; i < mapping->n; i++) {
        fprintf(stream, "%s: ", mapping->parts[i].key);
        write_flow(&mapping->parts[i], stream);
        fputc('\n', stream);
    }
}
