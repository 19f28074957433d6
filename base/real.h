/**
 * @file real.h The floating-point type `real` of device-independent code, and its functions. `real`
 * is float by default, and double if DSGD_IN_DOUBLE is defined. DSGD_DEVICE_FUNCTION marks the
 * functions of such code. cuda.cu defines it as __host__ __device__ before it includes any file.
 */
#pragma once

#include <math.h>

#ifdef DSGD_IN_DOUBLE
typedef double real;
#define real_exp exp
#define real_log log
#define real_sqrt sqrt
#define real_tanh tanh
#else
typedef float real;
#define real_exp expf
#define real_log logf
#define real_sqrt sqrtf
#define real_tanh tanhf
#endif

#ifndef DSGD_DEVICE_FUNCTION
#define DSGD_DEVICE_FUNCTION
#endif
