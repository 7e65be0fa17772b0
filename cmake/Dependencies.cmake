# The packages Weir is built from, all found here, once. Debian 12 and Ubuntu 24.04 have every one of them;
# `./dev` installs them.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)  # headers only; gives Boost::headers
# Linked into the executables where that is possible: a plugin may bring Protobuf and a copy of Weir's messages, and
# a library that both share aborts when it sees the same messages twice.
find_library(WEIR_PROTOBUF_STATIC NAMES libprotobuf.a)
find_library(WEIR_PROTOBUF_SHARED NAMES libprotobuf.so)
mark_as_advanced(WEIR_PROTOBUF_STATIC WEIR_PROTOBUF_SHARED)
if(WEIR_PROTOBUF_STATIC)
  set(Protobuf_USE_STATIC_LIBS ON)
  if(NOT "${Protobuf_LIBRARY_RELEASE}" MATCHES "\\.a$")
    unset(Protobuf_LIBRARY_RELEASE CACHE)
  endif()
endif()
find_package(Protobuf REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(cppzmq CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
find_package(SQLite3 REQUIRED)  # gives SQLite::SQLite3

find_package(hwy CONFIG QUIET)  # optional: vector instructions for the plugin `coincidence`

if(WEIR_SWITCH_XDP)
  pkg_check_modules(XDP REQUIRED IMPORTED_TARGET libxdp libbpf)  # libxdp-dev, libbpf-dev
endif()

if(BUILD_TESTING)
  find_package(Catch2 CONFIG REQUIRED)
endif()

# The namespaced names that the libraries use, where a package of an older release gives another one.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
