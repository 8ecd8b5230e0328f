#pragma once
#include <string>
#include <utility>

#include "net/http/http.hpp"

namespace admission {

/// Returns a response that has no verdict, but a line of text.
inline net::HttpResponse plain(int status, std::string text) {
    return {.status = status,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
            .body = std::move(text) + "\n"};
}

}  // namespace admission
