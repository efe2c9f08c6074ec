# SPDX-License-Identifier: Apache-2.0
# What `cmake --install build --prefix DIR` puts where: the tools, libhova.so with the runtime that programs are linked
# from, and what whoever writes a plugin or embeds a model needs. Paths between them are relative, so DIR may move.
# The two components are the two Debian packages (HovaPackage.cmake).
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/hova)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/hova)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME hova)

install(TARGETS hova EXPORT hovaTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT hova NAMELINK_COMPONENT libhova-dev
        INCLUDES DESTINATION ${headers})
install(TARGETS hova-driver hova-opt hova-lsp-server hova-reduce RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS hova-tblgen RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT libhova-dev)
# Beside the library, which looks there (codegen/program/Link.cpp).
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/hova DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Pages, completion, documents and examples. Debian's zsh reads vendor-completions, and not site-functions.
set(share ${PROJECT_BINARY_DIR}/share)
install(DIRECTORY ${share}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        FILES_MATCHING PATTERN *.1.gz PATTERN hova-tblgen.* EXCLUDE)
install(DIRECTORY ${share}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 FILES_MATCHING PATTERN *.7.gz)
install(FILES ${share}/man/hova-tblgen.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT libhova-dev)
install(FILES ${share}/completion/hova DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${share}/completion/_hova DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${share}/completion/hova.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
set(documents ${CMAKE_INSTALL_DATADIR}/doc/hova)
install(FILES README.md CHANGELOG.md SECURITY.md LICENSE DESTINATION ${documents})
install(DIRECTORY docs DESTINATION ${documents}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.schema.json" PATTERN "images/*.png" PATTERN bench EXCLUDE)
# What the guides start a plugin with, at the path that they name.
install(PROGRAMS tools/new-pass tools/new-recipe DESTINATION ${documents}/tools)
install(DIRECTORY examples DESTINATION ${documents} USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)

# Headers keep their paths from the repository's root, which is how they include each other; the generated ones lie
# beside them, and so do the two of which PluginStamp.cpp is made.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libhova-dev)
install(FILES runtime/hova_runtime.h DESTINATION ${headers}/runtime)
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

# pkg-config finds the folder from where its file lies.
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/hova.pc.in ${PROJECT_BINARY_DIR}/cmake/hova.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/hova.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
