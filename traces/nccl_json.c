/**
 * @file nccl_json.c
 * Reads the JSON output of nccl-tests, which contains one object per run.
 */
#include <jansson.h>

#include "traces/nccl_log.h"

static double number(const json_t *object, const char *key)
{
    const double x = json_number_value(json_object_get(object, key));
    return x > 0 && x < 1e18 ? x : 0;
}

/** Returns the text of member @p key, or an empty text if there is no such member. */
static const char *word(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : dsgd_xstrdup(text);
}

/**
 * Returns an empty log with the number of nodes, the number of ranks and the name of the GPU. The
 * JSON lists one device per process. Options -g and -t give a process several GPUs.
 */
static dsgd_nccl_log shape_of(const char *file, const json_t *config)
{
    const json_t *const devices = json_object_get(config, "devices");
    const char **hosts = dsgd_keep(json_array_size(devices) + 1, sizeof *hosts);
    dsgd_nccl_log log = {.file = file};
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *const d = json_array_get(devices, i);
        int64_t k = 0;
        /* Count the devices of only one group, because groups run at the same time. */
        if (number(d, "group") != number(json_array_get(devices, 0), "group"))
            continue;
        while (k < log.table.nodes && strcmp(hosts[k], word(d, "hostname")) != 0)
            k++;
        hosts[k] = word(d, "hostname");
        log.table.nodes += k == log.table.nodes;
        log.gpu = *word(d, "device_info") == '\0' ? log.gpu : word(d, "device_info");
        log.ranks += (int64_t)fmin(1e6, fmax(number(config, "ngpus"), 1) *
                                            fmax(number(config, "nthreads"), 1));
    }
    return log;
}

static void read_results(const char *file, const json_t *root, dsgd_nccl_logs *logs)
{
    const json_t *const results = json_object_get(root, "results");
    const char *const program = json_string_value(json_array_get(json_object_get(root, "args"), 0));
    const int call = program == NULL ? -1 : dsgd_nccl_call_of(program, -1);
    dsgd_nccl_log shape = shape_of(file, json_object_get(root, "config"));
    double last = INFINITY, varies = 0;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *const r = json_array_get(results, i);
        const double bytes = number(r, "size");
        const double out = number(json_object_get(r, "out_of_place"), "time");
        const double in = number(json_object_get(r, "in_place"), "time");
        if (call < 0 || bytes < 1 || (out == 0 && in == 0)) {
            logs->left_out += call < 0 || bytes >= 1;
            continue;
        }
        if (bytes <= last) {
            shape.table.call = (dsgd_nccl_call)call;
            dsgd_nccl_logs_add(logs, shape);
        }
        dsgd_nccl_log_add(&logs->v[logs->n - 1], bytes,
                          out > 0 && in > 0 ? (out + in) / 2 : out + in, 1);
        last = bytes;
        /*
         * cv_pct is the relative standard deviation of the times, in percent. Option -I writes it.
         */
        varies = fmax(varies, number(json_object_get(r, "out_of_place_per_iter"), "cv_pct"));
        varies = fmax(varies, number(json_object_get(r, "in_place_per_iter"), "cv_pct"));
    }
    if (varies > 0)
        logs->said = dsgd_xprintf("the times of one size vary by up to %.3g %%", varies);
}

bool dsgd_nccl_json_is(const char *head)
{
    return head[strspn(head, " \t\r\n\xef\xbb\xbf")] == '{' && strstr(head, "\"args\"") != NULL &&
           strstr(head, "_perf\"") != NULL;
}

dsgd_status dsgd_nccl_json_read(const char *file, const char *text, dsgd_nccl_logs *logs,
                                dsgd_error *error)
{
    for (const char *c = text; *c != '\0'; c += strspn(c, " \t\r\n,")) {
        json_error_t why;
        const json_t *const object = json_loads(c, JSON_DISABLE_EOF_CHECK, &why);
        if (object == NULL && c == text)
            return dsgd_fail(error, DSGD_EIO, "%s:%d: invalid or incomplete JSON: %s", file,
                             why.line, why.text);
        c += object != NULL ? (size_t)why.position : strcspn(c, "\n");
        logs->left_out += object == NULL;
        read_results(file, object, logs);
    }
    return DSGD_OK;
}
