# SPDX-License-Identifier: Apache-2.0
# What `cmake --install build --prefix DIR` puts where: the tools, libhova.so with the runtime that programs are linked
# from, and what whoever writes a plugin needs. Paths between them are relative, so DIR may move.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hova)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/hova)

install(TARGETS hova EXPORT hovaTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${headers})
install(TARGETS hova-driver hova-opt hova-lsp-server hova-reduce hova-tblgen RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/hova DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES runtime/hova_runtime.h DESTINATION ${headers}/runtime)

# Headers keep their paths from the repository's root, which is how they include each other; the generated ones lie
# beside them, and so do the two of which PluginStamp.cpp is made.
include(PublicHeaders)
function(install_header from header)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${from}/${header} DESTINATION ${headers}/${folder})
endfunction()
foreach(header ${HOVA_PUBLIC_HEADERS} ${HOVA_INCLUDED_HEADERS} tools/plugins/PluginStamp.h)
  install_header(${PROJECT_SOURCE_DIR} ${header})
endforeach()
foreach(header ${HOVA_GENERATED_HEADERS} tools/plugins/HeadersHash.h)
  install_header(${PROJECT_BINARY_DIR} ${header})
endforeach()
install(FILES tools/plugins/PluginStamp.cpp DESTINATION ${package})

install(EXPORT hovaTargets NAMESPACE hova:: DESTINATION ${package})
configure_package_config_file(cmake/hovaConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/hovaConfig.cmake
                              INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_INCLUDEDIR
                              CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/hovaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/hovaConfig.cmake ${PROJECT_BINARY_DIR}/cmake/hovaConfigVersion.cmake
        DESTINATION ${package})
