/**
 * @file data_folder.h
 * Where the files are that come with the program.
 */
#pragma once

/** Folder of the shipped files: $DSGD_DATA, else as installed, else where it was built. */
const char *dsgd_data_folder(void);
