/**
 * @file cuda_probe.h
 * Finds the probe of a loaded CUDA module. Tests use it to count launches and to change limits. It
 * is described in models/devices/cuda.h.
 */
#pragma once

#include <dlfcn.h>

#include "models/devices/cuda.h"

static inline const dsgd_cuda_probe *cuda_probe_of(const dsgd_device *device)
{
    Dl_info info;
    DSGD_ASSERT(dladdr((const void *)device, &info) != 0, "whose is the device?");
    void *const module = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    DSGD_ASSERT(module != NULL, "%s is loaded", info.dli_fname);
    const dsgd_cuda_probe *const probe = dlsym(module, DSGD_CUDA_PROBE_SYMBOL);
    DSGD_ASSERT(probe != NULL, "%s has no probe", info.dli_fname);
    return probe;
}
