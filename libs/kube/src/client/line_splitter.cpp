#include "kube/client/line_splitter.hpp"

namespace kube {

void LineSplitter::feed(std::string_view bytes) {
    // Drop returned lines before the buffer grows: so a watch of minutes needs only the memory of its longest
    // line.
    buffer_.erase(0, start_);
    scanned_ -= start_;
    start_ = 0;
    buffer_ += bytes;
}

std::optional<std::string> LineSplitter::next() {
    while (true) {
        const auto end = buffer_.find('\n', scanned_);
        if (end == std::string::npos) {
            scanned_ = buffer_.size();
            return std::nullopt;
        }
        std::string_view line(buffer_.data() + start_, end - start_);
        start_ = scanned_ = end + 1;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty()) return std::string(line);
    }
}

}  // namespace kube
