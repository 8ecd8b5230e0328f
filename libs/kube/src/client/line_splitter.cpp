#include "kube/client/line_splitter.hpp"

#include <algorithm>
#include <utility>

namespace kube {

void LineSplitter::feed(std::string_view bytes) {
    // Drop returned lines before the buffer grows: so a watch of minutes needs only the memory of its longest
    // line.
    buffer_.erase(0, start_);
    scanned_ -= start_;
    start_ = 0;
    if (!too_long_) buffer_ += bytes;
}

std::optional<std::string> LineSplitter::next_of_output() {
    while (true) {
        const auto end = buffer_.find_first_of("\r\n", scanned_);
        const std::size_t most = start_ + longest_output;
        const bool is_whole = end != std::string::npos && end <= most;
        // The byte behind a part decides whether the part ends in the middle of a character.
        if (!is_whole && buffer_.size() <= most) {
            scanned_ = buffer_.size();
            return std::nullopt;
        }
        std::size_t after = is_whole ? end : most;
        // Not in the middle of a character.
        for (int i = 0; !is_whole && i < 3 && (static_cast<unsigned char>(buffer_[after]) & 0xC0) == 0x80;
             ++i)
            --after;
        const std::string_view part(buffer_.data() + start_, after - start_);
        const bool continued = std::exchange(continues_, !is_whole || buffer_[end] == '\r');
        start_ = scanned_ = is_whole ? end + 1 : after;
        if (!part.empty()) return (continued ? "\r" : "") + std::string(part);
    }
}

std::optional<std::string> LineSplitter::next() {
    if (kind_ == Lines::output) return next_of_output();
    while (!too_long_) {
        const auto end = buffer_.find('\n', scanned_);
        if (std::min(end, buffer_.size()) - start_ > longest_object) {
            too_long_ = true;
            break;
        }
        if (end == std::string::npos) {
            scanned_ = buffer_.size();
            return std::nullopt;
        }
        std::string_view line(buffer_.data() + start_, end - start_);
        start_ = scanned_ = end + 1;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty()) return std::string(line);
    }
    buffer_ = {};
    start_ = scanned_ = 0;
    return std::nullopt;
}

}  // namespace kube
