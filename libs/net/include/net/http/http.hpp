#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace net {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Returns the value of the first header of that name, compared without case; empty if there is none.
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
    bool close = false;  ///< closes the connection after this response
};

/// A proxy that connects clients to servers by CONNECT. It is reached in plain HTTP.
struct HttpProxy {
    std::string host = {};  ///< name or address; IPv6 without brackets
    std::string port = {};
    std::string authorization = {};  ///< value of Proxy-Authorization; empty: none. Never log it.

    bool operator==(const HttpProxy&) const = default;
};

}  // namespace net
