/**
 * @file encode.h
 * The CPU's encodings, for each real and each level of the instruction set, like multiply.h.
 */
#ifndef DSGD_MODELS_DEVICES_ENCODE_H
#define DSGD_MODELS_DEVICES_ENCODE_H

#include "models/devices/device.h"
#include "models/devices/multiply.h"

#define ENCODE DSGD_JOIN(dsgd_encode_, DSGD_REAL, DSGD_LEVEL)

/** Inputs that are not NULL. Returns whether all elements of y are finite. */
bool ENCODE(const dsgd_encode_op *op);

#endif
