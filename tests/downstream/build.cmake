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

# A plugin's flags, in a build without a type: -O2 of Weir's, or the author's own.
function(expect_flag kit project target source pattern)
  run("${CMAKE_COMMAND}" -S "${PROJECTS}/${project}" -B "${OUT}/flags" -G "${GENERATOR}" --fresh
      "-DCMAKE_PREFIX_PATH=${OUT}/${kit}" "-DCMAKE_C_COMPILER=${C_COMPILER}"
      "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN})
  file(READ "${OUT}/flags/compile_commands.json" commands)
  string(JSON count LENGTH "${commands}")
  math(EXPR last "${count} - 1")
  set(seen OFF)
  foreach(i RANGE ${last})
    string(JSON command GET "${commands}" ${i} command)
    string(REGEX MATCHALL " -O[^ ]*" found "${command}")
    if(NOT command MATCHES "${target}\\.dir/${source}")
      continue()
    endif()
    set(seen ON)
    if(NOT found STREQUAL pattern)
      message(FATAL_ERROR "${project} with '${ARGN}': ${target} has '${found}', not '${pattern}': ${command}")
    endif()
  endforeach()
  if(NOT seen)
    message(FATAL_ERROR "${project}: no command compiles ${source} for ${target}")
  endif()
endfunction()
set(ENV{CFLAGS} "")
set(ENV{CXXFLAGS} "")
foreach(kind IN ITEMS "FilterSDK;project;big-slices;big_slices.cpp" "FilterSDK;c-project;even-slices;even_slices.c"
        "SourceSDK;source-project;ramp;ramp.cpp"
        "SourceSDK;source-c-project;slice-number;slice_number.c")
  expect_flag(${kind} " -O2" -DCMAKE_BUILD_TYPE=)
  expect_flag(${kind} " -O1" -DCMAKE_BUILD_TYPE= -DCMAKE_C_FLAGS=-O1 -DCMAKE_CXX_FLAGS=-O1)
  expect_flag(${kind} " -O3" -DCMAKE_BUILD_TYPE=Release)
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
