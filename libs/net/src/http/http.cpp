#include "net/http/http.hpp"

#include "http/http_text.hpp"

namespace net {

std::string_view header(const Headers& headers, std::string_view name) {
    for (const auto& [key, value] : headers)
        if (same_name(key, name)) return value;
    return {};
}

}  // namespace net
