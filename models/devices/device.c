/**
 * @file device.c
 * Selects a device: the CPU at the highest level of the machine, or the CUDA module. This file
 * loads the module at run time, so that the program needs no CUDA library. Loading the module calls
 * no CUDA function. The module's open() calls CUDA functions, and after open() a process must not
 * fork.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "base/child.h"
#include "base/program.h"
#include "models/devices/device.h"

extern const dsgd_device dsgd_device_cpu_float_base, dsgd_device_cpu_double_base;
#ifdef DSGD_CPU_LEVELS
extern const dsgd_device dsgd_device_cpu_float_v3, dsgd_device_cpu_double_v3;
extern const dsgd_device dsgd_device_cpu_float_v4, dsgd_device_cpu_double_v4;
#endif

/** The CPU device at each x86-64 level, in ascending order. */
static const struct cpu_level {
    const char *name;
    const dsgd_device *in_float, *in_double;
} levels[] = {
    {"base", &dsgd_device_cpu_float_base, &dsgd_device_cpu_double_base},
#ifdef DSGD_CPU_LEVELS
    {"v3", &dsgd_device_cpu_float_v3, &dsgd_device_cpu_double_v3},
    {"v4", &dsgd_device_cpu_float_v4, &dsgd_device_cpu_double_v4},
#endif
};

/** Returns the index of the highest level that this machine supports. */
static size_t best_level(void)
{
#ifdef DSGD_CPU_LEVELS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2"))
        return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? 2
               : 1;
#else
    return 0;
#endif
}

/**
 * Returns the best level. If DSGD_CPU_LEVEL names a lower level, returns the lower level, to
 * reproduce the bits of another machine.
 */
static const struct cpu_level *chosen_level(void)
{
    const size_t best = best_level();
    const char *const wanted = getenv("DSGD_CPU_LEVEL");
    for (size_t i = 0; wanted != NULL && i < best; i++)
        if (strcmp(levels[i].name, wanted) == 0)
            return &levels[i];
    return &levels[best];
}

const dsgd_device *dsgd_device_cpu(bool in_double)
{
    return in_double ? chosen_level()->in_double : chosen_level()->in_float;
}

const char *dsgd_device_cpu_level(void)
{
    return chosen_level()->name;
}

static const char module_name[] = "dsgd_cuda.so";

/**
 * Returns the path of the CUDA module: DSGD_CUDA_MODULE if it is set, else the module in the
 * program's folder, else the installed module.
 */
static const char *module_path(void)
{
    const char *const named = getenv("DSGD_CUDA_MODULE");
    if (named != NULL)
        return named;
    const char *const folder = dsgd_program_folder();
    const char *const beside = dsgd_xprintf("%s/%s", folder, module_name);
    const char *const installed =
        dsgd_xprintf("%s/" DSGD_INSTALLED_MODULE "/%s", folder, module_name);
    return access(beside, R_OK) != 0 && access(installed, R_OK) == 0 ? installed : beside;
}

static dsgd_status load(const char *path, const dsgd_device **device, dsgd_error *error)
{
    if (access(path, R_OK) != 0)
        return dsgd_fail(error, DSGD_EDEVICE,
                         "CUDA: this build has no module %s. Build with a CUDA compiler, or use "
                         "--numerics cpu",
                         path);
    void *const module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        return dsgd_fail(error, DSGD_EDEVICE, "CUDA: the module could not be loaded: %s",
                         dlerror());
    const dsgd_device *const found = dlsym(module, DSGD_DEVICE_SYMBOL);
    if (found == NULL || found->abi != DSGD_DEVICE_ABI) {
        const uint32_t abi = found == NULL ? 0 : found->abi;
        dlclose(module);
        return dsgd_fail(
            error, DSGD_EDEVICE,
            "CUDA: %s has interface %u, but this program needs %d. Build the module again", path,
            abi, DSGD_DEVICE_ABI);
    }
    *device = found;
    return DSGD_OK;
}

dsgd_status dsgd_device_cuda(const dsgd_device **device, dsgd_error *error)
{
    static const dsgd_device *loaded; /* the loaded module, which is never unloaded */
    const dsgd_status status = loaded == NULL ? load(module_path(), &loaded, error) : DSGD_OK;
    *device = loaded;
    return status;
}

/** Tries to open every GPU. @p report is a dsgd_device_survey. Runs in a child process. */
static dsgd_status try_devices(const void *argument, void *report, dsgd_error *error)
{
    (void)argument;
    dsgd_device_survey *const survey = report;
    const dsgd_data data = {.deviation = 1};
    const dsgd_problem problem = {.data = &data};
    const dsgd_device *device = NULL;
    DSGD_TRY(dsgd_device_cuda(&device, error));
    device->survey(survey);
    dsgd_status status = DSGD_EDEVICE;
    /* If there is no GPU, the call for GPU 0 reports the reason. */
    for (uint32_t i = 0; i == 0 || i < survey->n; i++) {
        void *context = NULL;
        const dsgd_device_place place = {.index = i};
        if (device->open(&problem, &place, 1, &context, status == DSGD_OK ? NULL : error) !=
            DSGD_OK) {
            survey->free_bytes[i] = 0;
            continue;
        }
        device->close(context);
        status = DSGD_OK;
    }
    return status;
}

dsgd_status dsgd_device_cuda_try(dsgd_device_survey *survey, dsgd_error *error)
{
    dsgd_device_survey found = {0};
    const dsgd_status status = dsgd_in_child(
        try_devices, NULL, &found, sizeof found,
        "CUDA: the device could not be tested. Use --numerics cpu to compute without it", error);
    if (survey != NULL)
        *survey = found;
    return status == DSGD_OK ? DSGD_OK : DSGD_EDEVICE;
}

dsgd_numerics dsgd_numerics_resolved(dsgd_numerics wanted, bool has_cuda, bool in_double)
{
    if (wanted != DSGD_NUMERICS_AUTO)
        return wanted;
    return has_cuda && !in_double ? DSGD_NUMERICS_CUDA : DSGD_NUMERICS_CPU;
}
