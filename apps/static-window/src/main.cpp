// Registers a TCP congestion control with a static window. The link to the kernel ends with this process, so
// a killed lab leaves nothing. Prints the name under which it is registered, which is global to the kernel:
// it has the window and the number of this process.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

constexpr std::uint32_t kWindowMax = 9999;  // in the name, which has up to 15 letters
constexpr int kUsage = 2;

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

}  // namespace

#ifndef WEIR_WINDOW_OBJECT

int main() { return fail("this build has no static window: clang or libbpf was missing when it was built"); }

#else

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <linux/bpf.h>
#include <sys/syscall.h>

asm(".section .rodata\n"
    ".balign 8\n"
    "weir_window_begin: .incbin \"" WEIR_WINDOW_OBJECT
    "\"\n"
    "weir_window_end: .byte 0\n"
    ".previous\n");
extern "C" const char weir_window_begin[];
extern "C" const char weir_window_end[];

namespace {

constexpr std::string_view kName = "weirname_______";
constexpr std::uint64_t kWindow = 0x5765697257000000;
constexpr const char* kOperations = "weir_ops";
constexpr std::uint32_t kLinkFlag = 1U << 13U;  // BPF_F_LINK (Linux 6.4)
constexpr std::uint32_t kStructOps = 44;        // BPF_STRUCT_OPS, a type of attachment (Linux 6.4)
constexpr const char* kBtf = "/sys/kernel/btf/vmlinux";

std::string last_message;  // of libbpf

int note(enum libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  std::array<char, 512> text{};
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  last_message = text.data();
  while (last_message.ends_with('\n')) last_message.pop_back();
  return length;
}

std::string with_system_error(const std::string& what) {
  return what + ": " + std::strerror(errno) + (last_message.empty() ? "" : " (" + last_message + ")");
}

// Replaces the bytes in the object; false: they are not in it once.
template <class Bytes>
bool replace(std::string& object, const Bytes& from, const Bytes& to) {
  const std::string_view before(reinterpret_cast<const char*>(&from), sizeof from);
  const std::size_t at = object.find(before);
  if (at == object.npos || object.find(before, at + 1) != object.npos) return false;
  std::memcpy(object.data() + at, &to, sizeof to);
  return true;
}

std::array<char, 16> name_of(std::string_view text) {
  std::array<char, 16> name{};
  std::copy(text.begin(), text.end(), name.begin());
  return name;
}

// Loads the object, and registers its operations with a link. Returns its descriptor, or -1.
int attach(const std::string& object) {
  bpf_object* const loaded = bpf_object__open_mem(object.data(), object.size(), nullptr);
  bpf_map* const operations = loaded == nullptr ? nullptr : bpf_object__find_map_by_name(loaded, kOperations);
  if (operations == nullptr || bpf_map__set_map_flags(operations, kLinkFlag) != 0) return -1;
  if (bpf_object__load(loaded) != 0) return -1;
  // With the flag this only fills the map; the link registers it.
  if (bpf_map__attach_struct_ops(operations) == nullptr) return -1;
  bpf_attr attributes{};
  attributes.link_create.prog_fd = static_cast<std::uint32_t>(bpf_map__fd(operations));
  attributes.link_create.attach_type = kStructOps;
  return static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes));
}

}  // namespace

int main(int count, char** arguments) {
  std::uint32_t window = 0;
  const std::string_view text = count == 2 ? arguments[1] : "";
  const auto read = std::from_chars(text.data(), text.data() + text.size(), window);
  if (read.ptr != text.data() + text.size() || window < 1 || window > kWindowMax) {
    std::fprintf(stderr, "usage: weir-static-window SEGMENTS, from 1 to %u\n", kWindowMax);
    return kUsage;
  }
  if (::geteuid() != 0) return fail("a static window is a BPF program: run the lab as root");
  if (::access(kBtf, R_OK) != 0)
    return fail(std::string("a static window needs a kernel with type information: ") + kBtf + " is missing");
  libbpf_set_print(note);
  std::array<char, 16> name{};
  std::snprintf(name.data(), name.size(), "weir%u_%x", window, static_cast<unsigned>(::getpid()) & 0xffffffU);
  std::string object(weir_window_begin, weir_window_end);
  if (!replace(object, name_of(kName), name) || !replace(object, kWindow, std::uint64_t{window}))
    return fail("the BPF program has no place for name and window");
  if (attach(object) < 0) return fail(with_system_error("the kernel refuses the static window"));
  std::printf("%s\n", name.data());
  std::fflush(stdout);
  for (;;) ::pause();
}

#endif
