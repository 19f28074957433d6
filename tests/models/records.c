/** @file records.c */
#include "tests/models/records.h"
#include "tests/support/kept.h"

#include <check.h>

static char folder[] = "/tmp/dsgd-record-XXXXXX";

void records_folder_make(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void records_folder_remove(void)
{
    char *const command = dsgd_xprintf("rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

const char *records_path(const char *name)
{
    static char paths[4][128];
    static size_t next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

support_case *records_case(const char *algorithm, int workers, const char *name)
{
    support_case *const c = support_new(algorithm, workers);
    c->config.exchange.pieces = 3;
    c->learning.evaluate.every = 5;
    c->learning.evaluate.local = true;
    support_imbalance_number(c, "ramp", "seconds", 0.3);
    c->config.record = dsgd_xstrdup(records_path(name));
    c->config.record_about = "{\"run\": 7, \"label\": \"some\"}";
    return c;
}

dsgd_status records_replay_with(const char *path, uint32_t threads, int precision,
                                dsgd_replay_result *result, dsgd_error *error)
{
    const dsgd_replay_config config = {.path = path,
                                       .numerics = DSGD_NUMERICS_CPU,
                                       .precision = precision,
                                       .threads = threads,
                                       .memory_bytes = (size_t)1 << 30};
    const dsgd_status status = dsgd_replay(&config, result, error);
    void *const parts[] = {result->label, result->columns, result->cells, result->experiment,
                           result->points};
    for (size_t i = 0; status == DSGD_OK && i < sizeof parts / sizeof parts[0]; i++)
        kept(parts[i]);
    return status;
}

dsgd_replay_result records_replay(const char *path, uint32_t threads)
{
    dsgd_replay_result result;
    dsgd_error error = {""};
    ck_assert_msg(records_replay_with(path, threads, -1, &result, &error) == DSGD_OK, "%s",
                  error.text);
    return result;
}
