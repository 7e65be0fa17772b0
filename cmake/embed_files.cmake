# What weir_embed() runs: OUTPUT, HEADER, NAMESPACE, FILES.
set(arrays "")
set(entries "")
set(index 0)
string(REPEAT "." 100 line)  # twenty bytes, each as 0xNN,
foreach(file IN LISTS FILES)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
  cmake_path(GET file FILENAME name)
  string(APPEND arrays "// ${name}\nconstexpr unsigned char kFile${index}[] = {\n${bytes}0};\n\n")
  string(APPEND entries "      {\"${name}\", text(kFile${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {

${arrays}// Without the zero at the end.
template <std::size_t Size>
std::string_view text(const unsigned char (&bytes)[Size]) {
  return {reinterpret_cast<const char*>(bytes), Size - 1};
}

}  // namespace

const std::vector<Asset>& assets() {
  static const std::vector<Asset> kAssets = {
${entries}  };
  return kAssets;
}

}  // namespace ${NAMESPACE}
")
