# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build folder, which `./dev package` calls, writes two Debian packages: hova, with what compiles and runs
# models, and libhova-dev, with what plugins and projects of CMake are built with. dpkg-shlibdeps finds the libraries that
# they depend on; here stands what no link shows.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hova)
set(CPACK_PACKAGE_CONTACT "hova maintainers <maintainers@hova.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/SettlePackages.cmake)
set(CPACK_COMPONENTS_ALL hova libhova-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE "")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# Who links libhova.so needs this version of it: interfaces of C++ are those of one.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")

set(CPACK_DEBIAN_HOVA_PACKAGE_NAME hova)
set(CPACK_DEBIAN_HOVA_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_HOVA_PACKAGE_SECTION devel)
# Programs are linked by it, as a process.
set(CPACK_DEBIAN_HOVA_PACKAGE_DEPENDS lld-${LLVM_VERSION_MAJOR})
set(CPACK_COMPONENT_HOVA_DESCRIPTION "compiler of descriptions of Transformers to native programs
hova turns a JSON description of a Transformer, and its weights, into one
program or library for x86-64 processors or NVIDIA GPUs, which runs without a
framework. It has horizontal, omnidirectional and vertical attention beside
the usual kinds, and says of every attention what became of it.")

set(CPACK_DEBIAN_LIBHOVA-DEV_PACKAGE_NAME libhova-dev)
set(CPACK_DEBIAN_LIBHOVA-DEV_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_LIBHOVA-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBHOVA-DEV_PACKAGE_DEPENDS "hova (= ${PROJECT_VERSION})")
# hova_add_model does without.
set(CPACK_DEBIAN_LIBHOVA-DEV_PACKAGE_RECOMMENDS
    "libmlir-${LLVM_VERSION_MAJOR}-dev, llvm-${LLVM_VERSION_MAJOR}-dev, mlir-${LLVM_VERSION_MAJOR}-tools")
set(CPACK_COMPONENT_LIBHOVA-DEV_DESCRIPTION "headers and CMake functions of hova
With these files a project of CMake makes libraries of models
(hova_add_model), and plugins with passes, operators and dialects of their own
are built. Only plugins need the development packages of MLIR.")

# The loader's table of libraries, renewed once for all packages of a run of dpkg.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cmake/triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_HOVA_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/cmake/triggers)

# What Debian wants under names of its own: the licence, what lintian need not say, and what browsers of documents list,
# whose folders are those of the package.
set(cmake ${PROJECT_SOURCE_DIR}/cmake)
foreach(name hova libhova-dev)
  install(FILES ${cmake}/debian-copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright COMPONENT ${name})
  install(FILES ${cmake}/debian-overrides-${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${name}
          COMPONENT ${name})
endforeach()
install(FILES ${cmake}/debian-doc-base DESTINATION ${CMAKE_INSTALL_DATADIR}/doc-base RENAME hova COMPONENT hova)
include(CPack)
