/**
 * @file data_folder.h
 * Finds the files that come with the program.
 */
#pragma once

/** Returns the folder of the shipped files: $DSGD_DATA, else the installed one, else the source
 * tree. */
const char *dsgd_data_folder(void);
