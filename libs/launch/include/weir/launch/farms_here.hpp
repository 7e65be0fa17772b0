#pragma once

#include <string>
#include <vector>

// Which farms of this user run control leads on this machine. Each run control leaves a note, in a folder
// of this user alone.
namespace weir::launch {

struct FarmHere {
  std::string farm;
  std::string control;  // host:port
};

// Of this user, whose run control lives.
[[nodiscard]] std::vector<FarmHere> farms_here();

// A note of this process, for as long as the object lives. Where none can be left there is none: it is a
// convenience.
class FarmNote {
 public:
  explicit FarmNote(const FarmHere& here);
  ~FarmNote();
  FarmNote(const FarmNote&) = delete;
  FarmNote& operator=(const FarmNote&) = delete;

 private:
  std::string path_;
};

}  // namespace weir::launch
