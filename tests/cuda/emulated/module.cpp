/**
 * @file module.cpp
 * The CUDA module, compiled for the emulated runtime beside this file.
 */
#include "models/devices/cuda.cu"
