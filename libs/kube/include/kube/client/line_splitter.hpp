#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kube {

/// Splits a byte stream in chunks of any size into lines. Skips empty lines and treats "\r\n" as "\n". Never
/// returns a last line without an end: it may be incomplete.
class LineSplitter {
public:
    void feed(std::string_view bytes);
    std::optional<std::string> next();

private:
    std::string buffer_;
    std::size_t start_ = 0;    // of the next line
    std::size_t scanned_ = 0;  // no line end before this position
};

}  // namespace kube
