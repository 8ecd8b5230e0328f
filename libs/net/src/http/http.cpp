#include "net/http/http.hpp"

#include "api/text.hpp"

namespace net {

std::string_view header(const Headers& headers, std::string_view name) {
    for (const auto& [key, value] : headers)
        if (api::equal_ignoring_case(key, name)) return value;
    return {};
}

}  // namespace net
