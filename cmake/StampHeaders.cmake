# SPDX-License-Identifier: Apache-2.0
# cmake -DVERSION=VERSION -DSOURCE=DIR -DBINARY=DIR -DOUTPUT=FILE -P StampHeaders.cmake
# Writes a header with hova's version and a hash of the public headers, their names and their contents, unless it is
# there already.
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/cmake/PublicHeaders.cmake)
set(text "")
foreach(header ${HOVA_PUBLIC_HEADERS} ${HOVA_INCLUDED_HEADERS})
  file(SHA256 ${SOURCE}/${header} hash)
  string(APPEND text "${hash} ${header}\n")
endforeach()
foreach(header ${HOVA_GENERATED_HEADERS})
  file(SHA256 ${BINARY}/${header} hash)
  string(APPEND text "${hash} ${header}\n")
endforeach()
string(SHA256 hash "${text}")
string(SUBSTRING ${hash} 0 16 hash)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
     "// Made by cmake/StampHeaders.cmake.\n#define HOVA_STAMP_VERSION \"${VERSION}\"\n#define HOVA_HEADERS_HASH \"${hash}\"\n")
