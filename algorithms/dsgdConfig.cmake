# For find_package(dsgd): what an algorithm from outside the tree is compiled with.

get_filename_component(dsgd_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET dsgd::plugin)
    add_library(dsgd::plugin INTERFACE IMPORTED)
    target_include_directories(dsgd::plugin INTERFACE "${dsgd_prefix}/include/dsgd")
endif()
unset(dsgd_prefix)

# dsgd_add_plugin(NAME SOURCES...) makes NAME.so, for --plugin. The verbs are found in the program that loads it.
function(dsgd_add_plugin name)
    add_library(${name} MODULE ${ARGN})
    set_target_properties(${name} PROPERTIES PREFIX "" C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    target_link_libraries(${name} PRIVATE dsgd::plugin)
endfunction()
