# SPDX-License-Identifier: Apache-2.0
# CPack runs this before it packs. Debian wants a changelog in its own form, with the time of the package, in each of them.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(name ${CPACK_COMPONENTS_ALL})
  set(changelog ${CPACK_TEMPORARY_DIRECTORY}/${name}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/${name}/changelog)
  file(WRITE ${changelog} "hova (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * /usr/share/doc/hova/CHANGELOG.md of the package hova tells what changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  execute_process(COMMAND gzip --best --no-name --force ${changelog} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# Packages are the same each time: with SOURCE_DATE_EPOCH, files have that time, and dpkg-shlibdeps, which drops what other
# dependencies bring in the order of a hash, has one order.
set(ENV{PERL_HASH_SEED} 0)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY}
                          -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} + COMMAND_ERROR_IS_FATAL ANY)
endif()
