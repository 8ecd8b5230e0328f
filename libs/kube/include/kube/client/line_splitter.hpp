#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kube {

/// What the lines of a stream are.
enum class Lines : std::uint8_t {
    /// Objects. An end is "\n" or "\r\n". A line longer than LineSplitter::longest_object is an error.
    objects,
    /// The output of a program. A carriage return ends a part of a line, as a progress bar writes it, and so
    /// do
    /// LineSplitter::longest_output bytes. A part that continues a line begins with "\r".
    output
};

/// Splits a byte stream in chunks of any size into lines. Skips empty ones. Never returns a last line without
/// an end: it may be incomplete. Holds no more than the longest line and a chunk.
class LineSplitter {
public:
    /// An object is at most 1.5 MiB in etcd.
    static constexpr std::size_t longest_object = 2 * 1024 * 1024;
    static constexpr std::size_t longest_output = 64 * 1024;

    explicit LineSplitter(Lines kind = Lines::objects) : kind_(kind) {}

    void feed(std::string_view bytes);
    std::optional<std::string> next();
    /// Returns whether the stream has a line that is too long. Nothing comes after that.
    bool is_too_long() const { return too_long_; }

private:
    std::optional<std::string> next_of_output();

    Lines kind_;
    bool too_long_ = false;
    bool continues_ = false;  // the next part belongs to the line of the last one
    std::string buffer_;
    std::size_t start_ = 0;    // of the next line
    std::size_t scanned_ = 0;  // no line end before this position
};

}  // namespace kube
