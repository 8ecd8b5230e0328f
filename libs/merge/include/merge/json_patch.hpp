#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace merge {

/// A pointer of RFC 6901. `JsonPointer() / "spec" / "a/b" / 0` is "/spec/a~1b/0".
class JsonPointer {
public:
    JsonPointer() = default;

    friend JsonPointer operator/(JsonPointer base, std::string_view member);
    friend JsonPointer operator/(JsonPointer base, std::size_t index);

    const std::string& text() const { return text_; }

private:
    std::string text_;
};

JsonPointer operator/(JsonPointer base, std::string_view member);
JsonPointer operator/(JsonPointer base, std::size_t index);

/// Operations of RFC 6902. `add` replaces an existing member; its parent must exist.
api::Json add_operation(const JsonPointer& where, api::Json value);
api::Json remove_operation(const JsonPointer& where);

/// Applies operations of the kinds above to an object, in order. Fails at the first one whose path does not
/// exist.
api::Result<> apply_operations(const std::vector<api::Json>& operations, api::Json& object);

}  // namespace merge
