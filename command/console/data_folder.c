/**
 * @file data_folder.c
 * Finds the shipped files beside the program, or where it was built.
 */
#include "command/console/data_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/program.h"

const char *dsgd_data_folder(void)
{
    static char *installed; /* lives as long as the program */
    const char *const named = getenv("DSGD_DATA");
    if (named != NULL && named[0] != '\0')
        return named;
    if (installed == NULL) {
        char *const program = dsgd_program_folder();
        installed = dsgd_xprintf("%s/" DSGD_INSTALLED_DATA, program);
    }
    return access(installed, R_OK) == 0 ? installed : DSGD_DATA_DIR;
}
