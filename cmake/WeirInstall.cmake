# Four things can be installed: Runtime, the farm (executables, plugins, configurations), FilterSDK and SourceSDK, what
# a filter or a source outside this tree is built with, and FileReader, for programs that read run files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Beside the executables' folder, whatever CMAKE_INSTALL_LIBDIR is: the executables look there.
set(WEIR_INSTALL_PLUGINS "lib/weir/plugins")
set(WEIR_INSTALL_PACKAGE "${CMAKE_INSTALL_LIBDIR}/cmake/Weir")

get_property(apps GLOBAL PROPERTY WEIR_APP_TARGETS)
get_property(plugins GLOBAL PROPERTY WEIR_PLUGIN_TARGETS)
add_custom_target(runtime DEPENDS ${apps} ${plugins} COMMENT "Everything a farm needs to run")

if(apps)
  install(TARGETS ${apps}
          RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT Runtime
          LIBRARY DESTINATION lib/weir COMPONENT Runtime)
endif()
if(plugins)
  install(TARGETS ${plugins} LIBRARY DESTINATION "${WEIR_INSTALL_PLUGINS}" COMPONENT Runtime)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/" DESTINATION "${CMAKE_INSTALL_DATADIR}/weir/configs"
        COMPONENT Runtime FILES_MATCHING PATTERN "*.yaml")
# At the same place in the build tree: `weir demo` runs configs/demo.yaml.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/weir")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/configs" "${PROJECT_BINARY_DIR}/share/weir/configs" SYMBOLIC)

# weir_install_sdk(COMPONENT TARGET MODULE): a kit for plugins of one kind, complete by itself. What all kits share is
# installed with each.
function(weir_install_sdk component target module)
  if(NOT TARGET ${target})
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
  install(TARGETS ${target} EXPORT Weir${component}
          FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${component})
  install(TARGETS weir_plugin_abi
          FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${component})
  install(EXPORT Weir${component} NAMESPACE Weir:: FILE Weir${component}.cmake
          DESTINATION "${WEIR_INSTALL_PACKAGE}" COMPONENT ${component})
  install(FILES "${PROJECT_BINARY_DIR}/WeirConfig.cmake" "${PROJECT_BINARY_DIR}/WeirConfigVersion.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/${module}" "${PROJECT_SOURCE_DIR}/cmake/WeirOptimisePlugin.cmake"
          DESTINATION "${WEIR_INSTALL_PACKAGE}" COMPONENT ${component})
endfunction()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/WeirConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/WeirConfig.cmake" INSTALL_DESTINATION "${WEIR_INSTALL_PACKAGE}"
  PATH_VARS WEIR_INSTALL_PLUGINS)
# The C++ headers may gain members between minor versions until 1.0; the plugin ABIs have their own numbers.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/WeirConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
# The library for programs that read run files, with the header of the hit format.
set_target_properties(weir_file_reader_kit PROPERTIES EXPORT_NAME FileReader)
install(TARGETS weir_file_reader_kit EXPORT WeirFileReader
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT FileReader
        FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT FileReader)
install(TARGETS weir_plugin_abi
        FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT FileReader)
install(EXPORT WeirFileReader NAMESPACE Weir:: FILE WeirFileReader.cmake
        DESTINATION "${WEIR_INSTALL_PACKAGE}" COMPONENT FileReader)
install(FILES "${PROJECT_BINARY_DIR}/WeirConfig.cmake" "${PROJECT_BINARY_DIR}/WeirConfigVersion.cmake"
        DESTINATION "${WEIR_INSTALL_PACKAGE}" COMPONENT FileReader)
weir_install_sdk(FilterSDK weir_filter_abi WeirFilterPlugin.cmake)
weir_install_sdk(SourceSDK weir_source_abi WeirSourcePlugin.cmake)
