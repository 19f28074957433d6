/**
 * @file checksums.c
 * Prints checksums of results of the CUDA module, one per line. The results are gradients of linear
 * regression, updates and means. They need no transcendental functions, so their bits are equal on
 * every GPU and in the emulation. Without a device, the program returns 77.
 */
#include "base/draw.h"
#include "models/devices/device.h"
#include "models/zoo/network.h"

enum { SKIPPED = 77, POINTS = 300, OPS = 9, MOST_BATCH = 64, STEPS = 3 };

static double uniform(uint32_t what, uint32_t row, uint32_t column)
{
    return 2 * dsgd_draw_uniform((dsgd_draw){5, DSGD_DRAW_DATA, what, row, column}) - 1;
}

/** A problem that the program has opened on a device. */
typedef struct bench {
    const dsgd_device *device;
    void *context;
    dsgd_data data;
    dsgd_network network;
    size_t begin[2];
    dsgd_problem problem;
} bench;

/**
 * Continues the FNV-1a hash @p so_far with n numbers, which are converted to float. Returns the new
 * hash.
 */
static uint64_t checksum(uint64_t so_far, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        union {
            float number;
            unsigned char bytes[sizeof(float)];
        } u = {(float)x[i]};
        for (size_t k = 0; k < sizeof(float); k++)
            so_far = (so_far ^ u.bytes[k]) * 1099511628211u;
    }
    return so_far;
}

static void print(const char *what, const char *which, uint32_t n, uint64_t sum)
{
    printf("%-10s %-10s %6u  %016llx\n", what, which, n, (unsigned long long)sum);
}

static dsgd_buffer vector(const bench *b, uint32_t what, size_t n)
{
    double *const x = dsgd_keep(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = uniform(what, 0, (uint32_t)i);
    const dsgd_buffer out = b->device->alloc(b->context, n);
    DSGD_ASSERT(out != NULL, "no room for %zu numbers", n);
    b->device->put(b->context, out, x, n);
    return out;
}

static uint64_t add(const bench *b, uint64_t sum, dsgd_buffer from, size_t n)
{
    double *const x = dsgd_keep(n, sizeof *x);
    b->device->get(b->context, x, from, n);
    sum = checksum(sum, x, n);
    return sum;
}

static const uint64_t start = 14695981039346656037u;

static void print_gradients(const bench *b)
{
    const size_t n = b->network.n_params;
    uint32_t samples[OPS][MOST_BATCH];
    dsgd_buffer x[OPS], g[OPS];
    dsgd_gradient_op ops[OPS];
    bool finite[OPS];
    for (uint32_t i = 0; i < OPS; i++) {
        for (uint32_t j = 0; j < MOST_BATCH; j++)
            samples[i][j] = (7 * i + 11 * j) % POINTS;
        x[i] = vector(b, i, n);
        g[i] = vector(b, i, n);
        ops[i] = (dsgd_gradient_op){
            .x = &x[i], .g = &g[i], .samples = samples[i], .n_samples = 1 + i * i % MOST_BATCH};
    }
    b->device->gradient(b->context, 0, ops, OPS, finite);
    uint64_t sum = start;
    for (uint32_t i = 0; i < OPS; i++) {
        sum = add(b, sum, g[i], n);
        b->device->release(b->context, x[i]);
        b->device->release(b->context, g[i]);
    }
    print("gradients", "hyperplane", (uint32_t)n, sum);
}

static void print_updates(const bench *b, const char *name)
{
    const size_t n = b->network.n_params;
    const size_t states = dsgd_optimizer_states(&b->problem.update);
    const dsgd_buffer x = vector(b, 1, n);
    const dsgd_buffer g = vector(b, 2, n);
    const dsgd_buffer v = states > 0 ? vector(b, 3, states * n) : NULL;
    double *const zeros = dsgd_keep((states + 1) * n, sizeof *zeros);
    /* The second moments of AdamW must not be negative, so they start at 0. */
    if (v != NULL)
        b->device->put(b->context, v, zeros, states * n);
    for (uint64_t t = 1; t <= STEPS; t++) {
        const dsgd_update_op op = {
            .n = n, .x = x, .g = g, .v = v, .x_new = x, .v_new = v, .lr = 0.1, .t = t};
        bool finite = false;
        b->device->update(b->context, 0, &op, 1, &finite);
    }
    print("updates", name, (uint32_t)n, add(b, start, x, n));
    b->device->release(b->context, x);
    b->device->release(b->context, g);
    b->device->release(b->context, v);
}

static void print_means(const bench *b)
{
    static const double weights[OPS] = {1, 0.3, -2, 1e-3, 7, 1, 1, 0.25, 3};
    static const uint32_t n_inputs[] = {1, 2, 3, 5, 8, OPS};
    const size_t n = b->network.n_params;
    dsgd_buffer x[OPS];
    for (uint32_t i = 0; i < OPS; i++)
        x[i] = vector(b, i, n);
    const dsgd_buffer y = vector(b, 0, n);
    for (size_t k = 0; k < sizeof n_inputs / sizeof n_inputs[0]; k++) {
        const dsgd_combine_op op = {.n = n,
                                    .n_inputs = n_inputs[k],
                                    .x = x,
                                    .weights = weights,
                                    .divisor = n_inputs[k],
                                    .y = y};
        bool finite = false;
        b->device->combine(b->context, 0, &op, 1, &finite);
        char inputs[16];
        snprintf(inputs, sizeof inputs, "of %u", n_inputs[k]);
        print("means", inputs, (uint32_t)n, add(b, start, y, n));
    }
    for (uint32_t i = 0; i < OPS; i++)
        b->device->release(b->context, x[i]);
    b->device->release(b->context, y);
}

static bool open_bench(bench *b, uint32_t n_features, dsgd_optimizer update)
{
    dsgd_samples samples = {.n = POINTS,
                            .x_real = dsgd_keep((size_t)POINTS * n_features, sizeof(float)),
                            .targets = dsgd_keep(POINTS, sizeof(float))};
    for (uint32_t i = 0; i < POINTS; i++) {
        for (uint32_t f = 0; f < n_features; f++)
            samples.x_real[(size_t)i * n_features + f] = (float)uniform(20, i, f);
        samples.targets[i] = (float)uniform(21, i, 0);
    }
    b->data = (dsgd_data){.n_rows = 1,
                          .n_columns = n_features,
                          .width = 1,
                          .n_features = n_features,
                          .deviation = 1,
                          .train = samples,
                          .test = samples};
    dsgd_builder builder =
        dsgd_network_begin(&b->network, "hyperplane", &b->data, DSGD_LOSS_SQUARED, NULL);
    DSGD_ASSERT(dsgd_network_end(&builder) == DSGD_OK, "linear regression");
    b->begin[1] = b->network.n_params;
    b->problem = (dsgd_problem){&b->network, &b->data, 1, b->begin, update};
    dsgd_error error = {""};
    if (dsgd_device_cuda(&b->device, &error) == DSGD_OK &&
        b->device->open(&b->problem, NULL, 1, &b->context, &error) == DSGD_OK)
        return true;
    fprintf(stderr, "skipped: %s\n", error.text);
    return false;
}

int main(void)
{
    static const struct {
        const char *name;
        dsgd_optimizer update;
    } rules[] = {
        {"momentum", {.kind = DSGD_OPTIMIZER_MOMENTUM, .momentum = 0.9, .weight_decay = 1e-3}},
        {"nesterov", {.kind = DSGD_OPTIMIZER_NESTEROV, .momentum = 0.9, .weight_decay = 1e-3}},
        {"adamw",
         {.kind = DSGD_OPTIMIZER_ADAMW,
          .momentum = 0.9,
          .beta2 = 0.99,
          .epsilon = 1e-8,
          .weight_decay = 1e-3}},
    };
    static const uint32_t sizes[] = {1, 15, 257, 4099};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++) {
            static bench b;
            b = (bench){.device = NULL};
            if (!open_bench(&b, sizes[i], rules[k].update))
                return SKIPPED;
            if (k == 0) {
                print_gradients(&b);
                print_means(&b);
            }
            print_updates(&b, rules[k].name);
            b.device->close(b.context);
        }
    return 0;
}
