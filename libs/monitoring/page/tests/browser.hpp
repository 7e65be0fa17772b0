#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <vector>

namespace weir::page::test {

// Returns the path of Chromium; empty: not found.
[[nodiscard]] std::string chromium();

// A page in a headless Chromium with storage of its own, controlled through the debugging pipe (Chrome
// DevTools Protocol), and closed with the object. Throws std::runtime_error if a command fails.
class Browser {
 public:
  Browser();
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void size(int width, int height, bool phone);
  void dark(bool is_dark);  // the system's preferred colours
  void less_motion();       // the system's setting
  // "achromatopsia", "deuteranopia", "protanopia", "tritanopia".
  void vision(const std::string& deficiency);
  // Returns the picture on the screen as a PNG in base64.
  std::string picture();
  void go(const std::string& url);
  // Returns the expression's value as text; waits for promises.
  std::string value(const std::string& expression);
  // Returns whether the expression became true within some seconds.
  [[nodiscard]] bool eventually(const std::string& expression);
  // Presses a key ("Tab", "Enter", "ArrowRight", "Escape") or types text.
  void press(const std::string& key);
  void type(const std::string& text);
  // Returns the errors of the page's scripts so far.
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

 private:
  boost::json::object call(const std::string& method, boost::json::object parameters = {});

  std::string context_;
  std::string session_;
  std::vector<std::string> errors_;
};

}  // namespace weir::page::test
