/**
 * @file xml.c
 * Implements topology XML, a SimGrid file of the user. Only SimGrid itself knows the links and
 * hosts of this file.
 */
#include "traces/shapes/shape.h"

static dsgd_status check(const dsgd_platform *platform, dsgd_error *error)
{
    return platform->file != NULL
               ? DSGD_OK
               : dsgd_refuse(error, "platform: file is missing; topology: xml needs it");
}

void dsgd_platform_take_file(dsgd_platform *platform, const char *path)
{
    platform->topology = DSGD_TOPOLOGY_XML;
    platform->file = path;
}

const dsgd_shape dsgd_shape_xml = {.title = "XML", .check = check};
