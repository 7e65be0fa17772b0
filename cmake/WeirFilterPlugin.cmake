include("${CMAKE_CURRENT_LIST_DIR}/WeirOptimisePlugin.cmake")

# weir_add_filter_plugin(NAME SOURCES...)
#   A filter plugin NAME.so, built against Weir::FilterSDK. Target NAME. It exports only what the ABI's header
#   marks; a farm file names it by its path, or by NAME when it lies in the farm's plugin folder.
function(weir_add_filter_plugin name)
  if(NOT ARGN)
    message(FATAL_ERROR "weir_add_filter_plugin(${name}): no sources are given")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE Weir::FilterSDK)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  weir_optimise_plugin(${name})
endfunction()
