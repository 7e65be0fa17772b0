# Two things can be installed: Runtime, the farm (executables, plugins, configurations), and FilterSDK, what a
# filter outside this tree is built with.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(WEIR_INSTALL_PLUGINS "${CMAKE_INSTALL_LIBDIR}/weir/plugins")
set(WEIR_INSTALL_PACKAGE "${CMAKE_INSTALL_LIBDIR}/cmake/Weir")

get_property(apps GLOBAL PROPERTY WEIR_APP_TARGETS)
get_property(plugins GLOBAL PROPERTY WEIR_PLUGIN_TARGETS)
add_custom_target(runtime DEPENDS ${apps} ${plugins} COMMENT "Everything a farm needs to run")

if(apps)
  install(TARGETS ${apps} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT Runtime)
endif()
if(plugins)
  install(TARGETS ${plugins} LIBRARY DESTINATION "${WEIR_INSTALL_PLUGINS}" COMPONENT Runtime)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/" DESTINATION "${CMAKE_INSTALL_DATADIR}/weir/configs"
        COMPONENT Runtime FILES_MATCHING PATTERN "*.yaml")

if(TARGET weir_filter_abi)
  set_target_properties(weir_filter_abi PROPERTIES EXPORT_NAME FilterSDK)
  install(TARGETS weir_filter_abi EXPORT WeirFilterSDK
          FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT FilterSDK)
  install(EXPORT WeirFilterSDK NAMESPACE Weir:: FILE WeirFilterSDK.cmake
          DESTINATION "${WEIR_INSTALL_PACKAGE}" COMPONENT FilterSDK)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/WeirConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/WeirConfig.cmake" INSTALL_DESTINATION "${WEIR_INSTALL_PACKAGE}"
    PATH_VARS WEIR_INSTALL_PLUGINS)
  # The C++ header may gain members between minor versions until 1.0; the plugin ABI has its own number.
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/WeirConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
  install(FILES "${PROJECT_BINARY_DIR}/WeirConfig.cmake" "${PROJECT_BINARY_DIR}/WeirConfigVersion.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/WeirFilterPlugin.cmake"
          DESTINATION "${WEIR_INSTALL_PACKAGE}" COMPONENT FilterSDK)
endif()
