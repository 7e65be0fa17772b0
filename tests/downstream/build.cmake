# Installs the FilterSDK of WEIR_BUILD into a prefix below OUT, and builds both PROJECTS against it from nothing.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGV " " line)
    message(FATAL_ERROR "failed (${status}): ${line}")
  endif()
endfunction()

file(REMOVE_RECURSE "${OUT}")
run("${CMAKE_COMMAND}" --install "${WEIR_BUILD}" --component FilterSDK --prefix "${OUT}/prefix")
foreach(project project c-project)
  run("${CMAKE_COMMAND}" -S "${PROJECTS}/${project}" -B "${OUT}/${project}" -G "${GENERATOR}"
      "-DCMAKE_PREFIX_PATH=${OUT}/prefix" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
      "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${OUT}/plugins" -DCMAKE_BUILD_TYPE=Release)
  run("${CMAKE_COMMAND}" --build "${OUT}/${project}")
endforeach()
