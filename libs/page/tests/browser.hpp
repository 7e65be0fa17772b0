#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::page::test {

// Where Chromium is; empty: there is none.
[[nodiscard]] std::string chromium();

// A headless Chromium with one page, driven through its debugging pipe (Chrome DevTools Protocol): ended with
// the object. Throws std::runtime_error when it does not do as it is told.
class Browser {
 public:
  Browser();
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void size(int width, int height, bool phone);
  void dark(bool is_dark);  // what the person's system prefers
  void go(const std::string& url);
  // What the expression gives, as text; promises are waited for.
  std::string value(const std::string& expression);
  // It came true within some seconds.
  [[nodiscard]] bool eventually(const std::string& expression);
  // Keys as a person presses them: "Tab", "Enter", "ArrowRight", "Escape"; or text.
  void press(const std::string& key);
  void type(const std::string& text);
  // What went wrong in the page's scripts so far.
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

 private:
  boost::json::object call(const std::string& method, boost::json::object parameters = {});
  boost::json::object read();

  std::string profile_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  int next_ = 1;
  std::string session_;
  std::string received_;
  std::vector<std::string> errors_;
};

}  // namespace weir::page::test
