# Installs each SDK of WEIR_BUILD into a separate prefix below OUT, and builds the PROJECTS that need it against that
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
foreach(kit FilterSDK SourceSDK)
  run("${CMAKE_COMMAND}" --install "${WEIR_BUILD}" --component ${kit} --prefix "${OUT}/${kit}")
  foreach(project ${${kit}_projects})
    run("${CMAKE_COMMAND}" -S "${PROJECTS}/${project}" -B "${OUT}/${project}" -G "${GENERATOR}"
        "-DCMAKE_PREFIX_PATH=${OUT}/${kit}" "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
        "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${OUT}/plugins" -DCMAKE_BUILD_TYPE=Release)
    run("${CMAKE_COMMAND}" --build "${OUT}/${project}")
  endforeach()
endforeach()
