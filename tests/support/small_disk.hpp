#pragma once

#include "skip.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mount.h>

namespace weir::test {

constexpr std::size_t kMebi = std::size_t{1} << 20;

// A folder of limited size, visible only to the test and its children; needs root.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, std::size_t mebibytes) : path_(path) {
    std::filesystem::create_directory(path);
    const std::string size = "size=" + std::to_string(mebibytes) + "m";
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("none", path.c_str(), "tmpfs", 0, size.c_str()) == 0;
    if (!mounted_) weir::skip_test(std::string("a small disk needs root: ") + std::strerror(errno));
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  // Also shows the disk at another path, and hides it there again. Open files stay usable.
  void show_at(const std::string& path) const {
    if (::mount(path_.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      throw std::runtime_error("cannot mount " + path + ": " + std::strerror(errno));
  }
  static void hide_at(const std::string& path) {
    if (::umount2(path.c_str(), MNT_DETACH) != 0)
      throw std::runtime_error("cannot unmount " + path + ": " + std::strerror(errno));
  }
  void fill(std::size_t mebibytes) const {
    std::ofstream file(path_ + "/filler", std::ios::binary);
    const std::string block(kMebi, 'x');
    for (std::size_t i = 0; i < mebibytes; ++i) file << block;
  }
  // Uses up the free space to the last byte.
  void fill_up() const {
    std::ofstream file(path_ + "/filler", std::ios::binary | std::ios::app);
    const std::string block(4096, 'x');
    while (file << block << std::flush) {
    }
  }
  void make_room() const { std::filesystem::remove(path_ + "/filler"); }

 private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace weir::test
