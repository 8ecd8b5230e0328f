#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kube {

/// Cuts a byte stream into lines wherever its chunks were cut. Empty lines are left out, an end of "\r\n"
/// counts as
/// "\n", and a last line without an end never comes out: it may be half of one.
class LineSplitter {
public:
    void feed(std::string_view bytes);
    std::optional<std::string> next();

private:
    std::string buffer_;
    std::size_t start_ = 0;    // of the line that comes next
    std::size_t scanned_ = 0;  // no line end before this
};

}  // namespace kube
