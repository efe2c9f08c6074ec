# SPDX-License-Identifier: Apache-2.0
# CPack runs this before it packs, so that packages are the same each time: with SOURCE_DATE_EPOCH, files have that time,
# and dpkg-shlibdeps, which drops what other dependencies bring in the order of a hash, has one order.
set(ENV{PERL_HASH_SEED} 0)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY}
                          -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} + COMMAND_ERROR_IS_FATAL ANY)
endif()
