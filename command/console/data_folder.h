/**
 * @file data_folder.h
 * Finds the folder of the files that the program ships.
 */
#pragma once

/**
 * Returns the folder of the shipped files: $DSGD_DATA, else the installed folder, else the folder
 * in the source tree.
 */
const char *dsgd_data_folder(void);
