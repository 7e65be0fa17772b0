# Creates a filter project with `weir filter new`, builds it against the FilterSDK below OUT, and runs the project's own
# tests, which start a farm.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " line)
    message(FATAL_ERROR "failed (${status}): ${line}")
  endif()
endfunction()

set(project "${OUT}/filter-project")
file(REMOVE_RECURSE "${project}")
run("${WEIR}" filter new big-slices --folder "${project}")
run("${CMAKE_COMMAND}" -S "${project}" -B "${project}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${OUT}/FilterSDK"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DWEIR=${WEIR}")
run("${CMAKE_COMMAND}" --build "${project}/build")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${project}/build" --output-on-failure --no-tests=error)
