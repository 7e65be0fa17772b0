# What a build can be asked for, and what that means to the compiler. The presets set these.

option(WEIR_WERROR "Compiler warnings are errors: for those who write Weir (.ci/run), not for those who build it" OFF)
option(WEIR_IPO "Interprocedural optimisation: a slower build, a slightly faster farm" OFF)
option(WEIR_UNITY "A library's sources are compiled several at a time: a build from nothing takes half, one after a change more" OFF)
option(WEIR_BENCH "`weir bench` measures; OFF (`./dev demo` from nothing): it says how to build it, and a first build is shorter" ON)
option(WEIR_COVERAGE "Instrument for gcov" OFF)
option(WEIR_FUZZ "Build the fuzz targets with libFuzzer (clang); otherwise they replay their corpus" OFF)
option(WEIR_PLANTED_BUGS "Bugs that weir-sim can switch on, to see that it finds them; for tests only" OFF)
option(WEIR_SWITCH_XDP "`weir-switch` with AF_XDP sockets (`sockets: xdp`); needs libxdp and libbpf" OFF)
set(WEIR_SANITIZE "" CACHE STRING "Sanitizers for everything, as in -fsanitize=: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ${WEIR_IPO})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(WEIR_PLUGIN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/plugins")

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${WEIR_CCACHE}")
    endif()
  endforeach()
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold WEIR_HAS_MOLD)  # a quicker linker, where there is one: for tests

if(WEIR_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WEIR_FUZZ needs clang (libFuzzer), this compiler is ${CMAKE_CXX_COMPILER_ID}: "
                        "use the preset 'fuzz', or set CMAKE_CXX_COMPILER to clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(WEIR_SANITIZE)
  add_compile_options("-fsanitize=${WEIR_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options("-fsanitize=${WEIR_SANITIZE}")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang's function check reads before a coroutine's resume function, where there is no signature.
    add_compile_options(-fno-sanitize=function)
  else()
    # g++ sees uninitialised bytes in a std::variant of strings, and lengths beyond every object, once accesses are
    # instrumented.
    add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
    if(WEIR_SANITIZE MATCHES "thread")
      # Protobuf's headers lay maps out in another way where they see this, and its library was built without.
      add_compile_options(-U__SANITIZE_THREAD__)
      add_compile_options(-Wno-tsan)  # g++ warns of fences, which Asio's headers contain
    endif()
  endif()
endif()
if(WEIR_PLANTED_BUGS)
  add_compile_definitions(WEIR_PLANTED_BUGS)
endif()
if(WEIR_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# Of executables and plugins: what the loader has resolved cannot be written over.
set(WEIR_HARDENED_LINK -Wl,-z,relro -Wl,-z,now)

# weir_compile_options(TARGET): the warnings every part of Weir is built with.
function(weir_compile_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
  if(WEIR_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
