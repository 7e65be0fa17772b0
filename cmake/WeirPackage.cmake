# Debian packages from `cpack -G DEB` in the build folder, or `./dev package`:
#   weir         what runs a farm: executables, plugins, units, examples, manuals
#   weir-dev     what programs outside this tree are built with: headers and CMake files of plugins, and the library that
#                reads run files
#   weir-dbgsym  function names and lines of weir, for a stack trace; the executables are stripped
# deploy/debian/README.md says what goes where.
set(WEIR_PACKAGE_CONTACT "Weir developers <weir-developers@lists.example.org>" CACHE STRING
    "Maintainer field of the packages: NAME <ADDRESS>")
set(WEIR_PACKAGE_REVISION "1" CACHE STRING "What follows the dash in the packages' version")

# The rest of a package is of no use elsewhere, so that `cmake --install` leaves it out.
function(weir_install_packaged component destination)
  install(FILES ${ARGN} DESTINATION "${destination}" COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

# weir_install_gzipped(COMPONENT DESTINATION NAME FILE): compressed, the same bytes each time.
function(weir_install_gzipped component destination name file)
  if(NOT file MATCHES "^${PROJECT_BINARY_DIR}")
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endif()
  set(packed "${PROJECT_BINARY_DIR}/packed/${component}/${name}")
  cmake_path(GET packed PARENT_PATH folder)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND gzip -9nc INPUT_FILE "${file}" OUTPUT_FILE "${packed}" COMMAND_ERROR_IS_FATAL ANY)
  weir_install_packaged(${component} "${destination}" "${packed}")
endfunction()

find_program(WEIR_GZIP gzip)
if(NOT WEIR_GZIP)
  return()  # no Debian system
endif()

set(debian "${PROJECT_SOURCE_DIR}/deploy/debian")
set(systemd "${PROJECT_SOURCE_DIR}/deploy/systemd")
set(package_version "${PROJECT_VERSION}-${WEIR_PACKAGE_REVISION}")

# weir_package_papers(COMPONENT PACKAGE): what Debian wants every package to have.
file(TIMESTAMP "${PROJECT_SOURCE_DIR}/CHANGELOG.md" package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file("${debian}/changelog.in" "${PROJECT_BINARY_DIR}/packed/changelog.Debian" @ONLY)
function(weir_package_papers component package)
  set(papers "${CMAKE_INSTALL_DATADIR}/doc/${package}")
  weir_install_packaged(${component} "${papers}" "${debian}/copyright")
  weir_install_gzipped(${component} "${papers}" changelog.gz "${PROJECT_SOURCE_DIR}/CHANGELOG.md")
  weir_install_gzipped(${component} "${papers}" changelog.Debian.gz "${PROJECT_BINARY_DIR}/packed/changelog.Debian")
  weir_install_packaged(${component} "${CMAKE_INSTALL_DATADIR}/lintian/overrides" "${debian}/lintian/${package}")
endfunction()
weir_package_papers(Packaged weir)
weir_package_papers(PackagedSdk weir-dev)

# ---- weir
set(papers "${CMAKE_INSTALL_DATADIR}/doc/weir")
file(GLOB units CONFIGURE_DEPENDS "${systemd}/*.service" "${systemd}/*.target")
if(NOT TARGET weir-run-control)
  list(FILTER units EXCLUDE REGEX "weir-run-control")
endif()
weir_install_packaged(Packaged lib/systemd/system ${units})
weir_install_packaged(Packaged "/etc/weir" "${systemd}/farm.yaml")
install(FILES "${systemd}/weir.default" DESTINATION /etc/default RENAME weir COMPONENT Packaged EXCLUDE_FROM_ALL)
weir_install_packaged(Packaged "${CMAKE_INSTALL_DATADIR}/weir/sysctl" "${systemd}/60-weir.conf")
# Pages link to each other and to these formats: their places are kept.
file(GLOB_RECURSE pages CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
     "${PROJECT_SOURCE_DIR}/docs/*.md" "${PROJECT_SOURCE_DIR}/docs/*.svg" "${PROJECT_SOURCE_DIR}/docs/examples/*" "${PROJECT_SOURCE_DIR}/docs/pictures/*" "${PROJECT_SOURCE_DIR}/libs/*/*/FORMAT.md"
     "${PROJECT_SOURCE_DIR}/plugins/*/README.md" "${PROJECT_SOURCE_DIR}/deploy/*/README.md")
foreach(page README.md ${pages})
  cmake_path(GET page PARENT_PATH folder)
  weir_install_packaged(Packaged "${papers}/${folder}" "${PROJECT_SOURCE_DIR}/${page}")
endforeach()
foreach(part slurm container kubernetes grafana)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/${part}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/${part}" DESTINATION "${CMAKE_INSTALL_DATADIR}/weir/deploy"
            USE_SOURCE_PERMISSIONS COMPONENT Packaged EXCLUDE_FROM_ALL PATTERN README.md EXCLUDE)
  endif()
endforeach()
file(CREATE_LINK ../../weir/configs "${PROJECT_BINARY_DIR}/packed/examples" SYMBOLIC)
weir_install_packaged(Packaged "${papers}" "${PROJECT_BINARY_DIR}/packed/examples")
# The package's own Python modules are those of `weir file convert`: one copy.
file(CREATE_LINK ../../weir/python/weir_daq "${PROJECT_BINARY_DIR}/packed/weir_daq" SYMBOLIC)
weir_install_packaged(Packaged lib/python3/dist-packages "${PROJECT_BINARY_DIR}/packed/weir_daq")
set(manuals "${CMAKE_INSTALL_DATADIR}/man/man1")
# Manual pages and completions come from the help of the executables, which are built by then.
set(made "${PROJECT_BINARY_DIR}/packed/manuals")
install(CODE "execute_process(COMMAND \"${debian}/manuals\" \"${CMAKE_RUNTIME_OUTPUT_DIRECTORY}\" \"${made}\" COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT Packaged EXCLUDE_FROM_ALL)
weir_install_packaged(Packaged "${manuals}" "${made}/weir.1.gz" "${made}/weir-node.1.gz")
foreach(completion "bash-completion/completions weir bash" "zsh/vendor-completions _weir zsh" "fish/vendor_completions.d weir.fish fish")
  separate_arguments(completion)
  list(GET completion 0 folder)
  list(GET completion 1 name)
  list(GET completion 2 shell)
  install(FILES "${made}/weir.${shell}" DESTINATION "${CMAKE_INSTALL_DATADIR}/${folder}" RENAME ${name} COMPONENT Packaged
          EXCLUDE_FROM_ALL)
endforeach()
get_property(apps GLOBAL PROPERTY WEIR_APP_TARGETS)
foreach(name IN LISTS apps)
  if(NOT name STREQUAL weir)
    file(CREATE_LINK weir-node.1.gz "${PROJECT_BINARY_DIR}/packed/${name}.1.gz" SYMBOLIC)
    weir_install_packaged(Packaged "${manuals}" "${PROJECT_BINARY_DIR}/packed/${name}.1.gz")
  endif()
endforeach()

# ---- weir-dev
set(outside "${PROJECT_SOURCE_DIR}/tests/downstream")
set(papers "${CMAKE_INSTALL_DATADIR}/doc/weir-dev")
weir_install_packaged(PackagedSdk "${papers}" "${PROJECT_SOURCE_DIR}/docs/writing-a-filter.md"
                      "${PROJECT_SOURCE_DIR}/docs/writing-a-source.md")
weir_install_packaged(PackagedSdk "${papers}/examples/filter" "${outside}/project/CMakeLists.txt"
                      "${outside}/project/big_slices.cpp")
weir_install_packaged(PackagedSdk "${papers}/examples/reader" "${outside}/reader-project/CMakeLists.txt"
                      "${outside}/reader-project/list_slices.cpp")
weir_install_packaged(PackagedSdk "${papers}/examples/source" "${outside}/source-project/CMakeLists.txt"
                      "${outside}/source-project/board.cpp" "${outside}/source-project/on_demand.cpp" "${outside}/source-project/ramp.cpp")

# ---- control fields
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR Weir)
set(CPACK_PACKAGE_CONTACT "${WEIR_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL Runtime Packaged FilterSDK SourceSDK FileReader PackagedSdk)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
foreach(component Runtime Packaged)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_COMPONENT_${COMPONENT}_GROUP weir)
endforeach()
foreach(component FilterSDK SourceSDK FileReader PackagedSdk)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_COMPONENT_${COMPONENT}_GROUP dev)
endforeach()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE "${WEIR_PACKAGE_REVISION}")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${WEIR_PACKAGE_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_WEIR_PACKAGE_NAME weir)
set(CPACK_DEBIAN_WEIR_PACKAGE_SECTION net)
set(CPACK_DEBIAN_WEIR_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_WEIR_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_WEIR_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_WEIR_PACKAGE_RECOMMENDS "iproute2, curl")
string(CONCAT CPACK_DEBIAN_WEIR_PACKAGE_SUGGESTS "weir-dev (= ${package_version}), python3, "
  "python3-numpy, python3-crc32c, python3-protobuf, python3-zmq, python3-yaml, python3-tqdm, python3-h5py")
set(CPACK_DEBIAN_WEIR_DEBUGINFO_PACKAGE ON)  # strips the executables, too
set(CPACK_DEBIAN_WEIR_PACKAGE_CONTROL_EXTRA
    "${debian}/postinst;${debian}/prerm;${debian}/postrm;${debian}/conffiles")
set(CPACK_DEBIAN_WEIR_DESCRIPTION "Weir collects what many detector readouts hold, over an ordinary TCP/IP
network, into whole slices (events or time slices), runs trigger algorithms
on them, and stores what they accept. It keeps the many-to-one traffic at
the edge of full without going over it.
.
This package has the processes of a farm (weir-supervisor, weir-readout,
weir-dcm, weir-writer, weir-run-control), the command weir that runs and
inspects one, filter and source plugins, farm files as examples, and units
for systemd.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME weir-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "cmake (>= 3.25), g++ | c++-compiler")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS weir)
# For programs that are packaged themselves: the package that has the library.
file(WRITE "${PROJECT_BINARY_DIR}/packed/dev/shlibs" "libweir-file-reader 1 weir-dev (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_DEV_PACKAGE_CONTROL_EXTRA "${debian}/triggers;${PROJECT_BINARY_DIR}/packed/dev/shlibs")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Weir collects what many detector readouts hold, over an ordinary TCP/IP
network, into whole slices, and runs trigger algorithms on them.
.
This package has what trigger algorithms (filters) and front-ends (sources)
are built with outside Weir's own tree: the plugin headers for C and C++,
their CMake package, and an example of each. Plugins link nothing. The library
libweir-file-reader reads run files in C++ programs.")

include(CPack)
