/**
 * @file module.c
 * Finds and loads the CUDA module, so that the program itself runs without any CUDA library. Whether there is a device is asked later, by
 * the module's open(): CUDA does not survive a fork(), so a process that only loads the module may still fork.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/program.h"
#include "models/device.h"

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
