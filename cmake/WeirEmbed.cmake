# weir_embed(OUTPUT assets.cpp HEADER assets.hpp NAMESPACE weir::page FILES page.html ...)
#   Writes a source with the files' bytes: `const std::vector<Asset>& assets()` of that namespace, in the files' order,
#   for a HEADER that declares `struct Asset { std::string_view name, bytes; }`. Names are without their folder.
function(weir_embed)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUTPUT;HEADER;NAMESPACE" "FILES")
  list(TRANSFORM arg_FILES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE files)
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake")
  add_custom_command(
    OUTPUT "${arg_OUTPUT}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${arg_OUTPUT}" "-DHEADER=${arg_HEADER}" "-DNAMESPACE=${arg_NAMESPACE}"
            "-DFILES=${files}" -P "${script}"
    DEPENDS ${files} "${script}"
    COMMENT "Embedding ${arg_FILES}"
    VERBATIM)
endfunction()
