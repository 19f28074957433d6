# DSGD_PLUGIN_ABI: a hash of the headers that a plug-in is compiled with, but for their comments and white space.
#   cmake -D "HEADERS=a.h;b.h" -D FILE=abi.h -P abi.cmake

function(dsgd_write_abi file)
    set(text "")
    foreach(header IN LISTS ARGN)
        file(READ ${header} code)
        string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" code "${code}")
        string(REGEX REPLACE "//[^\n]*" "" code "${code}")
        string(REGEX REPLACE "[ \t\r\n\\]+" "" code "${code}") # and the backslashes that continue a macro
        string(APPEND text "${code}")
    endforeach()
    string(SHA256 hash "${text}")
    string(SUBSTRING ${hash} 0 8 hash)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
/* Made by sim/abi.cmake. */
#ifndef DSGD_SIM_ABI_H
#define DSGD_SIM_ABI_H

/** A hash of the headers that a plug-in is compiled with: it runs in programs with the same ones. */
#define DSGD_PLUGIN_ABI 0x@hash@u

#endif
]])
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    dsgd_write_abi(${FILE} ${HEADERS})
endif()
