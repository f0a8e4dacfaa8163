# find_package(ptxopt): the targets ptxopt::ptxopt (shared) and ptxopt::static, the command ptxopt_target of Ptxopt.cmake where
# that is installed beside this file, and PTXOPT_EXECUTABLE and PTXOPT_PTXAS, the programs.
get_filename_component(_ptxopt_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET ptxopt::ptxopt)
  add_library(ptxopt::ptxopt SHARED IMPORTED)
  set_target_properties(ptxopt::ptxopt PROPERTIES
    IMPORTED_LOCATION "${_ptxopt_prefix}/lib/libptxopt.so.1"
    IMPORTED_SONAME libptxopt.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${_ptxopt_prefix}/include")
  add_library(ptxopt::static STATIC IMPORTED)
  set_target_properties(ptxopt::static PROPERTIES
    IMPORTED_LOCATION "${_ptxopt_prefix}/lib/libptxopt.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_ptxopt_prefix}/include")
endif()
set(PTXOPT_EXECUTABLE "${_ptxopt_prefix}/bin/ptxopt")
set(PTXOPT_PTXAS "${_ptxopt_prefix}/bin/ptxopt-ptxas")
include("${CMAKE_CURRENT_LIST_DIR}/Ptxopt.cmake" OPTIONAL)
unset(_ptxopt_prefix)
