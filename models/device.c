/**
 * @file device.c
 * Which devices there are: the CPU at the level of this machine, and the CUDA module, which is found and loaded here so that the program
 * itself runs without any CUDA library. Whether there is a GPU is asked later, by the module's open(): CUDA does not survive a fork(), so a
 * process that only loads the module may still fork.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/program.h"
#include "models/device.h"

/* --- the CPU ------------------------------------------------------------------------------------------------------------------------- */

extern const dsgd_device dsgd_device_cpu_float_base, dsgd_device_cpu_double_base;
#ifdef DSGD_CPU_LEVELS
extern const dsgd_device dsgd_device_cpu_float_v3, dsgd_device_cpu_double_v3;
extern const dsgd_device dsgd_device_cpu_float_v4, dsgd_device_cpu_double_v4;
#endif

const dsgd_device *dsgd_device_cpu(bool in_double)
{
#ifdef DSGD_CPU_LEVELS
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return in_double ? &dsgd_device_cpu_double_v4 : &dsgd_device_cpu_float_v4;
    if (v3)
        return in_double ? &dsgd_device_cpu_double_v3 : &dsgd_device_cpu_float_v3;
#endif
    return in_double ? &dsgd_device_cpu_double_base : &dsgd_device_cpu_float_base;
}

uint32_t dsgd_update_states(const dsgd_update_config *config)
{
    if (config->kind == DSGD_OPTIMIZER_ADAMW)
        return 2;
    return config->momentum != 0 ? 1 : 0;
}

/* --- CUDA ----------------------------------------------------------------------------------------------------------------------------- */

#ifndef DSGD_MODULE_DIR
#define DSGD_MODULE_DIR "" /* where the module is installed; empty: beside the program only */
#endif

static const char module_name[] = "dsgd_cuda.so";

/** What the environment names, else the module beside the running program, else the installed one. */
static char *module_path(void)
{
    const char *const named = getenv("DSGD_CUDA_MODULE");
    if (named != NULL)
        return dsgd_xstrdup(named);
    char *const folder = dsgd_program_folder();
    char *const beside = dsgd_xprintf("%s/%s", folder, module_name);
    free(folder);
    if (access(beside, R_OK) == 0 || DSGD_MODULE_DIR[0] == '\0')
        return beside;
    free(beside);
    return dsgd_xprintf("%s/%s", DSGD_MODULE_DIR, module_name);
}

static dsgd_status load(const char *path, const dsgd_device **device, dsgd_error *error)
{
    if (access(path, R_OK) != 0)
        return dsgd_fail(error, DSGD_EDEVICE,
                         "CUDA: this build has no module %s; build with a CUDA compiler, or use "
                         "--numerics cpu",
                         path);
    void *const module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        return dsgd_fail(error, DSGD_EDEVICE, "CUDA: the module cannot be loaded: %s", dlerror());
    const dsgd_device *const found = dlsym(module, DSGD_DEVICE_SYMBOL);
    if (found == NULL || found->abi != DSGD_DEVICE_ABI) {
        const uint32_t abi = found == NULL ? 0 : found->abi;
        dlclose(module);
        return dsgd_fail(error, DSGD_EDEVICE,
                         "CUDA: %s has interface %u, but this program needs %d; build it again",
                         path, abi, DSGD_DEVICE_ABI);
    }
    *device = found;
    return DSGD_OK;
}

dsgd_status dsgd_device_cuda(const dsgd_device **device, dsgd_error *error)
{
    static const dsgd_device *loaded; /* a module is never unloaded */
    if (loaded == NULL) {
        char *const path = module_path();
        const dsgd_status status = load(path, &loaded, error);
        free(path);
        if (status != DSGD_OK)
            return status;
    }
    *device = loaded;
    return DSGD_OK;
}
