#pragma once

#include "api/error.hpp"

namespace controller {

/// Returns an error: the object differs from the one that the decision was based on.
inline api::Error changed_meanwhile(const char* what) {
    return {.code = api::Errc::conflict, .message = what};
}

}  // namespace controller
