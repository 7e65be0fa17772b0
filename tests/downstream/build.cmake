# Installs each kit of WEIR_BUILD into a separate prefix below OUT, and builds the PROJECTS that need it against that
# prefix from scratch.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " line)
    message(FATAL_ERROR "failed (${status}): ${line}")
  endif()
endfunction()

file(REMOVE_RECURSE "${OUT}")
set(FilterSDK_projects project c-project)
set(SourceSDK_projects source-project source-c-project)
set(FileReader_projects reader-project)
foreach(kit FilterSDK SourceSDK FileReader)
  run("${CMAKE_COMMAND}" --install "${WEIR_BUILD}" --component ${kit} --prefix "${OUT}/${kit}")
  foreach(project ${${kit}_projects})
    run("${CMAKE_COMMAND}" -S "${PROJECTS}/${project}" -B "${OUT}/${project}" -G "${GENERATOR}"
        "-DCMAKE_PREFIX_PATH=${OUT}/${kit}" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
        "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${OUT}/plugins" -DCMAKE_BUILD_TYPE=Release)
    run("${CMAKE_COMMAND}" --build "${OUT}/${project}")
  endforeach()
endforeach()

# The program that reads run files, on a file of every kind of record.
execute_process(COMMAND "${OUT}/reader-project/list-slices" "${RUN_FILE}" RESULT_VARIABLE status
                OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0 OR NOT said MATCHES "run 7 of test-farm: 3 slices" OR NOT said MATCHES "source 2: missing, deadline"
   OR NOT said MATCHES "event 1000: 11 bytes")
  message(FATAL_ERROR "list-slices ended with ${status}:\n${said}")
endif()
execute_process(COMMAND "${OUT}/reader-project/list-slices" /nowhere RESULT_VARIABLE status ERROR_VARIABLE said)
if(NOT status EQUAL 1 OR NOT said MATCHES "not_found: /nowhere: no such file or folder")
  message(FATAL_ERROR "list-slices of a nonexistent file ended with ${status}:\n${said}")
endif()
