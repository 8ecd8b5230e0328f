#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace net {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// The first header of that name, in any case; empty if there is none.
std::string_view header(const Headers& headers, std::string_view name);

struct HttpRequest {
    std::string method = "GET";
    std::string target = "/";  ///< path and query
    Headers headers = {};
    std::string body = {};
    std::string peer = {};  ///< set by a server: the client's IP address; empty if it is unknown
};

struct HttpResponse {
    int status = 200;
    Headers headers = {};
    std::string body = {};
    bool close = false;  ///< end the connection after this answer
};

}  // namespace net
