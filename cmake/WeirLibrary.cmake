# How each part of Weir is declared: libraries, executables, plugins, tests, fuzz targets.
include_guard(GLOBAL)
include(WeirLayers)
include(WeirFilterPlugin)
include(WeirSourcePlugin)

# With WEIR_UNITY a target's sources are compiled so many at a time: large headers are read once for them, and
# functions are inlined across them. What a file keeps to itself has to have a name of its own in its library.
function(weir_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEIR_UNITY} UNITY_BUILD_BATCH_SIZE 24)
endfunction()

# weir_add_library(NAME n LAYER k [SOURCES ...] [DEPENDS ...] [LINKS ...] [PRIVATE_LINKS ...])
#   Target weir_n, alias weir::n: a static library, or an interface library when it has no SOURCES. The
#   headers under include/ are its interface. DEPENDS are Weir libraries by their bare names, LINKS packages
#   that show in the interface, PRIVATE_LINKS those that do not.
function(weir_add_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LAYER" "SOURCES;DEPENDS;LINKS;PRIVATE_LINKS")
  weir_require_arguments(weir_add_library NAME LAYER)
  weir_check_layers(${arg_NAME} ${arg_LAYER} ${arg_DEPENDS})
  weir_check_pure_links(${arg_NAME} ${arg_LAYER} ${arg_LINKS} ${arg_PRIVATE_LINKS})

  set(target weir_${arg_NAME})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(interface PUBLIC)
    weir_compile_options(${target})
    weir_unity(${target})
    if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/src")
      target_include_directories(${target} PRIVATE src)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(interface INTERFACE)
  endif()
  add_library(weir::${arg_NAME} ALIAS ${target})
  target_compile_features(${target} ${interface} cxx_std_20)

  file(GLOB_RECURSE headers CONFIGURE_DEPENDS include/*.hpp include/*.h)
  if(headers)
    target_sources(${target} ${interface} FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  endif()

  list(TRANSFORM arg_DEPENDS PREPEND weir:: OUTPUT_VARIABLE libraries)
  if(NOT arg_SOURCES)  # an installed kit brings the headers of what it is made of
    list(TRANSFORM libraries REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  endif()
  target_link_libraries(${target} ${interface} ${libraries} ${arg_LINKS})
  if(arg_PRIVATE_LINKS)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LINKS})
  endif()

  list(TRANSFORM headers REPLACE "^${CMAKE_CURRENT_SOURCE_DIR}/include/" "")
  weir_register_library(${arg_NAME} ${arg_LAYER} "${arg_DEPENDS}" "${headers}")
endfunction()

# weir_add_app(NAME weir-readout SOURCES ... [DEPENDS ...] [LINKS ...]): an executable in <build>/bin.
function(weir_add_app)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;DEPENDS;LINKS")
  weir_require_arguments(weir_add_app NAME SOURCES)
  add_executable(${arg_NAME} ${arg_SOURCES})
  weir_compile_options(${arg_NAME})
  weir_unity(${arg_NAME})
  target_link_options(${arg_NAME} PRIVATE ${WEIR_HARDENED_LINK})
  weir_link_libraries(${arg_NAME} "${arg_DEPENDS}" "${arg_LINKS}")
  weir_register_library(${arg_NAME} ${WEIR_LAYER_TOP} "${arg_DEPENDS}" "")
  set_property(GLOBAL APPEND PROPERTY WEIR_APP_TARGETS ${arg_NAME})
endfunction()

# weir_add_python_library(NAME weir-filter-host SOURCES ... [DEPENDS ...] [LINKS ...])
#   A shared library <build>/lib/weir/NAME.so that a Python module loads with ctypes. It exports what its sources mark.
function(weir_add_python_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;DEPENDS;LINKS")
  weir_require_arguments(weir_add_python_library NAME SOURCES)
  add_library(${arg_NAME} MODULE ${arg_SOURCES})
  weir_compile_options(${arg_NAME})
  weir_unity(${arg_NAME})
  target_link_options(${arg_NAME} PRIVATE ${WEIR_HARDENED_LINK} -Wl,--exclude-libs,ALL)
  if(WEIR_PROTOBUF_SHARED)  # before the static one, which is not built for shared libraries
    target_link_libraries(${arg_NAME} PRIVATE "-Wl,--push-state,--no-as-needed,${WEIR_PROTOBUF_SHARED},--pop-state")
  endif()
  weir_link_libraries(${arg_NAME} "${arg_DEPENDS}" "${arg_LINKS}")
  cmake_path(GET CMAKE_RUNTIME_OUTPUT_DIRECTORY PARENT_PATH prefix)
  set_target_properties(${arg_NAME} PROPERTIES
    PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${prefix}/lib/weir"
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  weir_register_library(${arg_NAME} ${WEIR_LAYER_TOP} "${arg_DEPENDS}" "")
  set_property(GLOBAL APPEND PROPERTY WEIR_APP_TARGETS ${arg_NAME})
endfunction()

# weir_add_plugin(NAME two-step [KIND filter] SOURCES ... [DEPENDS ...] [LINKS ...])
#   A plugin <build>/plugins/two-step.so: a filter, or with KIND source a source. It sees filter_abi or source_abi, and
#   exports what that header marks.
function(weir_add_plugin)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;KIND" "SOURCES;DEPENDS;LINKS")
  weir_require_arguments(weir_add_plugin NAME SOURCES)
  weir_default(arg_KIND filter)
  string(REPLACE "filter" "Filter" kit "${arg_KIND}")
  string(REPLACE "source" "Source" kit "${kit}")
  if(NOT TARGET Weir::${kit}SDK)
    add_library(Weir::${kit}SDK ALIAS weir_${arg_KIND}_abi)
  endif()
  set(target plugin_${arg_NAME})
  cmake_language(CALL weir_add_${arg_KIND}_plugin ${target} ${arg_SOURCES})
  weir_compile_options(${target})
  target_link_options(${target} PRIVATE ${WEIR_HARDENED_LINK})
  weir_link_libraries(${target} "${arg_DEPENDS}" "${arg_LINKS}")
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${arg_NAME}
    LIBRARY_OUTPUT_DIRECTORY "${WEIR_PLUGIN_OUTPUT_DIRECTORY}")
  weir_register_library(${arg_NAME} ${WEIR_LAYER_TOP} "${arg_KIND}_abi;${arg_DEPENDS}" "")
  set_property(GLOBAL APPEND PROPERTY WEIR_PLUGIN_TARGETS ${target})
endfunction()

# weir_label_target(TARGET LABEL...): the target tests_LABEL builds this one, which tests of that label run.
function(weir_label_target target)
  foreach(label IN LISTS ARGN)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${target})
  endforeach()
endfunction()

# weir_add_test(NAME storage_record SOURCES ... [DEPENDS ...] [LINKS ...] [LABELS unit] [TARGETS ...]
#               [ALONE ...] [PARTS n] [NIGHTLY] [OPTIMISED])
#   One Catch2 executable <build>/tests/NAME_test, one ctest test NAME. TARGETS are what it starts or loads,
#   and so must be built before. The sources see WEIR_SOURCE_DIR (the tree), WEIR_TEST_SOURCE_DIR (the folder
#   of the CMakeLists.txt), WEIR_BIN_DIR and WEIR_PLUGIN_DIR (what is built). What cannot be tested here calls
#   weir::skip_test() (tests/support/skip.hpp), and ctest shows the test as skipped. ALONE are those of
#   the SOURCES that are not compiled in a batch with others. With PARTS its test cases are divided among the
#   ctest tests NAME_1 to NAME_n, which run side by side. NIGHTLY: its cases with the tag [nightly] are larger searches,
#   the test NAME_nightly. OPTIMISED: its sources compute for seconds, so that the release build optimises them, too.
function(weir_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NIGHTLY;OPTIMISED" "NAME;PARTS" "SOURCES;ALONE;DEPENDS;LINKS;LABELS;TARGETS")
  if(NOT BUILD_TESTING)
    return()
  endif()
  weir_require_arguments(weir_add_test NAME SOURCES)
  weir_default(arg_LABELS unit)
  if(arg_LABELS MATCHES "^(unit|golden|arch|protocol)$")
    list(APPEND arg_LABELS quick)  # `./dev test -L quick`: two minutes
  endif()
  set(target ${arg_NAME})
  if(NOT target MATCHES "_test$")
    string(APPEND target _test)
  endif()
  add_executable(${target} ${arg_SOURCES})
  weir_test_options(${target} "${arg_DEPENDS}" "${arg_LINKS};Catch2::Catch2WithMain")
  weir_compile_quickly(${target} ${arg_OPTIMISED})
  weir_unity(${target})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(arg_TARGETS)
    add_dependencies(${target} ${arg_TARGETS})
  endif()
  if(arg_PARTS)
    set(tests "")
    foreach(part RANGE 1 ${arg_PARTS})
      weir_add_part_of_test(${arg_NAME}_${part} ${target} ${part} ${arg_PARTS})
      list(APPEND tests ${arg_NAME}_${part})
    endforeach()
  else()
    set(tests ${arg_NAME})
    add_test(NAME ${arg_NAME} COMMAND ${target})
  endif()
  set_tests_properties(${tests} PROPERTIES
    LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77)
  if("system" IN_LIST arg_LABELS)
    set_tests_properties(${tests} PROPERTIES COST 30)  # before the many that take a second
  endif()
  if(arg_NIGHTLY)
    weir_add_nightly_test(${arg_NAME}_nightly ${target} "[nightly]")
  endif()
  weir_label_target(${target} ${arg_LABELS})
endfunction()

# weir_add_part_of_test(NAME TARGET PART PARTS): the ctest test of one part of an executable's test cases.
function(weir_add_part_of_test name target part parts)
  if(Catch2_VERSION VERSION_LESS 3)  # which cannot do it itself
    add_test(NAME ${name} COMMAND sh "${PROJECT_SOURCE_DIR}/tests/support/run_part.sh" $<TARGET_FILE:${target}> ${part} ${parts})
  else()
    math(EXPR index "${part} - 1")
    add_test(NAME ${name} COMMAND ${target} --shard-count ${parts} --shard-index ${index})
  endif()
endfunction()

# weir_add_nightly_test(NAME COMMAND...): a search with a larger budget. ctest runs it with `-C nightly` only (.ci/run nightly).
function(weir_add_nightly_test name)
  add_test(NAME ${name} CONFIGURATIONS nightly COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS nightly TIMEOUT 14400)
endfunction()

# weir_add_xdp_tests(NAME LABEL COMMAND...): NAME_xdp and NAME_xdp-generic, with these sockets for weir-switch in WEIR_TEST_SOCKETS.
#   A build without WEIR_SWITCH_XDP shows them as skipped.
function(weir_add_xdp_tests name label)
  foreach(sockets xdp xdp-generic)
    if(WEIR_SWITCH_XDP)
      add_test(NAME ${name}_${sockets} COMMAND ${ARGN})
    else()
      add_test(NAME ${name}_${sockets} COMMAND sh -c "echo 'SKIPPED: this build has no AF_XDP (WEIR_SWITCH_XDP)'; exit 77")
    endif()
    set_tests_properties(${name}_${sockets} PROPERTIES
      LABELS "${label}" SKIP_RETURN_CODE 77 ENVIRONMENT "WEIR_TEST_SOCKETS=${sockets}")
  endforeach()
endfunction()

# weir_add_fuzzer(NAME storage_record SOURCES ... [DEPENDS ...] [LINKS ...] [CORPUS dir])
#   The SOURCES define LLVMFuzzerTestOneInput. Preset fuzz: a libFuzzer executable fuzz_<NAME>. Elsewhere the
#   same function is fed with every file of CORPUS and with seeded mutations of each. Label fuzz.
function(weir_add_fuzzer)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;CORPUS" "SOURCES;DEPENDS;LINKS")
  if(NOT BUILD_TESTING)
    return()
  endif()
  weir_require_arguments(weir_add_fuzzer NAME SOURCES)
  set(target fuzz_${arg_NAME})
  set(corpus "")
  if(arg_CORPUS)
    cmake_path(ABSOLUTE_PATH arg_CORPUS BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE corpus)
  endif()
  add_executable(${target} ${arg_SOURCES})
  weir_test_options(${target} "${arg_DEPENDS}" "${arg_LINKS}")
  if(WEIR_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    # libFuzzer writes what it finds into the first folder: the committed corpus stays as it is.
    set(found "${PROJECT_BINARY_DIR}/fuzz/${arg_NAME}")
    file(MAKE_DIRECTORY "${found}")
    add_test(NAME ${target} COMMAND ${target} -runs=20000 -seed=1 -print_final_stats=1 "${found}" ${corpus})
  else()
    if(NOT TARGET weir_fuzz_replay)
      add_library(weir_fuzz_replay OBJECT "${PROJECT_SOURCE_DIR}/tests/support/fuzz_replay.cpp")
      weir_compile_options(weir_fuzz_replay)
    endif()
    target_link_libraries(${target} PRIVATE weir_fuzz_replay)
    add_test(NAME ${target} COMMAND ${target} ${corpus})
  endif()
  set_tests_properties(${target} PROPERTIES LABELS fuzz)
  weir_label_target(${target} fuzz)
endfunction()

# weir_write_layers(FILE): every declared library, executable and plugin with its layer, dependencies, folder and headers, as JSON for
# tests/arch.
function(weir_write_layers file)
  get_property(entries GLOBAL PROPERTY WEIR_LAYER_ENTRIES)
  list(JOIN entries ",\n  " entries)
  list(JOIN WEIR_SIDEWAYS "\", \"" sideways)
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT
       "{\"pure_layer_max\": @WEIR_PURE_LAYER_MAX@,\n \"sideways\": [\"@sideways@\"],\n \"libraries\": [\n  @entries@\n]}\n")
endfunction()

# weir_register_library(NAME LAYER DEPENDS HEADERS): notes a part of Weir for the layer check and its test.
function(weir_register_library name layer depends headers)
  set_property(GLOBAL PROPERTY WEIR_LAYER_OF_${name} ${layer})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE dir)
  list(REMOVE_ITEM depends "")
  list(TRANSFORM depends REPLACE "(.+)" "\"\\1\"")
  list(TRANSFORM headers REPLACE "(.+)" "\"\\1\"")
  list(JOIN depends ", " depends)
  list(JOIN headers ", " headers)
  set_property(GLOBAL APPEND PROPERTY WEIR_LAYER_ENTRIES
    "{\"name\": \"${name}\", \"layer\": ${layer}, \"dir\": \"${dir}\", \"depends\": [${depends}], \"headers\": [${headers}]}")
endfunction()

function(weir_link_libraries target depends links)
  foreach(dependency IN LISTS depends)
    if(NOT TARGET weir_${dependency})
      message(FATAL_ERROR "'${target}' depends on '${dependency}', which no library declares: check the name")
    endif()
    target_link_libraries(${target} PRIVATE weir::${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE ${links})
endfunction()

# weir_compile_quickly(TEST OPTIMISED): with WEIR_UNITY the tests' largest header is read once for all of them, two seconds
# less for each of their files, and the tests' own sources are not optimised, half of what is left. What they test is.
function(weir_compile_quickly target optimised)
  if(NOT WEIR_UNITY)
    return()
  endif()
  set(headers weir_test_headers)
  if(NOT optimised AND NOT WEIR_SANITIZE)
    string(APPEND headers _plain)
    set(plain -O0 -g0)
  endif()
  if(NOT TARGET ${headers})
    add_executable(${headers} "${PROJECT_SOURCE_DIR}/tests/support/test_headers.cpp")
    # Without the definitions of tests: it serves only those that have the same.
    weir_compile_options(${headers})
    target_compile_options(${headers} PRIVATE ${plain})
    target_link_libraries(${headers} PRIVATE Catch2::Catch2WithMain)
    set_target_properties(${headers} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_precompile_headers(${headers} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/weir_catch.hpp")
  endif()
  target_compile_options(${target} PRIVATE ${plain})
  target_precompile_headers(${target} REUSE_FROM ${headers})
  # g++ 12 warns of code of the standard library that it reads from a precompiled header; the preset dev compiles without one.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endfunction()

function(weir_test_options target depends links)
  weir_compile_options(${target})
  weir_link_libraries(${target} "${depends}" "${links}")
  if(WEIR_HAS_MOLD)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support")
  if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/src")
    target_include_directories(${target} PRIVATE src)
  endif()
  target_compile_definitions(${target} PRIVATE
    WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    WEIR_TEST_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
    WEIR_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
    WEIR_PLUGIN_DIR="${WEIR_PLUGIN_OUTPUT_DIRECTORY}")
endfunction()

macro(weir_default variable)
  if(NOT DEFINED ${variable})
    set(${variable} ${ARGN})
  endif()
endmacro()

# In the caller's scope: each of the named arguments was given, and nothing that the caller does not know.
macro(weir_require_arguments caller)
  foreach(required ${ARGN})
    if(NOT DEFINED arg_${required})
      message(FATAL_ERROR "${caller}(NAME '${arg_NAME}'): ${required} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${caller}(NAME '${arg_NAME}'): not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()
