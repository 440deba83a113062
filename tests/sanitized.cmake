# SPDX-License-Identifier: Apache-2.0
# The unit tests of a sanitizer build, in a few parts that run side by side: a process for each case
# would cost more than the cases.
set(LAUNCHER)
if(LIKEWISE_SANITIZE STREQUAL thread)
  # Where the system spreads addresses widely it leaves no room for the thread sanitizer's shadow memory.
  execute_process(COMMAND setarch -R true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(refused EQUAL 0)
    set(LAUNCHER setarch -R)
  endif()
endif()

set(PARTS 4)
foreach(part RANGE 1 ${PARTS})
  math(EXPR index "${part} - 1")
  set(name sanitize-${LIKEWISE_SANITIZE}-${part}-of-${PARTS})
  string(REPLACE "," "-" name ${name})
  add_test(NAME ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMAND ${LAUNCHER} $<TARGET_FILE:unit_tests> --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "GTEST_TOTAL_SHARDS=${PARTS};GTEST_SHARD_INDEX=${index};UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tsan.supp")
endforeach()
