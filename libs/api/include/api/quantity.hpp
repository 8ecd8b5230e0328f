#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "api/json.hpp"

namespace api {

/// A resource.Quantity: an exact decimal number, such as "500m", "2", "1.5Gi" or 1e3. Stored as value x 10^-9
/// in 128 bits: nano is Kubernetes' finest unit, to which it rounds up.
class Quantity {
public:
    Quantity() = default;

    bool is_zero() const { return nanos_ == 0; }
    /// Returns the value rounded away from zero, as Kubernetes rounds; saturates at the bounds of int64.
    std::int64_t round_up() const;

    Quantity& operator+=(const Quantity& other);
    friend Quantity operator*(std::int64_t factor, const Quantity& quantity);
    auto operator<=>(const Quantity&) const = default;

    friend Result<Quantity> parse_quantity(std::string_view text);
    friend std::string to_string(const Quantity& quantity);

private:
    __extension__ typedef __int128 Nanos;
    Nanos nanos_ = 0;
};

Result<Quantity> parse_quantity(std::string_view text);

/// Returns the shortest exact form without a binary or a large suffix: "34359738368", "1500m", "20u", "3n".
std::string to_string(const Quantity& quantity);

// For calls with a string, which converts to string_view and to Json.
inline Result<Quantity> parse_quantity(const char* text) { return parse_quantity(std::string_view(text)); }
inline Result<Quantity> parse_quantity(const std::string& text) {
    return parse_quantity(std::string_view(text));
}

/// Parses a JSON string or number.
Result<Quantity> parse_quantity(const Json& value);

}  // namespace api
