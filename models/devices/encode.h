/**
 * @file encode.h
 * The CPU's encodings, for each real and each level of the instruction set, like multiply.h.
 */
#ifndef DSGD_MODELS_DEVICES_ENCODE_H
#define DSGD_MODELS_DEVICES_ENCODE_H

#include "models/devices/device.h"

/** Inputs that are not NULL. Returns whether all elements of y are finite. */
#define DSGD_ENCODE(name) bool name(const dsgd_encode_op *op)

DSGD_ENCODE(dsgd_encode_float_base);
DSGD_ENCODE(dsgd_encode_float_v3);
DSGD_ENCODE(dsgd_encode_float_v4);
DSGD_ENCODE(dsgd_encode_double_base);
DSGD_ENCODE(dsgd_encode_double_v3);
DSGD_ENCODE(dsgd_encode_double_v4);

#endif
