/**
 * @file data_folder.c
 * Finds the folder of the shipped files: $DSGD_DATA, the installed folder, or the source tree.
 */
#include "command/console/data_folder.h"

#include <unistd.h>

#include "base/program.h"

const char *dsgd_data_folder(void)
{
    const char *const named = getenv("DSGD_DATA");
    if (named != NULL && named[0] != '\0')
        return named;
    const char *const installed = dsgd_xprintf("%s/" DSGD_INSTALLED_DATA, dsgd_program_folder());
    return access(installed, R_OK) == 0 ? installed : DSGD_DATA_DIR;
}
