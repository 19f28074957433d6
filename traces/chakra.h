/**
 * @file chakra.h
 * Chakra's execution traces (S. Sridharan et al.: "Chakra: advancing performance benchmarking and
 * co-design using standardized execution traces", 2023), one of each rank: messages in Protocol
 * Buffers' wire format behind their lengths, first GlobalMetadata, then each Node. Numbers are
 * those of mlcommons/chakra, schema/protobuf/et_def.proto, 0.0.4.
 */
#pragma once

#include "traces/kineto.h"

/** Fields of a Node, ... */
enum { DSGD_CHAKRA_ID = 1, DSGD_CHAKRA_NAME, DSGD_CHAKRA_TYPE, DSGD_CHAKRA_DATA_DEPS = 5 };
enum { DSGD_CHAKRA_START = 6, DSGD_CHAKRA_DURATION, DSGD_CHAKRA_ATTRIBUTE = 10 };
/** ... of an AttributeProto; and types of nodes. */
enum { DSGD_CHAKRA_INT32 = 7, DSGD_CHAKRA_INT64 = 9, DSGD_CHAKRA_BOOL = 27, DSGD_CHAKRA_TEXT = 29 };
enum { DSGD_CHAKRA_COMPUTE = 4, DSGD_CHAKRA_SEND, DSGD_CHAKRA_RECV, DSGD_CHAKRA_COLLECTIVE };

/** By comm_type; ends with NULL. */
extern const char *const dsgd_chakra_collectives[];

/** Whether a file begins so. */
bool dsgd_chakra_is(const char *head, size_t n);

struct gzFile_s; /* zlib's */

/**
 * Reads what dsgd_kineto_read() has opened; false: it is none, and is at its begin again. Without
 * an attribute "step" all is one step; where no node has a start, they begin when what they wait
 * for has ended, one after the other on the host, the GPU and the network.
 */
bool dsgd_chakra_read(struct gzFile_s *file, dsgd_kineto *trace);
