# SPDX-License-Identifier: Apache-2.0
# The only place where CMake functions live.

set(HOVA_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)

# Flags of every C++ target that sees LLVM: its headers are system headers, its RTTI and exception settings ours.
add_library(hova_llvm INTERFACE)
target_include_directories(hova_llvm SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(hova_llvm INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
separate_arguments(HOVA_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(hova_llvm INTERFACE ${HOVA_LLVM_DEFINITIONS})
target_compile_options(hova_llvm INTERFACE -fno-exceptions -fvisibility-inlines-hidden ${HOVA_WARNINGS})

# Guarded as the runtime is (runtime/CMakeLists.txt); what the loader has relocated is read-only. Everything is linked so.
add_library(hova_hardened INTERFACE)
target_link_options(hova_hardened INTERFACE LINKER:-z,relro,-z,now)
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  # Without optimisation there are no sizes to check.
  target_compile_options(hova_hardened INTERFACE
    "$<$<CONFIG:Release>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
target_link_libraries(hova_llvm INTERFACE hova_hardened)

# One precompiled header serves every library: MLIR's headers dominate compile time otherwise.
add_library(hova_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp)
target_link_libraries(hova_pch PUBLIC hova_llvm)
target_precompile_headers(hova_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
target_compile_options(hova_pch PRIVATE -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")

# hova_add_library(NAME SOURCES... [DEPENDS generated targets...])
# One room's (or folder's) objects; libhova.so is made of all of them.
function(hova_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC hova_llvm PRIVATE ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM hova_pch)
  target_compile_options(${name} PRIVATE -fpch-instantiate-templates)
  # Generated headers of the dialect are needed by everything that includes its operations.
  add_dependencies(${name} hova_dialect_headers ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY HOVA_LIBRARIES ${name})
endfunction()

# hova_add_tablegen(TD GENERATOR-FLAG OUTPUT [more FLAG OUTPUT pairs])
# Runs mlir-tblgen and adds each output to the list HOVA_TABLEGEN_OUTPUTS of the caller. An output that an edit
# leaves as it is, as an edit of a description does, rebuilds nothing.
function(hova_add_tablegen td)
  set(outputs ${HOVA_TABLEGEN_OUTPUTS})
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs flag output)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/${output})
    separate_arguments(flag NATIVE_COMMAND "${flag}")
    add_custom_command(OUTPUT ${path}
      COMMAND ${MLIR_TABLEGEN_EXE} ${flag} -I ${PROJECT_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS}
              --write-if-changed ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${path} -d ${path}.d
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td} DEPFILE ${path}.d VERBATIM)
    list(APPEND outputs ${path})
  endwhile()
  set(HOVA_TABLEGEN_OUTPUTS ${outputs} PARENT_SCOPE)
endfunction()

# hova_add_importers(FOLDER FAMILY): importers of the operations of dialect/FOLDER/FAMILYOps.td, as FAMILYImporters.inc of
# the current build folder. Added to the list HOVA_IMPORTERS of the caller.
function(hova_add_importers folder family)
  set(definition ${PROJECT_SOURCE_DIR}/dialect/${folder}/${family}Ops.td)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${family}Importers.inc)
  add_custom_command(OUTPUT ${path}
    COMMAND hova-tblgen -gen-hova-importers --importers-dialect=hova -I ${PROJECT_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS}
            --write-if-changed ${definition} -o ${path} -d ${path}.d
    DEPENDS hova-tblgen ${definition} DEPFILE ${path}.d VERBATIM)
  set(HOVA_IMPORTERS ${HOVA_IMPORTERS} ${path} PARENT_SCOPE)
endfunction()

# hova_add_tool(NAME SOURCES...): an executable over libhova.so.
function(hova_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hova_llvm hova MLIR LLVM ${ARG_LINK})
  # The precompiled header is -fPIC, and CMake would make executables -fPIE.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_precompile_headers(${name} REUSE_FROM hova_pch)
  target_compile_options(${name} PRIVATE -fPIC -fpch-instantiate-templates)
  add_dependencies(${name} hova_dialect_headers)
endfunction()

# hova_add_options(TARGET TD OUTPUT): the option table of a command line, for LLVM's option library.
function(hova_add_options target td output)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${output})
  add_custom_command(OUTPUT ${path}
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen -gen-opt-parser-defs -I ${LLVM_INCLUDE_DIRS} ${CMAKE_CURRENT_SOURCE_DIR}/${td}
            -o ${path} -d ${path}.d
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td} DEPFILE ${path}.d VERBATIM)
  add_custom_target(${target} DEPENDS ${path})
endfunction()
