/**
 * @file data_folder.h
 * Where the files are that come with the program.
 */
#ifndef DSGD_COMMAND_CONSOLE_DATA_FOLDER_H
#define DSGD_COMMAND_CONSOLE_DATA_FOLDER_H

/** Folder of the shipped files: $DSGD_DATA, else as installed, else where it was built. */
const char *dsgd_data_folder(void);

#endif
