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
    /// By value: 1Gi equals 1024Mi.
    bool operator==(const Quantity& other) const { return nanos_ == other.nanos_; }
    auto operator<=>(const Quantity& other) const { return nanos_ <=> other.nanos_; }

    friend Result<Quantity> parse_quantity(std::string_view text);
    friend std::string to_string(const Quantity& quantity);

private:
    __extension__ typedef __int128 Nanos;
    // The kind of the suffix that it was written with.
    enum class Form : std::uint8_t { decimal, binary, exponent };

    Nanos nanos_ = 0;
    Form form_ = Form::decimal;
};

Result<Quantity> parse_quantity(std::string_view text);

/// Returns Kubernetes' canonical form, with the kind of suffix that the quantity, or the first part of the
/// sum that is not zero, was written with: "20Gi", "1500m", "12k", "34359738368", "10e21". Source:
/// k8s.io/apimachinery/pkg/api/resource, Quantity.CanonicalizeBytes().
std::string to_string(const Quantity& quantity);

// For calls with a string, which converts to string_view and to Json.
inline Result<Quantity> parse_quantity(const char* text) { return parse_quantity(std::string_view(text)); }
inline Result<Quantity> parse_quantity(const std::string& text) {
    return parse_quantity(std::string_view(text));
}

/// Parses a JSON string or number.
Result<Quantity> parse_quantity(const Json& value);

}  // namespace api
